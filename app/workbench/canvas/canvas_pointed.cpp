// What the canvas shows of the place under the pointer, and of the pinned one: outlines, the tooltip, its bars.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/alignment.h"
#include "app/views/plots/patch_grid.h"
#include "app/views/score_maps/score_map.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/studio/cell_values.h"
#include "app/workbench/studio/token_words.h"
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
  const auto add = [&](const views::Selection& selection, std::uint32_t color, bool cross) {
    for (const views::Place& place : view.places(input, selection)) {
      list.push_back({place.panel, place.x, place.y, color, cross});
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

// The raw value that the figure shows at the pointer, whatever its colours do.
std::optional<float> CanvasLink::value_under_pointer() const {
  const auto& figure = studio_.scheduler().figure();
  if (!figure || !hover_hit_ || hover_hit_->panel >= figure->panels.size()) {
    return std::nullopt;
  }
  for (const figure::Layer& layer : figure->panels[hover_hit_->panel].layers) {
    const auto* map = std::get_if<figure::HeatMap>(&layer);
    if (map == nullptr || !map->field) {
      continue;
    }
    const Field& field = *map->field;
    const auto row =
        static_cast<std::int64_t>(std::floor((hover_hit_->y - field.row_axis.first) / field.row_axis.step));
    const auto column =
        static_cast<std::int64_t>(std::floor((hover_hit_->x - field.column_axis.first) / field.column_axis.step));
    if (row >= 0 && row < field.rows && column >= 0 && column < field.columns) {
      return field.at(row, column);
    }
  }
  return std::nullopt;
}

std::vector<std::string> CanvasLink::tooltip(const views::ViewInput& input) const {
  std::vector<std::string> lines;
  if (!hover_hit_ || input.columns.empty()) {
    return lines;
  }
  const auto column = static_cast<std::size_t>(
      std::clamp<std::int64_t>(hover_.column.value_or(0), 0, static_cast<std::int64_t>(input.columns.size()) - 1));
  const models::Trace& trace = *input.columns[column].trace;
  if (hover_.layer && hover_.head) {
    lines.push_back(views::head_label(trace.model(), *hover_.layer, *hover_.head));
  }
  for (std::size_t n = 1; n < std::min(hover_.partners.size(), input.columns.size()); ++n) {
    lines.push_back(
        "partner in " + input.columns[n].name + ": " +
        views::head_label(input.columns[n].trace->model(), hover_.partners[n].layer, hover_.partners[n].head));
  }
  // Tokens as the column under the pointer counts them.
  std::optional<views::Token> asked_query = hover_.query;
  std::optional<views::Token> asked_key = hover_.key;
  const views::Token shown = studio_.view().tinting_query(input);
  if (shown.chosen() && asked_query && trace.image_grid().rows == 0) {
    asked_key = std::exchange(asked_query, shown);  // a token of a tinted text
  }
  const std::int64_t query = asked_query ? views::own_token(input, *asked_query, input.columns[column]) : views::kNone;
  const std::int64_t key = asked_key ? views::own_key(input, *asked_key, input.columns[column]) : views::kNone;
  if (trace.image_grid().rows > 0 && query != views::kNone && (key == views::kNone || key == query)) {
    lines.push_back(views::patch_label(trace.image_grid(), query));
  } else if (query != views::kNone) {
    lines.push_back(token_line("query", query, shown_token(trace, query)));
  }
  if (key != views::kNone && (query != key || trace.image_grid().rows == 0)) {
    lines.push_back(token_line("key", key, shown_key(trace, key)));
  }
  if (query != views::kNone && key != views::kNone && trace.image_grid().rows == 0 && !trace.crosses()) {
    lines.push_back("Δ = " + std::to_string(query - key));
    if (key > query && trace.model().causal) {
      lines.emplace_back("masked: the key comes after the query");
      return lines;
    }
  }
  const auto value = value_under_pointer();
  bool exact = false;
  for (const Cell& cell : studio_.scheduler().cells()) {
    if (asked_query != cell.asked_query || asked_key != cell.asked_key) {
      continue;
    }
    exact = true;
    std::string line = studio_.scheduler().cells().size() > 1 ? cell.column + ": " : "";
    bool first = true;
    for (const Cell::Value& each : cell.values) {
      if (each.value && each.quantity && in_tooltip(*each.quantity)) {
        line += (first ? "" : ", ") + to_text(*each.quantity) + " " + value_text(*each.value);
        first = false;
      }
    }
    lines.push_back(line);
  }
  if (value && !exact && !lines.empty()) {
    lines.push_back("value " + value_text(*value));
  }
  for (std::string& line : studio_.view().said_of(input, *hover_hit_)) {
    lines.push_back(std::move(line));
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
