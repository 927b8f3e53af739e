#include "app/views/shared/plots/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/base/numbers.h"
#include "renderers/figure/style.h"

namespace locus::views {

namespace {

constexpr double kGroupWidth = 0.8;  // of a cell, for all bars of a group

double bar_left(std::size_t cell, std::size_t index, std::size_t count) {
  const double width = kGroupWidth / static_cast<double>(std::max<std::size_t>(count, 1));
  return static_cast<double>(cell) + (1 - kGroupWidth) / 2 + static_cast<double>(index) * width;
}

}  // namespace

Progress column_progress(const ViewInput& input, std::size_t column) {
  if (!input.progress) {
    return {};
  }
  const auto count = static_cast<double>(input.columns.size());
  return [progress = input.progress, name = input.columns[column].name, n = static_cast<double>(column),
          count](const ProgressReport& report) {
    progress({report.fraction < 0 ? -1 : (n + report.fraction) / count,
              count > 1 ? name + ": " + report.what : report.what});
  };
}

std::string short_number(double value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "–" : value > 0 ? "∞" : "−∞";
  }
  const double size = std::abs(value);
  const std::string sign = value < 0 ? "−" : "";
  if (size > 0 && size < 0.001) {
    return sign + general_text(size, 1);
  }
  if (size >= 1000) {
    return sign + (size < 1e6 ? fixed_text(size, 0) : general_text(size, 3));
  }
  return sign + fixed_text(size, size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

void Extent::add(double value) {
  if (std::isfinite(value)) {
    const bool first = empty();
    low_ = first ? value : std::min(low_, value);
    high_ = first ? value : std::max(high_, value);
  }
}

void Extent::add(const std::vector<double>& values) {
  for (const double value : values) {
    add(value);
  }
}

figure::Interval Extent::padded(double share) const {
  if (empty()) {
    return {0, 1};
  }
  const double margin = high_ > low_ ? share * (high_ - low_) : std::max(std::abs(high_) * share, 1e-9);
  return {low_ - margin, high_ + margin};
}

figure::Interval Extent::from_zero(double share) const {
  return {0, empty() || high_ <= 0 ? 1 : high_ * (1 + share)};
}

figure::Bars grouped_bars(std::string name, const std::vector<double>& heights, std::size_t index, std::size_t count) {
  figure::Bars bars;
  bars.name = std::move(name);
  const double width = kGroupWidth / static_cast<double>(std::max<std::size_t>(count, 1));
  for (std::size_t cell = 0; cell < heights.size(); ++cell) {
    const double left = bar_left(cell, index, count);
    if (cell > 0) {
      bars.heights.push_back(0);  // the gap since the last one
    }
    bars.edges.push_back(left);
    bars.edges.push_back(left + width);
    bars.heights.push_back(heights[cell]);
  }
  return bars;
}

double bar_middle(std::size_t cell, std::size_t index, std::size_t count) {
  return bar_left(cell, index, count) + kGroupWidth / static_cast<double>(std::max<std::size_t>(count, 1)) / 2;
}

Status needs_text_alone(const Column& column, const std::string& title) {
  return column.trace->images().empty()
             ? Status()
             : unsupported(title + " runs parts of a text again, which cannot hold pictures; " + column.name +
                           " read a text with pictures in it");
}

Status needs_transforms(const Column& column, const std::string& title) {
  return column.trace->model().transforms()
             ? Status()
             : unsupported(title + ": " + column.name + " changes no keys on their way, as PaTH does");
}

Status needs_causal_text(const Column& column, const std::string& title) {
  LOCUS_CHECK(needs_model(column, title));
  LOCUS_CHECK(needs_text_alone(column, title));
  return column.trace->model().causal
             ? Status()
             : unsupported(title + " scores the next token; " + column.name + " sees both ways");
}

Status needs_model(const Column& column, const std::string& title) {
  if (!column.model) {
    return unsupported(title + " runs the model again; " + column.name + " is a trace without one");
  }
  if (column.model->info().encoder_layers > 0) {
    return unsupported(title + " runs the model again on one text; " + column.name + " is an encoder-decoder");
  }
  return {};
}

figure::Curve curve_through(std::string name, std::vector<double> x, std::vector<double> y) {
  figure::Curve curve;
  curve.name = std::move(name);
  curve.x = std::move(x);
  curve.y = std::move(y);
  return curve;
}

std::string place_text(const figure::Axis& axis, double at) {
  const auto cell = static_cast<std::ptrdiff_t>(std::floor(at));
  if (axis.cell_names == nullptr || cell < 0 || cell >= static_cast<std::ptrdiff_t>(axis.cell_names->size())) {
    const double size = std::abs(at);
    const bool whole = at == std::round(at) && size < 1e6;
    return whole ? (at < 0 ? "−" : "") + fixed_text(size, 0) : short_number(at);
  }
  return axis.label + (axis.label.empty() ? "" : " ") + (*axis.cell_names)[static_cast<std::size_t>(cell)];
}

void tell_apart(std::size_t number, figure::Curve& curve) {
  constexpr std::array<float, 4> kDashes{0, 1, 0.4F, 2.5F};  // 0: none
  const float dash = kDashes[number / std::tuple_size_v<decltype(figure::Style::palette)> % kDashes.size()];
  if (dash > 0) {
    curve.dashed = true;
    curve.dash = dash;
  }
}

void add_curve(figure::Curve curve, Extent& x, Extent& y, figure::Panel& panel) {
  x.add(curve.x);
  y.add(curve.y);
  panel.layers.emplace_back(std::move(curve));
}

std::vector<double> running_means(const std::vector<double>& values, std::size_t count) {
  std::vector<double> means;
  double sum = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    sum += values[n] - (n >= count ? values[n - count] : 0);
    means.push_back(sum / static_cast<double>(std::min(n + 1, count)));
  }
  return means;
}

std::shared_ptr<Field> strip_of(const std::vector<double>& values, bool down) {
  const auto count = static_cast<std::int64_t>(values.size());
  auto field = std::make_shared<Field>(down ? Field::zeros(count, 1) : Field::zeros(1, count));
  std::transform(values.begin(), values.end(), field->values.begin(),
                 [](double value) { return static_cast<float>(value); });
  return field;
}

std::vector<double> counted(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

Data table_of(std::vector<Series> series, const std::string& counted_name) {
  std::size_t rows = 0;
  for (const Series& each : series) {
    rows = std::max(rows, each.values.size());
  }
  if (!counted_name.empty()) {
    series.insert(series.begin(), {counted_name, counted(rows)});
  }
  Data data;
  for (const Series& each : series) {
    data.columns.push_back(each.name);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (const Series& each : series) {
      data.values.push_back(row < each.values.size() ? static_cast<float>(each.values[row])
                                                     : std::numeric_limits<float>::quiet_NaN());
    }
  }
  data.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(series.size())};
  return data;
}

}  // namespace locus::views
