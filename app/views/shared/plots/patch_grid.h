// Patch grids: what the views of images share. Token p of an image run is: class tokens, registers, then the patches
// row by row, then detection tokens; patch (r, c) covers [c, c+1) × [r, r+1) of the panel's axes, row 0 on top.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

// Tokens in front of the patches.
std::int64_t prefix_of(const models::ImageGrid& grid);

// A grid of cells that a picture is shown by: the patches of an image run, or the cells of a picture within a text.
struct PatchArea {
  models::ImageSpan cells;
  std::string name;  // "image 2"; empty where there is but one
  models::Picture picture;
};
// One of an image run; one for each picture of a text whose cells are a grid.
std::vector<PatchArea> patch_areas(const models::Trace& trace);

// The input's query in a column; of an image run where none is chosen the class token, the middle patch where there is
// none either; of a text its last token.
std::int64_t patch_query(const ViewInput& input, const Column& column);

// "CLS", "register 1", "patch 3, 5" (row, column), "detection token 0".
std::string patch_label(const models::ImageGrid& grid, std::int64_t token);
// The same of an image run; of a text the token's label.
std::string query_label(const models::Trace& trace, std::int64_t token);

// The patches of an image run.
models::ImageSpan cells_of(const models::ImageGrid& grid);

// (rows, columns) from one value per token, (1, T).
Field patches_of(const Field& row, const models::ImageSpan& cells);

// The token of the patch under a point of a patch panel.
std::optional<std::int64_t> patch_at(const models::ImageSpan& cells, const Hit& hit);
// Where a patch is; nothing for tokens that are no patches.
struct PatchPlace {
  figure::Interval x;
  figure::Interval y;
};
std::optional<PatchPlace> patch_place(const models::ImageSpan& cells, std::int64_t token);

// Lines over a picture, in patches; NaN lies between two of them.
struct PictureLines {
  std::vector<double> x;
  std::vector<double> y;
};
// The fewest patches that have this share of the weight on all of them, and those that tie with the last of these: a
// flag for each patch, row by row. None where there is no weight.
std::vector<bool> most_of_weight(const Field& patches, double share);
inline std::vector<bool> half_of_weight(const Field& patches) {
  return most_of_weight(patches, 0.5);
}
// Flagged patches that hang together by their sides.
struct PatchBlob {
  std::int64_t top = 0;  // its box, in patches
  std::int64_t left = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t patches = 0;
  double share = 0;  // of the weight on all patches
};
// The one with the most weight, of equal ones the first row by row; empty where no patch is flagged.
std::optional<PatchBlob> largest_blob(const Field& patches, const std::vector<bool>& inside);
// The outlines of the flagged cells of a grid of so many columns: closed loops.
PictureLines outline_of(const std::vector<bool>& inside, std::int64_t columns);

// The picture in its own colours, the patch of the scale's high end as it is and that of its low end darkened by
// `darkness`, 0 to 1. Patches without a value have as much of the scale's colour of masks.
models::Picture darkened(const models::Picture& picture, const Field& patches, const figure::ColorScale& scale,
                         double darkness);
bool is_seen(const models::Picture& picture);

// A panel of the grid: the picture, if there is one, below the field.
figure::Panel patch_panel(const models::Picture& picture, FieldPointer patches, const figure::ColorScale& scale,
                          double opacity);
// The same with the picture darkened() instead of painted over; the field gives numbers and the colour bar alone.
figure::Panel darkened_panel(const models::Picture& picture, FieldPointer patches, figure::ColorScale scale,
                             double darkness);
// The picture as it is.
figure::Panel picture_panel(const models::Picture& picture, const models::ImageSpan& cells);
// Lines that are seen on any colour of a picture; thin ones for what is second to others.
void add_lines(const PictureLines& lines, figure::Panel& panel, bool thin = false);
// Room above the picture with the word in it, and an arrow from there to the middle of a patch; without a patch the room
// and nothing in it.
void add_arrow(const std::string& word, const std::string& said, const models::ImageSpan& cells,
               std::optional<std::int64_t> patch, figure::Panel& panel);
// A frame around the patch.
void mark_patch(const models::ImageSpan& cells, std::int64_t token, figure::Panel& panel);

}  // namespace locus::views
