#include "app/workbench/canvas/canvas_tooltip.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/work/cell_values.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"
#include "models/api/atlas_trace.h"

namespace locus::workbench {

namespace {

// The inspector lists the other quantities.
bool in_tooltip(Quantity quantity) {
  return quantity == Quantity::kLogit || quantity == Quantity::kWeight || quantity == Quantity::kGate ||
         quantity == Quantity::kPosition;
}

std::string token_line(const char* role, std::int64_t token, const std::string& shown) {
  return std::string(role) + " " + std::to_string(token) + "  \"" + shown + "\"";
}

}  // namespace

// Adds lines about a head and its partners.
void CanvasTooltip::add_heads(const views::ViewInput& input, const models::Trace& trace,
                              std::vector<std::string>& lines) const {
  if (pointer_.selection().layer && pointer_.selection().head) {
    lines.push_back(views::head_label(trace.model(), *pointer_.selection().layer, *pointer_.selection().head));
  }
  for (std::size_t n = 1; n < std::min(pointer_.selection().partners.size(), input.columns.size()); ++n) {
    lines.push_back("partner in " + input.columns[n].name + ": " +
                    views::head_label(input.columns[n].trace->model(), pointer_.selection().partners[n].layer,
                                      pointer_.selection().partners[n].head));
  }
}

// Adds the scores of the cells in the inspector if they are those under the pointer; only the reference's while it is
// shown. `drawn`: a quantity that already has a line.
void CanvasTooltip::add_scores(const views::ViewInput& input, const PointedTokens& at, std::optional<Quantity> drawn,
                               std::vector<std::string>& lines) const {
  const auto& cells = studio_.scheduler().cells();
  for (const Cell& cell : cells) {
    const bool other = figure_.shows_reference() && cell.column != input.columns[views::reference_of(input)].name;
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

CanvasTooltip::PointedTokens CanvasTooltip::pointed_tokens(const views::ViewInput& input,
                                                           const views::Column& column) const {
  PointedTokens at;
  at.asked_query = pointer_.selection().query;
  at.asked_key = pointer_.selection().key;
  const views::Token shown = studio_.view().tinting_query(input);
  if (shown.chosen() && at.asked_query && column.trace->image_grid().rows == 0) {
    at.asked_key = std::exchange(at.asked_query, shown);  // a token of a tinted text
  }
  at.query = at.asked_query ? views::own_token(input, *at.asked_query, column) : views::kNone;
  at.key = at.asked_key ? views::own_key(input, *at.asked_key, column) : views::kNone;
  return at;
}

void CanvasTooltip::add_tokens(const models::Trace& trace, const PointedTokens& at, std::vector<std::string>& lines) {
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
}

viewport::Tooltip CanvasTooltip::text(const views::ViewInput& input) const {
  viewport::Tooltip box;
  if (!pointer_.hit() || input.columns.empty()) {
    return box;
  }
  const views::View& view = studio_.view();
  const bool of_reference = figure_.reference_at(*pointer_.hit()).has_value();
  const views::ViewInput seen = of_reference ? CanvasFigure::with_reference_only(input) : input;
  const auto hovered = static_cast<std::size_t>(std::clamp<std::int64_t>(
      pointer_.selection().column.value_or(0), 0, static_cast<std::int64_t>(input.columns.size()) - 1));
  const std::size_t index = of_reference ? views::reference_of(input) : hovered;
  const views::Column& column = input.columns[index];
  const models::Trace& trace = *column.trace;
  const auto read = figure_.read(*pointer_.hit());
  std::vector<std::string> own = view.said_of(seen, *pointer_.hit());
  const PointedTokens at = view.names_tokens() ? pointed_tokens(input, column) : PointedTokens();
  const bool empty = read && !read->said && std::isnan(read->value);
  const bool masked = empty && (at.query != views::kNone || view.info().of_scores);
  if (read) {
    // A line of the view about the same quantity has its interval too.
    const auto whole = std::ranges::find_if(own, [&](const auto& line) { return line.starts_with(read->name + " "); });
    const bool known = !empty && whole != own.end();
    const views::HeadRef head = views::head_of_column(input, index);
    box.lines.push_back(known    ? *whole
                        : masked ? read->words + ", " + views::masked_text(trace.model(), head.layer, at.query, at.key)
                        : empty  ? read->words + ": none"
                                 : read->words);
    if (known) {
      own.erase(whole);
    }
    if (read->bar) {
      box.tick = viewport::BarTick{*read->bar, read->colored};
    }
  }
  if (of_reference && (read || pointer_.selection().column || !own.empty())) {
    box.lines.push_back("reference: " + column.name);
  }
  add_heads(input, trace, box.lines);
  add_tokens(trace, at, box.lines);
  std::move(own.begin(), own.end(), std::back_inserter(box.lines));
  const std::size_t usual = box.lines.size();
  if (view.info().of_scores && !masked) {
    add_scores(input, at, view.info().uses_quantity ? std::optional(input.quantity) : std::nullopt, box.lines);
  }
  box.small = box.lines.size() - usual;
  return box;
}

std::vector<viewport::Bar> CanvasTooltip::bars(const views::ViewInput& input) const {
  if (!pointer_.hit() || !pointer_.selection().layer || pointer_.selection().head.value_or(views::kNone) < 0 ||
      input.columns.empty()) {
    return {};
  }
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, pointer_.selection().column.value_or(0)));
  const views::Column& column = input.columns[std::min(index, input.columns.size() - 1)];
  if (models::atlas_of(*column.trace) != nullptr) {
    return {};  // its view describes heads in its own lines
  }
  const auto print = studio_.fingerprints().of(column, *pointer_.selection().layer, *pointer_.selection().head);
  if (!print) {
    return {{"measuring the head", 0, "…"}};
  }
  if (!*print) {
    return {};  // it cannot be measured
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
