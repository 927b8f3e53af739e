// Row and column of a cell as curves, and cells under the pointer: what profiles, the lens and measures read of a map.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "renderers/figure/figure.h"

namespace locus::views {

// A cell of a panel's map, counted as the map's axes count it.
struct MapCell {
  std::int64_t row = 0;  // of the field
  std::int64_t column = 0;

  friend bool operator==(const MapCell&, const MapCell&) = default;
};

// "query 12", "key 0 to 15": a cell of an axis.
std::string cell_text(const FieldAxis& axis, std::int64_t cell);

// The first map of a panel; null: none.
const figure::HeatMap* map_of(const figure::Panel& panel);
// The numbers of its cells, of which its colours may show shares.
inline const Field& numbers_of(const figure::HeatMap& map) {
  return map.numbers ? *map.numbers : *map.field;
}
// The cell at these data units; empty: beside the map.
std::optional<MapCell> cell_at(const Field& field, double x, double y);

// A line through a map: where each cell's middle is, in data units, and its value; cells without one are left out.
struct Profile {
  std::vector<double> at;
  std::vector<double> values;
};
Profile row_profile(const Field& field, std::int64_t row);
Profile column_profile(const Field& field, std::int64_t column);

// The largest value of all, at least a little above 0, and the smallest, at most 0: what the curves are drawn between.
figure::Interval range_of(const std::vector<Profile>& profiles);

// The cells around one: `side` × `side` of them, moved so that they lie within the map.
struct CellBlock {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
CellBlock block_around(const Field& field, const MapCell& cell, std::int64_t side);

// The text of a measure between two cells: "Δ query 5, Δ key −3; distance 2 and 10; 0.82 / 0.41 = 2.00".
std::string measure_text(const Field& field, const MapCell& from, const MapCell& to);

}  // namespace locus::views
