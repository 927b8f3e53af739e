// Relative bias of image patches: a learned number for every offset of rows and columns and every head. BEiT's is of all
// patches and a class token, Swin's of the patches of a window.
#pragma once

#include <memory>

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct RelativeGridOptions : TableOptions<RelativeGridOptions> {
  std::int64_t grid_rows = 0;     // R and C, the patch grid the tables were trained on; 0: as square as the trained
  std::int64_t grid_columns = 0;  // length, which then counts a class token
  bool per_layer = true;          // every layer has a table of its own,
  bool shared = false;            // all layers have one; with both, their sum counts
  bool windows = false;           // R and C are those of a window, whose patches alone see each other

  static const OptionTable<RelativeGridOptions> kTable;
  Status check() const;
};

// logit_ij = q_i·k_j/√D + b_h[Δrow, Δcolumn] between patches. Tokens without position (the class token) have three
// numbers of their own: as a query, as a key, as both. On another grid of R' × C' patches the table is the image
// (2R−1, 2C−1) enlarged to (2R'−1, 2C'−1), bilinear with sample centres at half steps. With `windows` the offsets of every
// grid are those of the table, without a class token; one beyond the table, which no window holds, counts as the largest.
class RelativeGrid final : public WithOptions<RelativeGrid, RelativeGridOptions>, public AddsToContent {
 public:
  static const Description& about();
  static Status settle(RelativeGridOptions& options, const ModelShape& shape);

  // The biases start Gaussian with standard deviation 0.02.
  RelativeGrid(const ModelShape& shape, const RelativeGridOptions& options);

  std::vector<Parameter> parameters() override { return parameters_of({&own_, &shared_}); }
  Status accepts(const Positions& positions) const override;
  bool is_dot_product() const override { return false; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  // (…, h) of these heads: the rows of a grid of rows × columns patches.
  at::Tensor table(std::int64_t layer, Range heads, std::int64_t rows, std::int64_t columns) const;

  LayerParameter own_, shared_;  // ((2R−1)·(2C−1) + 3, H), without the last 3 rows with `windows`
};

}  // namespace locus::position
