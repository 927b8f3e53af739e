// The instruments: one function for each, in the order of Tab. To add one: its source in this folder, its function
// here, and a line in instruments.cpp.
#pragma once

#include <memory>
#include <vector>

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

// The statement at the upper left of the canvas: one sentence about the figure; a click copies it.
std::unique_ptr<Instrument> make_statement_line();
// The colour bar: dragging its ends sets the range, the wheel gamma or percentile, a double click takes the range from
// the data, the right button opens the colour maps. A histogram of the shown values stands behind it.
std::unique_ptr<Instrument> make_color_bar();
// The legend of a plot: a click on an entry hides or shows its series.
std::unique_ptr<Instrument> make_legend();
// The axes of plots: the wheel zooms along one axis, a drag chooses a range, a click switches to a logarithmic scale
// (or says why that is impossible), a double click shows the whole axis.
std::unique_ptr<Instrument> make_plot_axes();
// The head navigator: one square for each head, coloured by a measurement of it; a click or the arrow keys choose a
// head.
std::unique_ptr<Instrument> make_head_navigator();
// The range brush: sliders in a corner of a plot for the numbers a curve or histogram is computed from. Only their
// values are shown until the pointer or the keyboard is on them.
std::unique_ptr<Instrument> make_range_brush();
// The minimap: the whole map while the canvas is zoomed; the visible part is a rectangle that can be dragged.
std::unique_ptr<Instrument> make_minimap();
// Profiles (P): row and column of the cell under the pointer, of the pinned one and of kept ones (Shift+P), as curves
// above each map and to its right, all columns overlaid. Maps leave room for them.
std::unique_ptr<Instrument> make_profiles();
// The series reader: a line over curves and histograms, at the pointer or moved by keys, with the value of every
// series.
std::unique_ptr<Instrument> make_series_reader();
// Measures (M, or a drag with Alt): see MeasureLines.
std::unique_ptr<Instrument> make_measure();
// The token lens (L): a magnifier at the pointer for large maps, 15 × 15 cells with the tokens of both axes.
std::unique_ptr<Instrument> make_token_lens();
// The wipe (W): see WipeLine.
std::unique_ptr<Instrument> make_wipe_line();
// Frame times (F12): see Hud.
std::unique_ptr<Instrument> make_hud();

// One of each.
std::vector<std::unique_ptr<Instrument>> make_instruments();

}  // namespace locus::workbench
