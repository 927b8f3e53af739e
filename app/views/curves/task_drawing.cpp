#include "app/views/curves/task_drawing.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/views/curves/task_groups.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

// Figures show shares in percent, as the papers do; exported data are shares.
double shown_unit(const std::string& metric) {
  return metric == "error" || metric == "accuracy" ? 100 : 1;
}
std::string shown_label(const std::string& metric) {
  return metric_label(metric) + (shown_unit(metric) == 100 ? " (%)" : "");
}

// "mean accuracy 12.3 %", and with all ", 50 sums a cell; framed: the lengths of training".
std::string map_note(const Accuracy& row, bool says_all) {
  double sum = 0;
  std::int64_t count = 0;
  for (const float value : row.map->values) {
    if (std::isfinite(value)) {
      sum += static_cast<double>(value);
      ++count;
    }
  }
  const double mean = sum / static_cast<double>(std::max<std::int64_t>(count, 1));
  std::string note = "mean " + metric_label(row.metric) + " " + fixed_text(100 * mean, 1) + " %";
  if (!says_all) {
    return note;
  }
  note += row.samples > 0 ? ", " + std::to_string(row.samples) + " sums a cell" : "";
  return note + (row.trained > 0 ? "; framed: the lengths of training" : "");
}

// Every second number below `end` as the name of its cell, so that both axes of a map have the same ticks.
Names even_numbers(double end) {
  std::vector<std::string> names;
  for (std::int64_t n = 0; static_cast<double>(n) < end; ++n) {
    names.push_back(n % 2 == 0 ? std::to_string(n) : "");
  }
  return shared_names(std::move(names));
}

constexpr double kLeastBars = 6;      // that a plot has room for
constexpr double kBelowZero = 0.015;  // of the axis, so that a dot at 0 is seen
constexpr float kSizeOfSeeds = 6;     // smaller than a mean's dot
constexpr float kColorOfDots = 0.4F;  // of the scale, seen on dark and light
constexpr double kBelowMean = 0.12;   // of a row, so that neither hides the other
constexpr double kRoomOfNames = 0.3;  // of the axis, at its ends: numbers stand beside the dots

// "30.4", "2.171".
std::string cell_number(double value, double unit) {
  return std::isnan(value) ? std::string("–") : fixed_text(unit * value, unit == 100 ? 1 : 3);
}
// "(45.6 … 52.6)", the least and the largest of several seeds; empty of one.
std::string cell_range(const Accuracy& row, const Split& split, double unit) {
  return row.seeds > 1 && split.low < split.high
             ? "(" + cell_number(split.low, unit) + " … " + cell_number(split.high, unit) + ")"
             : std::string();
}

// "30.4", of several seeds "12.6 (9.9 … 16.9)".
std::string cell_text(const Accuracy& row, const Split& split, double unit) {
  const std::string range = cell_range(row, split, unit);
  return cell_number(split.value, unit) + (range.empty() ? range : " " + range);
}

// A dot at every bar's value, which is how a bar of 0 is seen, and its interval.
void add_intervals(const std::vector<Accuracy>& list, const std::vector<std::string>& names, figure::Panel& panel) {
  figure::Curve marks;
  marks.color = 0x606060FF;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const double unit = shown_unit(list[n].metric);
    for (std::size_t cell = 0; cell < names.size(); ++cell) {
      const Split split = split_of(list[n].splits, names[cell]);
      const double at = bar_middle(cell, n, list.size());
      marks.x.insert(marks.x.end(), {at, at, at, at, at});
      marks.y.insert(marks.y.end(), {unit * split.value, kNaN, unit * split.low, unit * split.high, kNaN});
    }
  }
  panel.layers.emplace_back(std::move(marks));
}

// "least text-cope 2.17, largest text-learned 2.74".
std::string ends_text(const std::vector<Accuracy>& list, const std::string& name, double unit) {
  const auto value = [&](const Accuracy& row) { return split_of(row.splits, name).value; };
  const auto text = [&](const Accuracy& row) { return row.checkpoint + " " + short_number(unit * value(row)); };
  const auto known = [&](const Accuracy& row) { return !std::isnan(value(row)); };
  std::vector<Accuracy> rows;
  std::ranges::copy_if(list, std::back_inserter(rows), known);
  if (rows.empty()) {
    return "no row has it";
  }
  const auto [least, largest] = std::ranges::minmax_element(rows, {}, value);
  return rows.size() == 1 ? text(*least) : "least " + text(*least) + ", largest " + text(*largest);
}

// The same rows on an axis of the one split that they have.
figure::Figure dots_figure(const std::vector<Accuracy>& list, const std::string& name, const std::string& cells) {
  const double unit = shown_unit(list.front().metric);
  figure::Points means;
  figure::Points seeds;
  std::vector<std::string> checkpoints;
  std::vector<std::string> said;
  Extent extent;
  Field field = Field::zeros(std::ssize(list), 1);
  for (std::size_t n = 0; n < list.size(); ++n) {
    const Split split = split_of(list[n].splits, name);
    const std::string text = cell_text(list[n], split, unit);
    means.x.push_back(unit * split.value);
    means.y.push_back(static_cast<double>(n) + 0.5);
    means.x_low.push_back(unit * split.low);
    means.x_high.push_back(unit * split.high);
    means.names.push_back(text);
    for (const double each : split.each) {
      seeds.x.push_back(unit * each);
      seeds.y.push_back(means.y.back() + kBelowMean);
    }
    for (const double end : {split.value, split.low, split.high}) {
      extent.add(unit * end);
    }
    field.values[n] = static_cast<float>(unit * split.value);
    checkpoints.push_back(list[n].checkpoint);
    said.push_back(list[n].checkpoint + ": " + shown_label(list[n].metric) + " " + text);
  }
  means.values.assign(means.x.size(), kColorOfDots);
  seeds.values.assign(seeds.x.size(), kColorOfDots);
  seeds.hollow.assign(seeds.x.size(), figure::Points::kRing);
  seeds.sizes_px.assign(seeds.x.size(), kSizeOfSeeds);
  figure::Panel panel;
  panel.y = cells_down("", field.rows, shared_names(std::move(checkpoints)));
  panel.x.label = shown_label(list.front().metric) + ", " + cells + " " + name;
  panel.x.view = extent.padded(kRoomOfNames);
  field.column_axis = {name, "", panel.x.view.low, panel.x.view.high - panel.x.view.low};
  // Not seen: what the box at the pointer says of a row.
  panel.layers.emplace_back(figure::HeatMap{.field = std::make_shared<const Field>(std::move(field)),
                                            .scale = {},
                                            .opacity = 0,
                                            .said = shared_names(std::move(said))});
  panel.layers.emplace_back(std::move(seeds));
  panel.layers.emplace_back(std::move(means));
  panel.follows_camera = false;
  panel.note = interval_note(list);
  panel.note += panel.note.starts_with("lines: least") ? ", rings: each of them" : "";
  figure::Figure figure = figure_of(std::move(panel));
  figure.statement = shown_label(list.front().metric) + ", " + cells + " " + name + ": " + ends_text(list, name, unit);
  return figure;
}

}  // namespace

std::string metric_label(const std::string& metric) {
  std::string label = metric;
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

figure::Figure map_figure(const ViewInput& input, const std::vector<Accuracy>& list) {
  ViewInput whole = input;
  whole.scale.high = input.scale.high.value_or(static_cast<float>(shown_unit(list.front().metric)));
  figure::Figure figure = figure_across(list.size());
  for (const Accuracy& row : list) {
    Field shown = *row.map;
    for (float& value : shown.values) {
      value *= static_cast<float>(shown_unit(row.metric));
    }
    const auto field = std::make_shared<const Field>(std::move(shown));
    const double left = field->column_axis.first;
    const double bottom = field->row_axis.first;
    figure::Panel panel;
    panel.names = {row.checkpoint};
    panel.title = row.checkpoint;
    panel.equal_aspect = true;
    panel.x.label = "digits of the second operand";
    panel.x.view = {left, left + static_cast<double>(field->columns)};
    panel.x.cell_names = even_numbers(left + static_cast<double>(field->columns));
    panel.y.label = figure.panels.empty() ? "digits of the first operand" : "";
    panel.y.view = {bottom, bottom + static_cast<double>(field->rows)};
    panel.y.cell_names = even_numbers(bottom + static_cast<double>(field->rows));
    panel.color_bar_label = figure.panels.size() + 1 == list.size() ? shown_label(row.metric) : "";
    panel.layers.emplace_back(figure::HeatMap{field, scale_of(whole, Sign::kPositive, {field})});
    if (row.trained > 0) {
      const auto end = static_cast<double>(row.trained + 1);
      panel.layers.emplace_back(figure::Box{{left, end}, {bottom, end}});
    }
    const bool is_last = figure.panels.size() + 1 == list.size();
    const bool is_alike = row.samples == list.back().samples && row.trained == list.back().trained;
    panel.note = map_note(row, is_last || !is_alike);
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

figure::Figure bar_figure(const std::vector<Accuracy>& list, const std::string& cells, bool logarithmic) {
  const std::vector<std::string> names = split_names(list);
  const double unit = shown_unit(list.front().metric);
  figure::Panel panel;
  Extent extent;
  double least = unit;
  for (std::size_t n = 0; n < list.size(); ++n) {
    std::vector<double> heights;
    for (const std::string& name : names) {
      const Split split = split_of(list[n].splits, name);
      heights.push_back(unit * split.value);
      extent.add(unit * split.value);
      extent.add(unit * split.high);
      least = heights.back() > 0 ? std::min(least, heights.back()) : least;
    }
    panel.layers.emplace_back(grouped_bars(list[n].checkpoint, heights, n, list.size()));
  }
  add_intervals(list, names, panel);
  // A few bars keep the width of bars.
  const auto splits = static_cast<double>(names.size());
  const double room = std::max(0.0, kLeastBars / static_cast<double>(list.size()) - splits) / 2;
  panel.x = {.label = cells, .view = {-room, splits + room}, .cell_names = shared_names(names)};
  panel.y.label = shown_label(list.front().metric);
  panel.y.view = extent.from_zero();
  panel.y.logarithmic = logarithmic && extent.from_zero().high > 0;
  if (panel.y.logarithmic) {
    panel.y.view.low = least / 3;
  } else {
    panel.y.view.low = -kBelowZero * panel.y.view.high;
  }
  panel.note = interval_note(list);
  return figure_of(std::move(panel));
}

figure::Figure table_figure(const ViewInput& input, const std::vector<Accuracy>& list, const std::string& cells) {
  const std::vector<std::string> names = split_names(list);
  if (names.size() == 1) {
    return dots_figure(list, names.front(), cells);
  }
  const double unit = shown_unit(list.front().metric);
  std::vector<std::string> checkpoints;
  std::vector<std::string> texts;
  std::vector<std::string> ranges;
  Field field = Field::zeros(std::ssize(list), std::ssize(names));
  for (const Accuracy& row : list) {
    checkpoints.push_back(row.checkpoint);
    for (const std::string& name : names) {
      const Split split = split_of(row.splits, name);
      field.values[texts.size()] = static_cast<float>(unit * split.value);
      texts.push_back(cell_number(split.value, unit));
      ranges.push_back(cell_range(row, split, unit));
    }
  }
  figure::Panel panel;
  panel.x = cells_across(cells, field.columns, shared_names(names));
  panel.y = cells_down("", field.rows, shared_names(std::move(checkpoints)));
  panel.color_bar_label = shown_label(list.front().metric);
  const auto values = std::make_shared<const Field>(std::move(field));
  const bool ranged = std::ranges::any_of(ranges, [](const std::string& range) { return !range.empty(); });
  panel.layers.emplace_back(figure::HeatMap{.field = values,
                                            .scale = scale_of(input, Sign::kPositive, {values}),
                                            .texts = shared_names(std::move(texts)),
                                            .details = ranged ? shared_names(std::move(ranges)) : nullptr});
  if (std::ranges::any_of(list, [](const Accuracy& row) { return row.seeds > 1; })) {
    panel.note = "mean (least … largest) where a row is of several seeds";
  }
  return figure_of(std::move(panel));
}

}  // namespace locus::views
