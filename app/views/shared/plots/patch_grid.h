// Patch grids: what the views of images share. Token p of an image run is: class tokens, registers, then the patches
// row by row; patch (r, c) covers [c, c+1) × [r, r+1) of the panel's axes, row 0 on top.
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

// "CLS", "register 1", "patch 3, 5" (row, column).
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

// A panel of the grid: the picture, if there is one, below the field.
figure::Panel patch_panel(const models::Picture& picture, FieldPointer patches, const figure::ColorScale& scale,
                          double opacity);
// A frame around the patch.
void mark_patch(const models::ImageSpan& cells, std::int64_t token, figure::Panel& panel);

}  // namespace locus::views
