#include "app/views/shared/plots/map_lines.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

// The token at which a cell of this axis begins.
std::int64_t token_at(const FieldAxis& axis, std::int64_t cell) {
  return static_cast<std::int64_t>(std::llround(axis.first + axis.step * static_cast<double>(cell)));
}

// The cells of an axis with their finite values.
template <class Value>
Profile profile(const FieldAxis& axis, std::int64_t cells, const Value& value_at) {
  Profile line;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const float value = value_at(cell);
    if (std::isfinite(value)) {
      line.at.push_back(axis.first + axis.step * (static_cast<double>(cell) + 0.5));
      line.values.push_back(static_cast<double>(value));
    }
  }
  return line;
}

std::string signed_text(std::int64_t number) {
  return number < 0 ? "−" + std::to_string(-number) : std::to_string(number);
}

}  // namespace

std::string cell_text(const FieldAxis& axis, std::int64_t cell) {
  const double from = axis.first + axis.step * static_cast<double>(cell);
  const auto begin = static_cast<std::int64_t>(std::floor(from));
  const auto last = static_cast<std::int64_t>(std::ceil(from + axis.step)) - 1;
  const std::string name = axis.name.empty() ? std::string() : axis.name + " ";
  return name + std::to_string(begin) + (last > begin ? " to " + std::to_string(last) : "");
}

const figure::HeatMap* map_of(const figure::Panel& panel) {
  for (const figure::Layer& layer : panel.layers) {
    const auto* map = std::get_if<figure::HeatMap>(&layer);
    if (map != nullptr && map->field) {
      return map;
    }
  }
  return nullptr;
}

std::optional<MapCell> cell_at(const Field& field, double x, double y) {
  const auto row = static_cast<std::int64_t>(std::floor((y - field.row_axis.first) / field.row_axis.step));
  const auto column = static_cast<std::int64_t>(std::floor((x - field.column_axis.first) / field.column_axis.step));
  return row >= 0 && row < field.rows && column >= 0 && column < field.columns ? std::optional(MapCell{row, column})
                                                                               : std::nullopt;
}

Profile row_profile(const Field& field, std::int64_t row) {
  return profile(field.column_axis, field.columns, [&](std::int64_t column) { return field.at(row, column); });
}

Profile column_profile(const Field& field, std::int64_t column) {
  return profile(field.row_axis, field.rows, [&](std::int64_t row) { return field.at(row, column); });
}

figure::Interval range_of(const std::vector<Profile>& profiles) {
  figure::Interval range{0, 0};
  for (const Profile& profile : profiles) {
    for (const double value : profile.values) {
      range = {std::min(range.low, value), std::max(range.high, value)};
    }
  }
  return range.high > range.low ? range : figure::Interval{0, 1};
}

CellBlock block_around(const Field& field, const MapCell& cell, std::int64_t side) {
  const auto begin = [side](std::int64_t at, std::int64_t count) {
    return std::clamp<std::int64_t>(at - side / 2, 0, std::max<std::int64_t>(0, count - side));
  };
  CellBlock block;
  block.row = begin(cell.row, field.rows);
  block.column = begin(cell.column, field.columns);
  block.rows = std::min(side, field.rows - block.row);
  block.columns = std::min(side, field.columns - block.column);
  return block;
}

namespace {

// To three digits however small it is: the ratio that stands beside two numbers follows from them.
std::string digits_text(double value) {
  const bool small = value != 0 && std::abs(value) < 1;
  return small ? (value < 0 ? "−" : "") + general_text(std::abs(value), 3) : short_number(value);
}

}  // namespace

std::string measure_text(const Field& field, const MapCell& from, const MapCell& to) {
  const std::int64_t query_from = token_at(field.row_axis, from.row);
  const std::int64_t query_to = token_at(field.row_axis, to.row);
  const std::int64_t key_from = token_at(field.column_axis, from.column);
  const std::int64_t key_to = token_at(field.column_axis, to.column);
  std::string text = "Δ " + (field.row_axis.name.empty() ? "row" : field.row_axis.name) + " " +
                     signed_text(query_to - query_from) + ", Δ " +
                     (field.column_axis.name.empty() ? "column" : field.column_axis.name) + " " +
                     signed_text(key_to - key_from) + "; distance " + signed_text(query_from - key_from) + " and " +
                     signed_text(query_to - key_to);
  const float first = field.at(from.row, from.column);
  const float second = field.at(to.row, to.column);
  if (std::isfinite(first) && std::isfinite(second)) {
    text += "; " + digits_text(static_cast<double>(first)) + " and " + digits_text(static_cast<double>(second));
    if (first != 0) {
      text += ", ratio " + views::short_number(static_cast<double>(second) / static_cast<double>(first));
    }
  }
  return text;
}

}  // namespace locus::views
