// Parts of the views of rotary pairs: bands as they are typed, axes of pairs, wavelengths beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/view.h"
#include "models/api/pairs.h"

namespace locus::views {

// The option `band` of these views: pairs that are framed wherever they are shown.
Control band_control();
// The pairs that an option holds: "3:7" are the pairs 3 to 6, "3" is pair 3; the rest is pair M. Empty: none. Errors:
// kUsage naming the option.
Result<std::optional<Range>> band_of(const ViewInput& input, const std::string& option = "band");

// kUsage unless the input has one layer and one head.
Status needs_one_head(const ViewInput& input);

// "0 · 6.3", "h12 · 3200", "rest": the pair and its wavelength.
Names pair_names(const analysis::PairList& list);
// The thing that spans its longest distance: text, image, picture.
std::string spanned(const analysis::PairList& list);
// "pair · wavelength (tokens)".
std::string pair_label(const analysis::PairList& list);
// The unit of its distances: tokens, patches, cells.
std::string units(const analysis::PairList& list);
// (pairs, n) values as a map with pair 0 on top, of means where the screen is coarser; the panel has no x.
figure::Panel pair_map(const analysis::PairList& list, FieldPointer parts, const figure::ColorScale& scale);

// (pairs, n) parts in at most 2,048 groups of distances, means over the cells that `count` has of each distance.
FieldPointer parts_on_screen(const Field& parts, const std::vector<double>& count);

// The wavelength of every pair over the axis of pairs, 0 on the left, as a curve on a logarithmic axis.
figure::Curve wavelength_curve(const analysis::PairList& list, std::string name);
// The panel of such curves over `rows` pairs: the lines of the text's length, or the side of the image or picture, and
// of the trained length (0: unknown) across it.
figure::Panel wavelength_panel(const analysis::PairList& list, std::int64_t rows, std::int64_t trained_length);

// Where the pairs' waves become longer than `length`, between two pairs of an axis of pairs; empty where none is or all
// are.
std::optional<double> crossing(const analysis::PairList& list, double length);

// Frames around a band, along x or along y, on a panel of pairs whose other axis is as it is shown.
void frame_band(const std::optional<Range>& band, std::int64_t rows, bool along_x, figure::Panel& panel);

// Choosing row `row` of `rows`: the band that is this pair. Empty outside.
Selection pick_pair(double row, std::int64_t rows, std::size_t column);
// The band from one picked pair to another; empty unless both picked one.
Selection pick_band(const Selection& from, const Selection& to);

// A text's length or an image's side, in its unit: "57 tokens".
std::string span_text(const analysis::PairList& list);

// The size of lists and numbers of pairs, in bytes.
std::size_t pair_bytes(const analysis::PairList& list);

}  // namespace locus::views
