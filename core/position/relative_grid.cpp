#include "core/position/relative_grid.h"

#include <cmath>
#include <string>

#include "core/position/list.h"
#include "core/position/rope_axial.h"

namespace locus::position {

namespace {

constexpr std::int64_t kOfClass = 3;  // class to patch, patch to class, class to class
constexpr double kGridDeviation = 0.02;

std::int64_t offsets(std::int64_t rows, std::int64_t columns) {
  return (2 * rows - 1) * (2 * columns - 1);
}

std::int64_t table_rows(const RelativeGridOptions& options) {
  return offsets(options.grid_rows, options.grid_columns) + (options.windows ? 0 : kOfClass);
}

}  // namespace

const OptionTable<RelativeGridOptions> RelativeGridOptions::kTable{
    {"grid_rows", &RelativeGridOptions::grid_rows,
     "R, rows of the trained patch grid; 0: the trained length, as a square"},
    {"grid_columns", &RelativeGridOptions::grid_columns, "C, its columns"},
    {"per_layer", &RelativeGridOptions::per_layer, "every layer has its own: layers.N.relative_position_bias_table"},
    {"shared", &RelativeGridOptions::shared, "all layers have one; with per_layer both are added"},
    {"windows", &RelativeGridOptions::windows, "R × C is a window of the grid: b has no numbers of a class token"},
};

Status RelativeGridOptions::check() const {
  constexpr std::int64_t kMaxSide = 16384;
  if (grid_rows < 0 || grid_rows > kMaxSide || grid_columns < 0 || grid_columns > kMaxSide ||
      (grid_rows == 0) != (grid_columns == 0)) {
    return bad_input("options grid_rows and grid_columns: expected both from 1 to " + std::to_string(kMaxSide) +
                     ", found " + std::to_string(grid_rows) + " × " + std::to_string(grid_columns));
  }
  if (!per_layer && !shared) {
    return bad_input("options per_layer and shared: expected at least one, found neither");
  }
  return {};
}

const Description& RelativeGrid::about() {
  static const Description description{
      .name = "relative-grid",
      .title = "Relative bias of patches",
      .paper = "Bao et al. 2021 (BEiT), arXiv:2106.08254",
      .equation = "q_i·k_j/√D + b_h[Δrow, Δcolumn]",
      .content = "q·k/√D",
      .parameters =
          {{"relative_position_bias_table", "((2R − 1)·(2C − 1) + 3, H)",
            "b, one number an offset and head; the last three, which windows have not: class to patch, patch to class, "
            "class to class"}},
      .options = RelativeGridOptions::kTable.described(),
      .scores = true,
      .no_distance = "patches stand in rows and columns",
  };
  return description;
}

Status RelativeGrid::settle(RelativeGridOptions& options, const ModelShape& shape) {
  if (options.grid_rows == 0) {
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(shape.trained_length)));
    if (side < 1) {
      return bad_input("options grid_rows and grid_columns: expected at least 1, found 0 and no trained length");
    }
    options.grid_rows = options.grid_columns = side;
  }
  LOCUS_CHECK(check_table("grid_rows", table_rows(options), shape.heads));
  return {};
}

RelativeGrid::RelativeGrid(const ModelShape& shape, const RelativeGridOptions& options) : WithOptions(shape, options) {
  const std::vector<std::int64_t> sizes{table_rows(options), shape.heads};
  const auto fresh = [&] { return at::randn(sizes) * kGridDeviation; };
  constexpr const char* kName = "relative_position_bias_table";
  own_ = options.per_layer ? LayerParameter(kName, shape.layers, true, sizes, fresh) : LayerParameter();
  shared_ = options.shared ? LayerParameter(kName, shape.layers, false, sizes, fresh) : LayerParameter();
}

Status RelativeGrid::accepts(const Positions& positions) const {
  LOCUS_CHECK(accepts_grid(positions, about().name));
  if (positions.size() <= positions.prefix) {
    return bad_input("encoding relative-grid: expected at least one patch, found none");
  }
  if (options_.windows && positions.prefix > 0) {
    return bad_input("encoding relative-grid: expected no tokens before the patches of windows, found " +
                     std::to_string(positions.prefix));
  }
  return {};
}

at::Tensor RelativeGrid::table(std::int64_t layer, Range heads, std::int64_t rows, std::int64_t columns) const {
  at::Tensor table = own_.empty() ? shared_.of(layer) : own_.of(layer);
  if (!own_.empty() && !shared_.empty()) {
    table = table + shared_.of(layer);
  }
  table = table.slice(1, heads.begin, heads.end);
  if (rows == options_.grid_rows && columns == options_.grid_columns) {
    return table;
  }
  const std::int64_t trained = offsets(options_.grid_rows, options_.grid_columns);
  const at::Tensor image =
      table.slice(0, 0, trained).t().reshape({1, -1, 2 * options_.grid_rows - 1, 2 * options_.grid_columns - 1});
  const at::Tensor resampled = at::upsample_bilinear2d(image, {2 * rows - 1, 2 * columns - 1}, false);
  return at::cat({resampled.flatten(2).squeeze(0).t(), table.slice(0, trained)});
}

TileScores RelativeGrid::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                               const at::Tensor& /*carry*/) const {
  const Positions& positions = prepared.positions;
  std::int64_t rows = options_.grid_rows;
  std::int64_t columns = options_.grid_columns;
  if (!options_.windows) {
    const at::Tensor patches = positions.ids.slice(0, positions.prefix);
    const at::Tensor extent = (std::get<0>(patches.max(0)) - std::get<0>(patches.min(0)) + 1).to(at::kLong);
    rows = extent[0].item<std::int64_t>();
    columns = extent[1].item<std::int64_t>();
  }
  const auto ids = [&](Range tokens) { return positions.ids.slice(0, tokens.begin, tokens.end).to(at::kLong); };
  const at::Tensor queries = ids(tile.rows).unsqueeze(1);
  const at::Tensor keys = ids(tile.columns).unsqueeze(0);
  const at::Tensor offset = queries - keys;  // (R, K, 2)
  at::Tensor down = offset.select(2, 0) + rows - 1;
  at::Tensor right = offset.select(2, 1) + columns - 1;
  if (options_.windows) {
    down = down.clamp(0, 2 * rows - 2);
    right = right.clamp(0, 2 * columns - 2);
  }
  at::Tensor index = down * (2 * columns - 1) + right;
  // Tokens without position read the last three rows.
  const auto is_class = [&](Range tokens) { return at::arange(tokens.begin, tokens.end).lt(positions.prefix); };
  const at::Tensor asks = is_class(tile.rows).unsqueeze(1).expand(index.sizes());
  const at::Tensor asked = is_class(tile.columns).unsqueeze(0).expand(index.sizes());
  const std::int64_t own = offsets(rows, columns);
  index = at::where(asks.logical_and(asked), at::full_like(index, own + 2),
                    at::where(asks, at::full_like(index, own), at::where(asked, at::full_like(index, own + 1), index)));
  const at::Tensor biases = table(tile.layer, tile.heads, rows, columns);
  const at::Tensor bias = biases.index_select(0, index.flatten().to(biases.device())).t();
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  scores.logits = content + bias.reshape({-1, tile.rows.size(), tile.columns.size()}).to(content.scalar_type());
  if (wanted.content) {
    scores.content = content;
  }
  return scores;
}

Entry relative_grid_encoding() {
  return {RelativeGrid::about(), RelativeGrid::make};
}

}  // namespace locus::position
