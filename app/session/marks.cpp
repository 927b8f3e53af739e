#include "app/session/marks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/series.h"

namespace locus::session {

namespace {

constexpr std::uint32_t kMeasureColor = 0xFF9D2EFF;
constexpr std::uint32_t kRowColor = 0x808080FF;

template <class List>
void drop_oldest(List& list, std::size_t most) {
  list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(std::min(list.size(), most)));
}

double middle_of(const FieldAxis& axis, std::int64_t cell) {
  return axis.first + axis.step * (static_cast<double>(cell) + 0.5);
}

void add_measure(const Measure& measure, figure::Panel& panel) {
  const figure::HeatMap* map = views::map_of(panel);
  const auto from = map == nullptr ? std::nullopt : views::cell_at(*map->field, measure.from.x, measure.from.y);
  const auto to = map == nullptr ? std::nullopt : views::cell_at(*map->field, measure.to.x, measure.to.y);
  if (!from || !to || *from == *to) {
    return;
  }
  const Field& field = views::numbers_of(*map);
  figure::Curve line =
      views::curve_through(views::measure_text(field, *from, *to),
                           {middle_of(field.column_axis, from->column), middle_of(field.column_axis, to->column)},
                           {middle_of(field.row_axis, from->row), middle_of(field.row_axis, to->row)});
  line.color = kMeasureColor;
  panel.layers.emplace_back(std::move(line));
}

// The rows of the marked cells of one map; empty: it has none of them.
std::optional<figure::Panel> rows_below(const figure::Panel& map_panel, const std::vector<MarkedCell>& cells) {
  const figure::HeatMap* map = views::map_of(map_panel);
  if (map == nullptr) {
    return std::nullopt;
  }
  figure::Panel panel;
  panel.title = map_panel.title;
  panel.names = map_panel.names;
  panel.follows_camera = false;
  panel.x = map_panel.x;
  panel.y.label = map->field->quantity;
  views::Extent extent;
  extent.add(0);
  for (const MarkedCell& marked : cells) {
    const auto cell = views::cell_at(*map->field, marked.x, marked.y);
    if (!cell) {
      continue;
    }
    views::Profile row = views::row_profile(*map->field, cell->row);
    extent.add(row.values);
    panel.layers.emplace_back(views::curve_through(views::cell_text(map->field->row_axis, cell->row), std::move(row.at),
                                                   std::move(row.values)));
  }
  panel.y.view = extent.padded();
  return panel.layers.empty() ? std::nullopt : std::optional(std::move(panel));
}

void add_row_line(const MarkedCell& marked, figure::Panel& panel) {
  const figure::HeatMap* map = views::map_of(panel);
  const auto cell = map == nullptr ? std::nullopt : views::cell_at(*map->field, marked.x, marked.y);
  if (cell) {
    figure::Marker line = views::horizontal_line(middle_of(map->field->row_axis, cell->row));
    line.color = kRowColor;
    panel.layers.emplace_back(std::move(line));
  }
}

}  // namespace

Marks with_profile(Marks marks, const MarkedCell& cell) {
  if (std::erase(marks.profiles, cell) == 0) {
    marks.profiles.push_back(cell);
    drop_oldest(marks.profiles, kMaxProfiles);
  }
  return marks;
}

Marks with_measure(Marks marks, const Measure& measure) {
  marks.measures.push_back(measure);
  drop_oldest(marks.measures, kMaxMeasures);
  return marks;
}

figure::Figure with_marks(figure::Figure figure, const Marks& marks) {
  std::vector<figure::Panel> below;
  for (const figure::Panel& panel : figure.panels) {
    if (auto rows = rows_below(panel, marks.profiles)) {
      below.push_back(*std::move(rows));
    }
  }
  for (std::size_t n = 0; n < figure.panels.size(); ++n) {
    for (const MarkedCell& cell : marks.profiles) {
      add_row_line(cell, figure.panels[n]);
    }
    for (const Measure& measure : marks.measures) {
      if (measure.panel == n) {
        add_measure(measure, figure.panels[n]);
      }
    }
  }
  for (figure::Panel& panel : below) {
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace locus::session
