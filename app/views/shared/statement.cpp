#include "app/views/shared/statement.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::int64_t kFarBack = 32;  // tokens
constexpr std::size_t kMaxSeries = 3;  // that a statement names; of the others it gives the number

std::string plain_head(const ViewInput& input, std::size_t column) {
  const HeadRef head = head_of_column(input, column);
  return head.head < 0 ? "the mean of layer " + std::to_string(head.layer) + "'s heads"
                       : "head " + std::to_string(head.layer) + "." + std::to_string(head.head);
}

template <class Layer>
const Layer* first_layer(const figure::Panel& panel) {
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* found = std::get_if<Layer>(&layer)) {
      return found;
    }
  }
  return nullptr;
}

// Where a query's weight goes, as means over the queries from 1.
struct WeightShares {
  double self = 0;
  double previous = 0;
  double first = 0;
  double far = 0;
};

bool is_whole_map(const Field& field, const models::Trace& trace) {
  const auto starts = [](const FieldAxis& axis) { return axis.first == 0 && axis.step == 1; };
  return field.rows == trace.length() && field.columns == trace.length() && field.rows > 1 && !trace.crosses() &&
         starts(field.row_axis) && starts(field.column_axis);
}

WeightShares shares_of(const Field& field) {
  WeightShares sum;
  const auto value = [&](std::int64_t row, std::int64_t column) {
    const float weight = field.at(row, column);
    return std::isfinite(weight) ? static_cast<double>(weight) : 0;
  };
  for (std::int64_t row = 1; row < field.rows; ++row) {
    sum.self += value(row, row);
    sum.previous += value(row, row - 1);
    sum.first += value(row, 0);
    for (std::int64_t column = 0; column < row - kFarBack; ++column) {
      sum.far += value(row, column);
    }
  }
  const auto queries = static_cast<double>(field.rows - 1);
  return {sum.self / queries, sum.previous / queries, sum.first / queries, sum.far / queries};
}

std::string shares_line(const std::string& head, double self, double previous, double first) {
  return head + " gives its own token " + fixed_text(self, 2) + ", the one before " + fixed_text(previous, 2) +
         ", the first " + fixed_text(first, 2);
}

std::string measured_line(const ViewInput& input, const Fingerprint& head) {
  if (std::isnan(head.self)) {  // of a layer without a map
    return {};
  }
  return shares_line(plain_head(input, 0), head.self, head.previous, head.first) + ", looks " +
         fixed_text(head.distance, 1) + " tokens back on average";
}

std::string weights_line(const ViewInput& input, const Field& field) {
  if (std::none_of(field.values.begin(), field.values.end(), [](float value) { return value > 0; })) {
    return {};  // of a layer without a map
  }
  const WeightShares shares = shares_of(field);
  std::string line = shares_line(plain_head(input, 0), shares.self, shares.previous, shares.first);
  if (field.rows > kFarBack + 1) {
    line += ", tokens more than " + std::to_string(kFarBack) + " back " + fixed_text(shares.far, 2);
  }
  return line;
}

// The quantity of a panel's colours: its map's own word, or the label of the colour bar, which stands beside the last
// of the panels that share it.
std::string shown_quantity(const figure::Figure& figure, std::size_t panel, const std::string& own) {
  std::string label;
  for (std::size_t n = panel; n < figure.panels.size() && label.empty(); ++n) {
    label = figure.panels[n].color_bar_label;
  }
  return own.empty() || label.starts_with(own) ? label : own;
}

// Where a cell of a map stands on an axis: in the map's own words ("query 5"), else by the name on the panel's axis
// ("split in", "flip-flop-rope"), which layers have too ("layer out").
std::string cell_place(const FieldAxis& cells, const figure::Axis& axis, std::int64_t cell) {
  const bool named = axis.cell_names && axis.label == cells.name && cells.unit != "token" && cells.step == 1;
  return cells.name.empty() || named ? place_text(axis, cells.first + cells.step * (static_cast<double>(cell) + 0.5))
                                     : cell_text(cells, cell);
}

// The cells of the smallest and of the largest value; none where there are no numbers.
struct Ends {
  std::int64_t least = 0;
  std::int64_t largest = 0;
  std::int64_t last = 0;  // of the largest value
};
std::optional<Ends> ends_of(const Field& field) {
  std::optional<Ends> ends;
  const auto value_at = [&](std::int64_t cell) { return field.values[static_cast<std::size_t>(cell)]; };
  for (std::int64_t cell = 0; cell < std::ssize(field.values); ++cell) {
    const float value = value_at(cell);
    if (!std::isfinite(value)) {
      continue;
    }
    Ends found = ends.value_or(Ends{cell, cell, cell});
    found.least = value < value_at(found.least) ? cell : found.least;
    if (value > value_at(found.largest)) {
      found.largest = cell;
    }
    found.last = value == value_at(found.largest) ? cell : found.last;
    ends = found;
  }
  return ends;
}

// "logit from −2 to 5, the largest at query 5, key 3"; of a table, whose cells have names alone, both places: "error
// (%) from 0 (flip-flop-cope, split in) to 40 (flip-flop-learned, split sparse)".
std::string range_line(const figure::Panel& panel, const Field& field, const std::string& quantity) {
  const std::optional<Ends> ends = ends_of(field);
  if (!ends) {
    return {};
  }
  const auto number = [&](std::int64_t cell) {
    return short_number(static_cast<double>(field.values[static_cast<std::size_t>(cell)]));
  };
  const auto place = [&](std::int64_t cell) {
    return cell_place(field.row_axis, panel.y, cell / field.columns) + ", " +
           cell_place(field.column_axis, panel.x, cell % field.columns);
  };
  const std::string what = quantity.empty() ? "values" : quantity;
  const bool table = field.row_axis.name.empty() && panel.y.cell_names;
  if (table) {
    return what + " from " + number(ends->least) + " (" + place(ends->least) + ") to " + number(ends->largest) + " (" +
           place(ends->largest) + ")";
  }
  return what + " from " + number(ends->least) + " to " + number(ends->largest) +
         (place(ends->last) == place(ends->largest) ? ", the largest at " : ", the largest first at ") +
         place(ends->largest);
}

std::string curve_text(const figure::Curve& curve, const figure::Axis& axis) {
  std::optional<std::size_t> first;
  std::size_t last = 0;
  for (std::size_t n = 0; n < std::min(curve.x.size(), curve.y.size()); ++n) {
    if (std::isfinite(curve.y[n])) {
      first = first.value_or(n);
      last = n;
    }
  }
  if (!first) {
    return {};
  }
  const std::string begin =
      curve.name + ": " + short_number(curve.y[*first]) + " at " + place_text(axis, curve.x[*first]);
  return last == *first ? begin : begin + ", " + short_number(curve.y[last]) + " at " + place_text(axis, curve.x[last]);
}

// The largest bar, up or down, where each stands for one thing (a layer, a pair).
std::string largest_bar_text(const figure::Bars& bars, const figure::Axis& axis) {
  std::optional<std::size_t> most;
  for (std::size_t n = 0; n < bars.heights.size() && n + 1 < bars.edges.size(); ++n) {
    if (std::isfinite(bars.heights[n]) && (!most || std::abs(bars.heights[n]) > std::abs(bars.heights[*most]))) {
      most = n;
    }
  }
  return most ? bars.name + ": " + short_number(bars.heights[*most]) + " at " +
                    place_text(axis, (bars.edges[*most] + bars.edges[*most + 1]) / 2)
              : std::string();
}

std::string bars_text(const figure::Bars& bars, const figure::Axis& axis) {
  if (axis.cell_names) {
    return largest_bar_text(bars, axis);
  }
  double count = 0;
  double sum = 0;
  double above = 0;
  for (std::size_t n = 0; n < bars.heights.size() && n + 1 < bars.edges.size(); ++n) {
    const double low = bars.edges[n];
    const double high = bars.edges[n + 1];
    count += bars.heights[n];
    sum += bars.heights[n] * (low + high) / 2;
    above += bars.heights[n] * (high <= 0 ? 0 : low >= 0 ? 1 : high / (high - low));
  }
  if (!(count > 0)) {
    return {};
  }
  const std::string name = bars.name.substr(0, bars.name.find(": "));
  return name + ": mean " + short_number(sum / count) + ", " + fixed_text(100 * above / count, 0) + " % above 0";
}

std::string series_line(const figure::Panel& panel) {
  std::vector<std::string> all;
  for (const figure::Layer& layer : panel.layers) {
    const auto* curve = std::get_if<figure::Curve>(&layer);
    const auto* bars = std::get_if<figure::Bars>(&layer);
    const std::string text = curve != nullptr && !curve->name.empty() ? curve_text(*curve, panel.x)
                             : bars != nullptr && !bars->name.empty() ? bars_text(*bars, panel.x)
                                                                      : std::string();
    if (!text.empty()) {
      all.push_back(text);
    }
  }
  std::string line = all.empty() || panel.y.label.empty() ? "" : panel.y.label + ", ";
  for (std::size_t n = 0; n < std::min(all.size(), kMaxSeries); ++n) {
    line += (n == 0 ? "" : "; ") + all[n];
  }
  return all.size() > kMaxSeries ? line + "; and " + std::to_string(all.size() - kMaxSeries) + " more" : line;
}

std::string strip_line(const figure::TokenStrip& strip, const std::string& quantity) {
  std::optional<std::size_t> most;
  for (std::size_t n = 0; n < strip.values.size(); ++n) {
    if (std::isfinite(strip.values[n]) && (!most || strip.values[n] > strip.values[*most])) {
      most = n;
    }
  }
  if (!most || *most >= strip.tokens.size()) {
    return {};
  }
  const std::string to = " token " + std::to_string(*most) + " \"" + strip.tokens[*most] +
                         "\": " + short_number(static_cast<double>(strip.values[*most]));
  const std::string from = strip.selected >= 0 ? "token " + std::to_string(strip.selected) : "";
  if (!from.empty() && (quantity.empty() || quantity == quantity_label(models::Quantity::kWeight))) {
    return from + " gives most to" + to;
  }
  return (from.empty() ? "" : from + ": ") + "the largest " + (quantity.empty() ? "value" : quantity) + " is at" + to;
}

// "attention weight", and "attention weight, 40 % exact" while a map is being computed.
bool is_weight(const std::string& quantity) {
  const std::string own = quantity.substr(0, quantity.find(", "));
  return own == quantity_label(models::Quantity::kWeight) || own == kShareOfImplied;
}

// A line about the first panel, and whether it names the head itself.
struct PanelLine {
  std::string text;
  bool names_head = false;
};

PanelLine panel_line(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure,
                     const Fingerprint* measured) {
  const figure::Panel& panel = figure.panels.front();
  if (const auto* map = first_layer<figure::HeatMap>(panel); map != nullptr && map->field) {
    const Field& field = *map->field;
    const std::string quantity = shown_quantity(figure, 0, field.quantity);
    const bool of_tokens = field.row_axis.name == "query" && field.column_axis.name == "key";
    const bool weights = info.uses_head && info.uses_quantity && of_tokens && is_weight(quantity);
    if (weights && is_whole_map(field, *input.columns.front().trace)) {
      return {weights_line(input, field), true};
    }
    if (weights && measured != nullptr) {
      return {measured_line(input, *measured), true};
    }
    return {range_line(panel, field, quantity)};
  }
  if (const auto* strip = first_layer<figure::TokenStrip>(panel)) {
    return {strip_line(*strip, shown_quantity(figure, 0, ""))};
  }
  return {series_line(panel)};
}

// Names which of several panels with titles a line is about: "text-rope · layer 1, head 2: ", as the first one's title
// says, of which a line that names the head itself takes the names alone. Empty where one panel alone has a title.
std::string subject_of(const figure::Figure& figure, bool names_head) {
  const auto titled = std::ranges::count_if(figure.panels, [](const auto& panel) { return !panel.title.empty(); });
  const figure::Panel& panel = figure.panels.front();
  if (titled < 2 || panel.title.empty()) {
    return {};
  }
  if (panel.names.empty()) {
    return panel.title + ": ";
  }
  const std::string& name = panel.names.front();
  const bool named = panel.title.find(name) != std::string::npos;  // else it is written beside the panel
  return (names_head ? name : (named ? "" : name + " ") + panel.title) + ": ";
}

}  // namespace

std::string statement(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure,
                      const Fingerprint* measured) {
  if (figure.panels.empty() || input.columns.empty()) {
    return {};
  }
  if (!figure.statement.empty()) {
    return figure.statement;
  }
  const PanelLine line = panel_line(info, input, figure, measured);
  return line.text.empty() ? "" : subject_of(figure, line.names_head) + line.text;
}

}  // namespace locus::views
