// Patch grids: what the views of images share. Token p of an image run is: class tokens, registers, then the patches
// row by row; patch (r, c) covers [c, c+1) × [r, r+1) of the panel's axes, row 0 on top.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/views/view.h"

namespace locus::views {

// Tokens in front of the patches.
std::int64_t prefix_of(const models::ImageGrid& grid);

// The input's query in a column; the class token where none is chosen, the middle patch where there is none either.
std::int64_t patch_query(const ViewInput& input, const Column& column);

// "CLS", "register 1", "patch 3, 5" (row, column).
std::string patch_label(const models::ImageGrid& grid, std::int64_t token);

// (rows, columns) from one value per token, (1, T).
Field patches_of(const Field& row, const models::ImageGrid& grid);

// The token of the patch under a point of a patch panel.
std::optional<std::int64_t> patch_at(const models::ImageGrid& grid, const Hit& hit);
// Where a patch is; nothing for tokens that are no patches.
struct PatchPlace {
  figure::Interval x;
  figure::Interval y;
};
std::optional<PatchPlace> patch_place(const models::ImageGrid& grid, std::int64_t token);

// A panel of the grid: the trace's picture, if it has one, below the field.
figure::Panel patch_panel(const models::Trace& trace, FieldPointer patches, const figure::ColorScale& scale,
                          double opacity);
// A frame around the patch.
void mark_patch(const models::ImageGrid& grid, std::int64_t token, figure::Panel& panel);

}  // namespace locus::views
