// What the canvas shows of the place under the pointer, and of the pinned one: outlines, the tooltip, its bars.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/work/cell_values.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"
#include "models/api/atlas_trace.h"

namespace locus::workbench {

namespace {

constexpr std::uint32_t kHoverColor = 0xFFFFFFFF;
constexpr std::uint32_t kPinColor = 0xFF9D2EFF;
constexpr std::uint32_t kBoxColor = 0xFF4040FF;

// The inspector has the others.
bool in_tooltip(Quantity quantity) {
  return quantity == Quantity::kLogit || quantity == Quantity::kWeight || quantity == Quantity::kGate ||
         quantity == Quantity::kPosition;
}

std::string token_line(const char* role, std::int64_t token, const std::string& shown) {
  return std::string(role) + " " + std::to_string(token) + "  \"" + shown + "\"";
}

}  // namespace

std::vector<viewport::Outline> CanvasLink::outlines(const views::ViewInput& input) const {
  std::vector<viewport::Outline> list;
  const views::View& view = studio_.view();
  // A panel that shows the reference has the place of the reference's.
  const auto add = [&](const views::Selection& selection, std::uint32_t color, bool cross) {
    const std::vector<views::Place> places = view.places(input, selection);
    for (const views::Place& place : places) {
      const std::size_t shown = reference_panel(place.panel).value_or(place.panel);
      const auto there = std::ranges::find(places, shown, &views::Place::panel);
      if (there != places.end()) {
        list.push_back({place.panel, there->x, there->y, color, cross});
      }
    }
  };
  // A token alone is where its row and its column meet.
  const auto cell = [](const views::Token& query, const views::Token& key) {
    views::Selection selection;
    selection.query = query;
    selection.key = key.chosen() ? key : query;
    return selection;
  };
  if (hover_hit_) {
    add(hover_, kHoverColor, true);
  } else if (const Pointed& at = studio_.pointed(); at.query.chosen()) {
    add(cell(at.query, at.key), kHoverColor, true);
  }
  views::Selection pinned;
  pinned.layer = input.layer;
  pinned.head = input.head;
  if (input.query.chosen()) {
    const views::Selection at = cell(input.query, input.key);
    pinned.query = at.query;
    pinned.key = at.key;
  }
  add(pinned, kPinColor, input.query.chosen() && !input.key.chosen());
  if (box_) {
    const auto from = view.places(input, box_->from);
    const auto to = view.places(input, box_->to);
    const auto both = [](const figure::Interval& a, const figure::Interval& b) {
      return figure::Interval{std::min({a.low, a.high, b.low, b.high}), std::max({a.low, a.high, b.low, b.high})};
    };
    for (std::size_t n = 0; n < std::min(from.size(), to.size()); ++n) {
      list.push_back({from[n].panel, both(from[n].x, to[n].x), both(from[n].y, to[n].y), kBoxColor, false});
    }
  }
  return list;
}

// The number that the figure shows at the pointer, whatever its colours do.
std::optional<float> CanvasLink::value_under_pointer() const {
  const auto read = read_under_pointer();
  return read ? std::optional(read->value) : std::nullopt;
}

std::optional<views::ReadOut> CanvasLink::read_under_pointer() const {
  return drawn_ && hover_hit_ ? views::read_out(*drawn_, *hover_hit_) : std::nullopt;
}

// The panel of the reference, which is shown in place of this one while Shift is held; empty: it is itself.
std::optional<std::size_t> CanvasLink::reference_panel(std::size_t panel) const {
  const auto& made = studio_.scheduler().figure();
  const std::size_t columns = studio_.checkpoints().shown().size();
  const auto across = static_cast<std::size_t>(made ? made->columns : 0);  // one more where a difference is shown
  if (!made || !flicker_ || columns < 2 || made->panels.size() < columns || across < columns || across > columns + 1 ||
      panel % across >= columns) {
    return std::nullopt;
  }
  const std::size_t reference = views::reference_of(studio_.view_input());
  return std::min(panel / across * across + reference, made->panels.size() - 1);
}

// The input of a view whose columns are all the reference.
views::ViewInput CanvasLink::reference_alone(const views::ViewInput& input) {
  const std::size_t reference = views::reference_of(input);
  views::ViewInput alone = input;
  for (views::Column& column : alone.columns) {
    column = input.columns[reference];
    column.own = views::head_of_column(input, reference);
  }
  return alone;
}

// What the view says of a place of the figure that is shown.
views::Selection CanvasLink::pick(const views::ViewInput& input, const figure::Hit& hit) const {
  if (!reference_panel(hit.panel)) {
    return studio_.view().pick(input, hit);
  }
  const views::Column& reference = input.columns[views::reference_of(input)];
  views::Selection picked = studio_.view().pick(reference_alone(input), hit);
  if (picked.query) {  // counted as the reference counts
    picked.query = views::token_at(input, reference, picked.query->index);
  }
  if (picked.key) {
    picked.key = views::key_at(input, reference, picked.key->index);
  }
  return picked;
}

// Lines about a head and its partners.
void CanvasLink::say_heads(const views::ViewInput& input, const models::Trace& trace,
                           std::vector<std::string>& lines) const {
  if (hover_.layer && hover_.head) {
    lines.push_back(views::head_label(trace.model(), *hover_.layer, *hover_.head));
  }
  for (std::size_t n = 1; n < std::min(hover_.partners.size(), input.columns.size()); ++n) {
    lines.push_back(
        "partner in " + input.columns[n].name + ": " +
        views::head_label(input.columns[n].trace->model(), hover_.partners[n].layer, hover_.partners[n].head));
  }
}

// Lines about the scores of the cells that the inspector has, where they are those under the pointer: of the reference
// alone while it is shown. `drawn`: the quantity that the figure has said already.
void CanvasLink::say_scores(const views::ViewInput& input, const PointedTokens& at, std::optional<Quantity> drawn,
                            std::vector<std::string>& lines) const {
  const auto& cells = studio_.scheduler().cells();
  for (const Cell& cell : cells) {
    const bool other = flicker_ && cell.column != input.columns[views::reference_of(input)].name;
    if (at.asked_query != cell.asked_query || at.asked_key != cell.asked_key || other) {
      continue;
    }
    std::string line;
    for (const Cell::Value& each : cell.values) {
      const bool said = cells.size() == 1 && each.quantity == drawn;
      if (each.value && each.quantity && in_tooltip(*each.quantity) && !said) {
        line += (line.empty() ? "" : ", ") + to_text(*each.quantity) + " " + value_text(*each.value);
      }
    }
    if (!line.empty()) {
      lines.push_back((cells.size() > 1 ? cell.column + ": " : "") + line);
    }
  }
}

// The query and the key under the pointer, as the column under it counts them.
CanvasLink::PointedTokens CanvasLink::pointed_tokens(const views::ViewInput& input, const views::Column& column) const {
  PointedTokens at;
  at.asked_query = hover_.query;
  at.asked_key = hover_.key;
  const views::Token shown = studio_.view().tinting_query(input);
  if (shown.chosen() && at.asked_query && column.trace->image_grid().rows == 0) {
    at.asked_key = std::exchange(at.asked_query, shown);  // a token of a tinted text
  }
  at.query = at.asked_query ? views::own_token(input, *at.asked_query, column) : views::kNone;
  at.key = at.asked_key ? views::own_key(input, *at.asked_key, column) : views::kNone;
  return at;
}

std::vector<std::string> CanvasLink::tooltip(const views::ViewInput& input) const {
  std::vector<std::string> lines;
  if (!hover_hit_ || input.columns.empty()) {
    return lines;
  }
  const views::View& view = studio_.view();
  const bool of_reference = reference_panel(hover_hit_->panel).has_value();
  const views::ViewInput seen = of_reference ? reference_alone(input) : input;
  const auto hovered = static_cast<std::size_t>(
      std::clamp<std::int64_t>(hover_.column.value_or(0), 0, static_cast<std::int64_t>(input.columns.size()) - 1));
  const std::size_t index = of_reference ? views::reference_of(input) : hovered;
  const views::Column& column = input.columns[index];
  const models::Trace& trace = *column.trace;
  const auto read = read_under_pointer();
  std::vector<std::string> own = view.said_of(seen, *hover_hit_);
  if (of_reference && (read || hover_.column || !own.empty())) {
    lines.push_back("reference: " + column.name);
  }
  if (read && read->said) {
    lines.push_back(read->words);
  }
  say_heads(input, trace, lines);
  const PointedTokens at = view.names_tokens() ? pointed_tokens(input, column) : PointedTokens();
  const bool image = trace.image_grid().rows > 0;
  if (image && at.query != views::kNone && (at.key == views::kNone || at.key == at.query)) {
    lines.push_back(views::patch_label(trace.image_grid(), at.query));
  } else if (at.query != views::kNone) {
    lines.push_back(token_line("query", at.query, shown_token(trace, at.query)));
  }
  if (at.key != views::kNone && (at.query != at.key || !image)) {
    lines.push_back(token_line("key", at.key, shown_key(trace, at.key)));
  }
  if (at.query != views::kNone && at.key != views::kNone && !image && !trace.crosses()) {
    lines.push_back("Δ = " + std::to_string(at.query - at.key));
  }
  const bool positions = !view.names_tokens();
  if (positions) {
    std::move(own.begin(), own.end(), std::back_inserter(lines));
  }
  if (read && !read->said && std::isnan(read->value)) {
    const views::HeadRef head = views::head_of_column(input, index);
    const bool masked = at.query != views::kNone || view.info().of_scores;
    lines.push_back(masked ? views::masked_text(trace.model(), head.layer, at.query, at.key) : read->words + ": none");
    if (masked) {
      return lines;
    }
  } else if (read && !read->said && (!lines.empty() || own.empty())) {
    lines.push_back(read->words);
  }
  if (view.info().of_scores) {
    say_scores(input, at, view.info().uses_quantity ? std::optional(input.quantity) : std::nullopt, lines);
  }
  if (!positions) {
    std::move(own.begin(), own.end(), std::back_inserter(lines));
  }
  return lines;
}

std::vector<viewport::Bar> CanvasLink::bars(const views::ViewInput& input) const {
  if (!hover_hit_ || !hover_.layer || hover_.head.value_or(views::kNone) < 0 || input.columns.empty()) {
    return {};
  }
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, hover_.column.value_or(0)));
  const views::Column& column = input.columns[std::min(index, input.columns.size() - 1)];
  if (models::atlas_of(*column.trace) != nullptr) {
    return {};  // its view says what it has
  }
  const auto print = studio_.fingerprints().of(column, *hover_.layer, *hover_.head);
  if (!print) {
    return {{"measuring what it does", 0, "…"}};
  }
  if (!*print) {
    return {};  // nothing that can be measured
  }
  const views::Fingerprint& head = **print;
  const auto share = [](const char* label, double part) {
    return viewport::Bar{label, std::isnan(part) ? 0 : std::clamp(part, 0.0, 1.0), share_text(part)};
  };
  const double longest = std::max<double>(1, static_cast<double>(column.trace->length() - 1));
  return {share("previous", head.previous),
          share("first", head.first),
          share("induction", head.induction),
          {"distance", std::clamp(head.distance / longest, 0.0, 1.0), fixed_text(head.distance, 1) + " tokens"}};
}

}  // namespace locus::workbench
