#include "app/views/statement.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/views/plots/map_lines.h"
#include "app/views/plots/series.h"
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
  return shares_line(plain_head(input, 0), head.self, head.previous, head.first) + ", looks " +
         fixed_text(head.distance, 1) + " tokens back on average";
}

std::string weights_line(const ViewInput& input, std::size_t column, const Field& field) {
  const WeightShares shares = shares_of(field);
  std::string line = shares_line(plain_head(input, column), shares.self, shares.previous, shares.first);
  if (field.rows > kFarBack + 1) {
    line += ", tokens more than " + std::to_string(kFarBack) + " back " + fixed_text(shares.far, 2);
  }
  return line;
}

std::string range_line(const Field& field) {
  std::optional<std::size_t> largest;
  float low = 0;
  for (std::size_t n = 0; n < field.values.size(); ++n) {
    const float value = field.values[n];
    if (!std::isfinite(value)) {
      continue;
    }
    low = largest ? std::min(low, value) : value;
    if (!largest || value > field.values[*largest]) {
      largest = n;
    }
  }
  if (!largest) {
    return {};
  }
  const auto at = static_cast<std::int64_t>(*largest);
  const std::string quantity = field.quantity.empty() ? "values" : field.quantity;
  return quantity + " from " + short_number(static_cast<double>(low)) + " to " +
         short_number(static_cast<double>(field.values[*largest])) + ", the largest at " +
         cell_text(field.row_axis, at / field.columns) + ", " + cell_text(field.column_axis, at % field.columns);
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
  return curve.name + ": " + short_number(curve.y[*first]) + " at " + place_text(axis, curve.x[*first]) + ", " +
         short_number(curve.y[last]) + " at " + place_text(axis, curve.x[last]);
}

// Of bars that stand one a thing (a layer, a pair): the largest, up or down.
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
  std::string line;
  for (std::size_t n = 0; n < std::min(all.size(), kMaxSeries); ++n) {
    line += (n == 0 ? "" : "; ") + all[n];
  }
  return all.size() > kMaxSeries ? line + "; and " + std::to_string(all.size() - kMaxSeries) + " more" : line;
}

std::string strip_line(const figure::TokenStrip& strip) {
  std::optional<std::size_t> most;
  for (std::size_t n = 0; n < strip.values.size(); ++n) {
    if (std::isfinite(strip.values[n]) && (!most || strip.values[n] > strip.values[*most])) {
      most = n;
    }
  }
  if (!most || *most >= strip.tokens.size()) {
    return {};
  }
  const std::string from =
      strip.selected >= 0 ? "token " + std::to_string(strip.selected) + " gives most to" : "the largest value is at";
  return from + " token " + std::to_string(*most) + " \"" + strip.tokens[*most] +
         "\": " + short_number(static_cast<double>(strip.values[*most]));
}

std::string panel_line(const ViewInfo& info, const ViewInput& input, const figure::Panel& panel,
                       const Fingerprint* measured) {
  if (const auto* map = first_layer<figure::HeatMap>(panel); map != nullptr && map->field) {
    const bool weights = info.uses_head && info.uses_quantity && input.quantity == models::Quantity::kWeight;
    if (weights && is_whole_map(*map->field, *input.columns.front().trace)) {
      return weights_line(input, 0, *map->field);
    }
    return weights && measured != nullptr ? measured_line(input, *measured) : range_line(*map->field);
  }
  if (const auto* strip = first_layer<figure::TokenStrip>(panel)) {
    return strip_line(*strip);
  }
  return series_line(panel);
}

}  // namespace

std::string statement(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure,
                      const Fingerprint* measured) {
  if (figure.panels.empty() || input.columns.empty()) {
    return {};
  }
  std::string line =
      figure.statement.empty() ? panel_line(info, input, figure.panels.front(), measured) : figure.statement;
  const bool maps = first_layer<figure::HeatMap>(figure.panels.front()) != nullptr;
  if (!line.empty() && maps && input.columns.size() > 1) {
    line = input.columns.front().name + ": " + line;
  }
  return line;
}

}  // namespace locus::views
