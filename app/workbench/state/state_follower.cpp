#include "app/workbench/state/state_follower.h"

#include <algorithm>
#include <utility>

#include "app/figures/view_input.h"

namespace locus::workbench {

namespace {

bool overlap(const figure::Interval& a, const figure::Interval& b) {
  return std::max(std::min(a.low, a.high), std::min(b.low, b.high)) <
         std::min(std::max(a.low, a.high), std::max(b.low, b.high));
}

// The index of an id; kNone: it is not in the list.
std::int64_t place_of(const std::vector<int>& ids, int id) {
  const auto found = std::find(ids.begin(), ids.end(), id);
  return found == ids.end() ? views::kNone : found - ids.begin();
}

// Updates the reference and the partners of a state. `origins`: for each present column its former index, or that of
// the column it is an edit of; kNone: it is new.
void move_references(session::ViewState& state, const std::vector<int>& before, const std::vector<int>& now,
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

session::ViewState StateFollower::clamped(session::ViewState state) const {
  if (columns_.shown().empty()) {
    return state;
  }
  const std::vector<views::Column> sides = session::on_side(columns_.view_columns(state.side), state.side);
  state.layer = std::clamp<std::int64_t>(state.layer, 0, columns_.largest_layer(state.side, state.by_depth));
  state.head = std::clamp<std::int64_t>(state.head, views::kMean, columns_.largest_head(state.side));
  const models::Trace& first = *sides.front().trace;
  session::resolve_tokens(state, first);
  if (state.query.index >= first.length() || state.key.index >= first.keys()) {
    state.query = views::kNone;
    state.key = views::kNone;
  }
  const auto view = views::find_view(state.view);
  if (state.camera && view) {
    const auto home = (*view)->home(session::view_input(state, columns_.view_columns(state.side), **view));
    if (home && !(overlap(home->x, state.camera->x) && overlap(home->y, state.camera->y))) {
      state.camera.reset();  // a shorter text may have nothing there
    }
  }
  return state;
}

std::string StateFollower::unreachable(const session::ViewState& wanted) const {
  const auto limit = [&](const char* what, std::int64_t index, std::int64_t models::ModelInfo::*count) -> std::string {
    const Checkpoint* least = nullptr;
    bool there = false;
    for (const Checkpoint* each : columns_.shown()) {
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
  const std::string layer = wanted.by_depth ? std::string() : limit("layer", wanted.layer, &models::ModelInfo::layers);
  return layer.empty() ? limit("head", wanted.head, &models::ModelInfo::heads) : layer + ", Shift+U links by depth";
}

// The reference and the partners of the states go with their columns to their new places.
void StateFollower::follow_columns() {
  std::vector<int> ids;
  for (const Checkpoint* each : columns_.shown()) {
    ids.push_back(each->id);
  }
  if (const auto before = std::exchange(column_ids_, ids); before && *before != ids) {
    std::vector<std::int64_t> origins;
    for (const int id : ids) {
      origins.push_back(place_of(*before, id));
      for (std::size_t n = 0; n < before->size() && origins.back() == views::kNone; ++n) {
        const Checkpoint* other = columns_.find((*before)[n]);
        const bool of_it = other != nullptr && are_siblings(other->entry, columns_.find(id)->entry);
        origins.back() = of_it ? static_cast<std::int64_t>(n) : views::kNone;
      }
    }
    history_.each_of([](const Step& step) { return !step.columns; },
                     [&](session::ViewState& each) { move_references(each, *before, ids, origins); });
  }
}

void StateFollower::follow() {
  const std::vector<views::Column> sides =
      session::on_side(columns_.view_columns(history_.state().side), history_.state().side);
  if (sides.empty() || columns_.waiting() || input_.waiting()) {
    return;
  }
  follow_columns();
  const models::Trace& first = *sides.front().trace;
  if (anchor_ && anchor_->text == first.text() && anchor_->key_text == first.key_text() &&
      followed_.lock() == sides.front().trace) {
    return;
  }
  followed_ = sides.front().trace;
  const auto before = std::exchange(anchor_, session::token_anchor(first));
  if (before && *before != *anchor_) {
    history_.each_of([](const Step& step) { return !step.input; },
                     [&](session::ViewState& each) {
                       if (each.side == history_.state().side) {
                         session::follow(each, *before, *anchor_);
                       }
                     });
  }
}

void StateFollower::forget() {
  anchor_.reset();
  column_ids_.reset();
}

session::ViewState StateFollower::state_of_input() const {
  const Checkpoint* first = columns_.column(0);
  const bool typed = input_.waiting() || columns_.waiting();
  const bool plain = first != nullptr && first->model && first->model->info().encoder_layers == 0 && !first->entry.text;
  session::ViewState kept = history_.state();
  if (typed && plain && anchor_ && input_.value().text) {
    session::follow(kept, *anchor_, {*input_.value().text, *input_.value().text, {}});
  }
  return kept;
}

}  // namespace locus::workbench
