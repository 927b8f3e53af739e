#include "app/views/shared/plots/flat_columns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/plots/series.h"

namespace locus::views {

namespace {

constexpr double kFlat = 0.1;  // of the range; and a range of its own would tell at least twice as much apart

// The panels of one column under one range, and what their colours take of it: t of normalised().
struct ColouredColumn {
  std::string name;
  figure::ColorScale scale;
  std::size_t first = 0;  // panel
  float low = 1;
  float high = 0;

  void add(std::span<const float> values) {
    for (const float value : values) {
      if (const float t = figure::normalised(scale, value); std::isfinite(t)) {
        low = std::min(low, t);
        high = std::max(high, t);
      }
    }
  }
  double share() const { return static_cast<double>(high - low); }
};

const figure::ColorScale* coloured_by(const figure::Panel& panel, std::span<const float>& values) {
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* map = std::get_if<figure::HeatMap>(&layer); map != nullptr && map->field) {
      values = map->field->values;
      return &map->scale;
    }
    if (const auto* strip = std::get_if<figure::TokenStrip>(&layer)) {
      values = strip->values;
      return &strip->scale;
    }
  }
  return nullptr;
}

}  // namespace

void note_flat_columns(const ViewInput& input, figure::Figure& figure) {
  if (!input.scale.shared || input.columns.size() < 2) {
    return;
  }
  std::vector<ColouredColumn> columns;
  for (std::size_t n = 0; n < figure.panels.size(); ++n) {
    std::span<const float> values;
    const figure::ColorScale* const scale = coloured_by(figure.panels[n], values);
    if (scale == nullptr) {
      continue;
    }
    const std::vector<std::string>& names = figure.panels[n].names;
    const std::string name = names.size() == 1 ? names.front() : "panel " + std::to_string(n);
    auto column = std::ranges::find_if(
        columns, [&](const ColouredColumn& each) { return each.name == name && each.scale == *scale; });
    if (column == columns.end()) {
      columns.push_back({name, *scale, n});
      column = columns.end() - 1;
    }
    column->add(values);
  }
  for (const ColouredColumn& column : columns) {
    ColouredColumn all = column;  // of its range
    for (const ColouredColumn& each : columns) {
      if (each.scale == column.scale) {
        all.low = std::min(all.low, each.low);
        all.high = std::max(all.high, each.high);
      }
    }
    if (column.low <= column.high && column.share() < std::min(kFlat, all.share() / 2)) {
      std::string& note = figure.panels[column.first].note;
      note = joined_notes(note, "values take " + short_number(100 * column.share()) + " % of the shared colour range");
    }
  }
}

}  // namespace locus::views
