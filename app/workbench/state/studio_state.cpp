// What the Studio's state refers to, kept right while texts, tokens and columns change under it.
#include <algorithm>
#include <utility>

#include "app/figures/view_input.h"
#include "app/session/pins.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

namespace {

bool overlap(const figure::Interval& a, const figure::Interval& b) {
  return std::max(std::min(a.low, a.high), std::min(b.low, b.high)) <
         std::min(std::max(a.low, a.high), std::max(b.low, b.high));
}

// Its place in a list; kNone: it is not there.
std::int64_t place_of(const std::vector<int>& ids, int id) {
  const auto found = std::find(ids.begin(), ids.end(), id);
  return found == ids.end() ? views::kNone : found - ids.begin();
}

// The reference and the partners are of columns: they go with them to their new places. `origins`: where each of the
// present columns was, or the one that it is an edit of; kNone: nowhere.
void follow_columns(session::ViewState& state, const std::vector<int>& before, const std::vector<int>& now,
                    const std::vector<std::int64_t>& origins) {
  if (state.reference >= 0 && state.reference < static_cast<std::int64_t>(before.size())) {
    state.reference = place_of(now, before[static_cast<std::size_t>(state.reference)]);
  }
  if (state.partners.empty() || state.partners.front() != views::HeadRef{state.layer, state.head}) {
    return;
  }
  std::vector<views::HeadRef> partners;
  for (const std::int64_t origin : origins) {
    const auto place = static_cast<std::size_t>(std::max<std::int64_t>(origin, 0));
    partners.push_back(state.partners[place < state.partners.size() ? place : 0]);
  }
  state.layer = partners.front().layer;
  state.head = partners.front().head;
  state.partners = std::move(partners);
}

}  // namespace

session::ViewState Studio::clamped(session::ViewState state) const {
  if (checkpoints().shown().empty()) {
    return state;  // a restored session keeps its place until its checkpoints are there
  }
  const std::vector<views::Column> sides = session::on_side(checkpoints().view_columns(state.side), state.side);
  state.layer = std::clamp<std::int64_t>(state.layer, 0, checkpoints().largest_layer(state.side));
  state.head = std::clamp<std::int64_t>(state.head, views::kMean, checkpoints().largest_head(state.side));
  const models::Trace& first = *sides.front().trace;
  session::settle_tokens(state, first);
  if (state.query.index >= first.length() || state.key.index >= first.keys()) {
    state.query = views::kNone;
    state.key = views::kNone;
  }
  const auto view = views::find_view(state.view);
  if (state.camera && view) {
    const auto home = (*view)->home(session::view_input(state, checkpoints().view_columns(state.side), **view));
    if (home && !(overlap(home->x, state.camera->x) && overlap(home->y, state.camera->y))) {
      state.camera.reset();  // a shorter text has nothing there
    }
  }
  return state;
}

// Once the columns have run: what the states say of tokens and columns, for those that are there now.
void Studio::follow() {
  const std::vector<views::Column> sides = session::on_side(checkpoints().view_columns(state().side), state().side);
  if (sides.empty() || checkpoints().waiting() || input_.waiting()) {
    return;
  }
  std::vector<int> ids;
  for (const Checkpoint* each : checkpoints().shown()) {
    ids.push_back(each->id);
  }
  if (const auto before = std::exchange(followed_ids_, ids); before && *before != ids) {
    std::vector<std::int64_t> origins;
    for (const int id : ids) {
      origins.push_back(place_of(*before, id));
      for (std::size_t n = 0; n < before->size() && origins.back() == views::kNone; ++n) {
        const Checkpoint* other = checkpoints().find((*before)[n]);
        const bool of_it = other != nullptr && are_siblings(other->entry, checkpoints().find(id)->entry);
        origins.back() = of_it ? static_cast<std::int64_t>(n) : views::kNone;
      }
    }
    history_.each_of([](const Step& step) { return !step.columns; },
                     [&](session::ViewState& each) { follow_columns(each, *before, ids, origins); });
  }
  const models::Trace& first = *sides.front().trace;
  if (footing_ && footing_->text == first.text() && footing_->key_text == first.key_text() &&
      followed_.lock() == sides.front().trace) {
    return;
  }
  followed_ = sides.front().trace;
  const auto before = std::exchange(footing_, session::footing_of(first));
  if (before && *before != *footing_) {
    history_.each_of([](const Step& step) { return !step.input; },
                     [&](session::ViewState& each) {
                       if (each.side == state().side) {
                         session::follow(each, *before, *footing_);
                       }
                     });
  }
}

// Forgets which text the state's tokens are counted in: the next run is of another input or of other columns.
void Studio::forget_footing() {
  footing_.reset();
  followed_ids_.reset();
}

void Studio::set_own_head(std::size_t column, const std::optional<views::HeadRef>& head) {
  const auto shown = checkpoints().shown();
  if (column >= shown.size()) {
    return;
  }
  history_.push({state(), {}, checkpoints().shown_entries(), {}});
  columns_.set_own_head(shown[column]->id, head);
  amend(state());  // a column that follows again may have fewer layers
}

// What of a state the linked columns do not have, though one of them does.
std::string Studio::out_of_reach(const session::ViewState& wanted) const {
  const auto limit = [&](const char* what, std::int64_t index, std::int64_t models::ModelInfo::*count) -> std::string {
    const Checkpoint* least = nullptr;
    bool there = false;
    for (const Checkpoint* each : checkpoints().shown()) {
      if (!each->entry.own) {
        const auto side = each->trace->side(wanted.side);
        const models::ModelInfo& model = side ? side->model() : *each->info();
        there = there || index < model.*count;
        least = index >= model.*count ? each : least;
      }
    }
    return !there || least == nullptr ? std::string()
                                      : least->name + " has no " + what + " " + std::to_string(index) +
                                            "; U gives the chosen column a layer and head of its own";
  };
  const std::string layer = limit("layer", wanted.layer, &models::ModelInfo::layers);
  return layer.empty() ? limit("head", wanted.head, &models::ModelInfo::heads) : layer;
}

void Studio::reset_view(const session::ViewState& fresh) {
  history_.push({state(), {}, checkpoints().shown_entries(), {}});
  for (const Checkpoint* column : checkpoints().shown()) {
    columns_.set_own_head(column->id, std::nullopt);
  }
  amend(fresh);
}

bool Studio::is_pinned(const views::Token& query, const views::Token& key) const {
  session::ViewState there = state();
  there.query = query;
  there.key = key;
  there = clamped(std::move(there));
  return there.query.chosen() && there.query == state().query && there.key == state().key;
}

// What is typed runs soon: what it says of tokens, it says of that text.
session::ViewState Studio::state_of_input() const {
  const Checkpoint* first = column(0);
  const bool typed = input_.waiting() || checkpoints().waiting();
  const bool plain = first != nullptr && first->model && first->model->info().encoder_layers == 0 && !first->entry.text;
  session::ViewState kept = state();
  if (typed && plain && footing_ && input().text) {
    session::follow(kept, *footing_, {*input().text, *input().text, {}});
  }
  return kept;
}

}  // namespace locus::workbench
