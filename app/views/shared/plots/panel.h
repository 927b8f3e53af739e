// Pieces of panels that views share: axes of cells, lines, notes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

// Names of the cells of an axis.
using Names = std::shared_ptr<const std::vector<std::string>>;
Names shared_names(std::vector<std::string> names);
// `n` names "0", "1", …
Names counted_names(std::int64_t n);

// Names of the tokens on an axis: those of the queries, those of the keys.
std::vector<std::string> token_labels(const models::Trace& trace);
std::vector<std::string> key_labels(const models::Trace& trace);

// "1.3": layer and head.
std::string head_name(std::int64_t layer, std::int64_t head);
// The name of head n of a list of all, layer by layer.
std::string head_name_at(std::size_t n, std::int64_t heads);

// Cell n of an axis: [n, n+1).
figure::Interval cell_interval(std::int64_t n);
// The axis of `n` cells, from the left to the right or from the top to the bottom; without names they are counted.
figure::Axis cells_across(std::string label, std::int64_t n, Names names = nullptr);
figure::Axis cells_down(std::string label, std::int64_t n, Names names = nullptr);

// Shows what the camera sees; everything where there is none.
void see_through(const std::optional<Camera>& camera, figure::Panel& panel);

// The cell under a point of a panel of such axes; empty outside.
struct CellIndex {
  std::int64_t row = 0;
  std::int64_t column = 0;
};
std::optional<CellIndex> cell_at(const Hit& hit, std::int64_t rows, std::int64_t columns);

// The panel as a column's: its name, and what follows it in the title.
void name_after(const Column& column, figure::Panel& panel, const std::string& rest = {});

// Strikes the head through in the panel's title where an edit of the column silences it.
void strike_silent(const Column& column, const HeadRef& head, figure::Panel& panel);

// A figure's statement: the line of each column, by its name where there are several, "; " between them.
std::string about_columns(const ViewInput& input, const std::function<std::string(std::size_t column)>& line);

// A line across a panel of curves, in the colour of the foreground.
figure::Marker vertical_line(double at, std::string label = {});
figure::Marker horizontal_line(double at, std::string label = {});

// Both notes, "; " between them where neither is empty.
std::string joined_notes(const std::string& note, const std::string& more);

figure::Figure figure_of(figure::Panel panel);
// A figure whose panels stand in so many columns; they are to come.
figure::Figure figure_across(std::size_t columns);

}  // namespace locus::views
