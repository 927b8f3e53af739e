#include "core/position/learned.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"
#include "core/position/shared/layer_parameter.h"

namespace locus::position {

namespace {

constexpr double kTableDeviation = 0.02;

// Rows and columns that the grid positions after the prefix span.
std::pair<std::int64_t, std::int64_t> grid_extent(const Positions& positions) {
  const Range placed = positions.placed();
  const at::Tensor last = std::get<0>(positions.ids.slice(0, placed.begin, placed.end).max(0));
  return {static_cast<std::int64_t>(last[0].item<double>()) + 1, static_cast<std::int64_t>(last[1].item<double>()) + 1};
}

// (count) the rows of a table of `size` that `count` rows read: i/count among the limits 1/size, 2/size, …
at::Tensor buckets(std::int64_t count, std::int64_t size) {
  const double part = 1.0 / static_cast<double>(size);
  const at::Tensor limits = size > 1 ? at::arange(part, 1.0, part, at::kFloat) : at::empty({0}, at::kFloat);
  const at::Tensor step = at::full({1}, static_cast<double>(count), at::kFloat).reciprocal();
  return at::bucketize((at::arange(count, at::kFloat) * step).clamp_max(1.0 - 1e-6), limits, false, true)
      .clamp_max(size - 1);
}

// (1, C, rows, columns) of a grid (1, C, h, w).
at::Tensor resampled(const at::Tensor& grid, std::int64_t rows, std::int64_t columns, TableResampling how) {
  switch (how) {
    case TableResampling::kBicubic:
      return at::upsample_bicubic2d(grid, {rows, columns}, false);
    case TableResampling::kBicubicAntialias:
      return at::_upsample_bicubic2d_aa(grid, {rows, columns}, false);
    case TableResampling::kBilinear:
      return at::upsample_bilinear2d(grid, {rows, columns}, false);
    case TableResampling::kBilinearAntialias:
      return at::_upsample_bilinear2d_aa(grid, {rows, columns}, false);
    case TableResampling::kBuckets:
      return grid.index_select(2, buckets(rows, grid.size(2)).to(grid.device()))
          .index_select(3, buckets(columns, grid.size(3)).to(grid.device()));
    case TableResampling::kBilinearCorners:
      break;
  }
  return at::upsample_bilinear2d(grid, {rows, columns}, true);
}

std::string grid_text(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + " × " + std::to_string(columns);
}

constexpr Whole kTableRows{0, std::int64_t{1} << 31};

}  // namespace

const OptionTable<LearnedOptions> LearnedOptions::kTable{
    {"length", &LearnedOptions::length, "positions in the table; 0: the trained length, or the grid's size",
     kTableRows},
    {"beyond", &LearnedOptions::interpolate,
     "positions past the table: error, or interpolate (the table stretched to fit)",
     Words{WordTable<bool, 2>{{{"error", false}, {"interpolate", true}}}}},
    {"class_rows", &LearnedOptions::class_rows,
     "leading rows for tokens without position (CLS); others of them get nothing", kTableRows},
    {"after_rows", &LearnedOptions::after_rows,
     "trailing rows for tokens without position behind the patches of a grid (detection tokens)", kTableRows},
    {"grid_rows", &LearnedOptions::grid_rows, "rows of the image grid the table was trained on; 0: a sequence",
     kTableRows},
    {"grid_columns", &LearnedOptions::grid_columns, "columns of that grid", kTableRows},
    {"resample", &LearnedOptions::resample,
     "how a grid is made another: bicubic, bicubic-antialias, bilinear, bilinear-antialias, bilinear-corners (corner "
     "upon corner), or buckets (the row of the same share)",
     Words{WordTable<TableResampling, 6>{{{"bicubic", TableResampling::kBicubic},
                                          {"bicubic-antialias", TableResampling::kBicubicAntialias},
                                          {"bilinear", TableResampling::kBilinear},
                                          {"bilinear-antialias", TableResampling::kBilinearAntialias},
                                          {"bilinear-corners", TableResampling::kBilinearCorners},
                                          {"buckets", TableResampling::kBuckets}}}}},
    {"table", &LearnedOptions::axes,
     "patches: a row for each patch of a grid; axes: a row for each column and then one for each row, which add up",
     Words{WordTable<bool, 2>{{{"patches", false}, {"axes", true}}}}},
};

Status LearnedOptions::check() const {
  if ((grid_rows == 0) != (grid_columns == 0)) {
    return bad_input("options grid_rows and grid_columns: expected both or none, found " +
                     grid_text(grid_rows, grid_columns));
  }
  if (after_rows > 0 && grid_rows == 0) {
    return bad_input("option after_rows: expected 0 of a sequence, found " + std::to_string(after_rows));
  }
  if (axes && (grid_rows == 0 || interpolate)) {
    return bad_input("option table: expected patches of a sequence, or of a table that is stretched, found axes");
  }
  return {};
}

const Description& Learned::about() {
  static const Description description{
      .name = "learned",
      .title = "Learned absolute positions (APE)",
      .paper = "Gehring et al. 2017, arXiv:1705.03122; Radford et al. 2019 (GPT-2)",
      .equation = "x_i + P[i]",
      .content = "",
      .parameters = {{"position_embedding", "(class_rows + length + after_rows, C)", "P, one row a position"}},
      .options = LearnedOptions::kTable.described(),
      .embeds = true,
      .has_dot_product = true,
      .grid_options = [](std::int64_t rows, std::int64_t columns) -> Settings {
        return {{"class_rows", std::int64_t{1}},
                {"grid_rows", rows},
                {"grid_columns", columns},
                {"beyond", std::string("interpolate")}};
      },
      .distance = kVectorDistance,
  };
  return description;
}

Status Learned::settle(LearnedOptions& options, const ModelShape& shape) {
  if (options.grid_rows > 0) {
    const std::int64_t patches =
        options.axes ? options.grid_rows + options.grid_columns : options.grid_rows * options.grid_columns;
    if (options.length != 0 && options.length != patches) {
      return bad_input("option length: expected the grid's " + std::to_string(patches) + ", found " +
                       std::to_string(options.length));
    }
    options.length = patches;
  }
  options.length = options.length > 0 ? options.length : shape.trained_length;
  if (options.length < 1) {
    return bad_input("option length: expected at least 1, found 0 and no trained length");
  }
  LOCUS_CHECK(check_table("length", options.class_rows + options.length + options.after_rows, shape.width));
  return {};
}

Learned::Learned(const ModelShape& shape, const LearnedOptions& options) : WithOptions(shape, options) {
  const std::vector<std::int64_t> sizes{options.class_rows + options.length + options.after_rows, shape.width};
  table_ = initial(sizes, [&] { return at::randn(sizes) * kTableDeviation; });
}

Status Learned::accepts(const Positions& positions) const {
  if (options_.grid_rows == 0) {
    LOCUS_CHECK(PositionEncoding::accepts(positions));
    if (positions.size() == 0) {
      return {};
    }
    const double first = positions.ids.min().item<double>();
    const double last = positions.ids.max().item<double>();
    const bool padding = first == -1 && options_.class_rows > 0;  // reads the last row without position
    if ((!(first >= 0) && !padding) || (!options_.interpolate && last > static_cast<double>(options_.length - 1))) {
      return bad_input("encoding learned: expected positions 0 … " + std::to_string(options_.length - 1) + ", found " +
                       to_text(SettingValue(!(first >= 0) && !padding ? first : last)));
    }
    return accepts_whole(positions.ids);
  }
  if (positions.dimensions() != 2 || positions.placed().empty()) {
    return bad_input("encoding learned: expected positions of an image grid of " +
                     grid_text(options_.grid_rows, options_.grid_columns) + ", found those of a sequence");
  }
  if (positions.prefix < options_.class_rows) {
    return bad_input("encoding learned: expected " + std::to_string(options_.class_rows) +
                     " class tokens before the patches, found " + std::to_string(positions.prefix));
  }
  if (positions.suffix != options_.after_rows) {
    return bad_input("encoding learned: expected " + std::to_string(options_.after_rows) +
                     " tokens behind the patches, found " + std::to_string(positions.suffix));
  }
  const auto [rows, columns] = grid_extent(positions);
  const bool fits = options_.axes ? rows <= options_.grid_rows && columns <= options_.grid_columns
                                  : rows == options_.grid_rows && columns == options_.grid_columns;
  if (positions.ids.min().item<double>() < 0 || (!options_.interpolate && !fits)) {
    return bad_input(std::string("encoding learned: expected a grid of ") + (options_.axes ? "at most " : "") +
                     grid_text(options_.grid_rows, options_.grid_columns) + ", found " + grid_text(rows, columns));
  }
  return accepts_whole(positions.ids);
}

Status Learned::accepts_whole(const at::Tensor& ids) const {
  const at::Tensor broken = options_.interpolate ? at::Tensor() : ids.masked_select(ids != ids.floor());
  if (!broken.defined() || broken.numel() == 0) {
    return {};
  }
  return bad_input("encoding learned: expected whole positions, which its table has, found " +
                   to_text(SettingValue(broken[0].item<double>())));
}

State Learned::begin(const Positions& positions, std::int64_t /*batch*/) const {
  return {positions, options_.grid_rows == 0 ? sequence_rows(positions.ids) : grid_rows(positions)};
}

at::Tensor Learned::sequence_rows(const at::Tensor& ids) const {
  const at::Tensor& table = table_;
  if (ids.numel() == 0) {
    return table.slice(0, 0, 0);
  }
  const double last = static_cast<double>(options_.length - 1);
  const double extent = std::ceil(ids.max().item<double>()) + 1;
  at::Tensor place = ids;
  if (extent > last + 1) {
    place = ((ids + 0.5) * ((last + 1) / extent) - 0.5).clamp(0, last);
  }
  const at::Tensor below = place.floor();
  const at::Tensor above = (below + 1).clamp_max(last);
  const at::Tensor part = (place - below).to(table.options()).unsqueeze(1);
  const auto rows = [&](const at::Tensor& place_of) {
    return table.index_select(0, (place_of + static_cast<double>(options_.class_rows)).to(table.device(), at::kLong));
  };
  return at::lerp(rows(below), rows(above), part);
}

at::Tensor Learned::grid_rows(const Positions& positions) const {
  const auto [rows, columns] = grid_extent(positions);
  const std::int64_t behind = options_.class_rows + options_.length;
  const Range placed = positions.placed();
  const at::Tensor ids = positions.ids.slice(0, placed.begin, placed.end);
  const at::Tensor patches = patch_rows(table_.slice(0, options_.class_rows, behind), ids, rows, columns);
  const std::int64_t bare = positions.prefix - options_.class_rows;
  return at::cat({table_.slice(0, 0, options_.class_rows), at::zeros({bare, shape_.width}, table_.options()), patches,
                  table_.slice(0, behind)},
                 0);
}

at::Tensor Learned::patch_rows(const at::Tensor& rows, const at::Tensor& ids, std::int64_t high,
                               std::int64_t wide) const {
  if (options_.axes) {
    const auto along = [&](std::int64_t axis, std::int64_t first) {
      return rows.index_select(0, (ids.select(1, axis) + static_cast<double>(first)).to(rows.device(), at::kLong));
    };
    return along(1, 0) + along(0, options_.grid_columns);
  }
  at::Tensor patches = rows;
  // Buckets of the same number are not always those of the same rows: shares are rounded.
  if (high != options_.grid_rows || wide != options_.grid_columns || options_.resample == TableResampling::kBuckets) {
    const at::Tensor image = patches.view({1, options_.grid_rows, options_.grid_columns, shape_.width});
    const at::Tensor grid = image.permute({0, 3, 1, 2});
    patches = resampled(grid, high, wide, options_.resample).permute({0, 2, 3, 1}).reshape({high * wide, shape_.width});
  }
  const at::Tensor index = (ids.select(1, 0) * static_cast<double>(wide) + ids.select(1, 1)).to(at::kLong);
  return patches.index_select(0, index.to(rows.device()));
}

at::Tensor Learned::vectors(const State& state, std::int64_t /*layer*/) const {
  return state.table.unsqueeze(0);
}

Entry learned_encoding() {
  return {Learned::about(), Learned::make};
}

}  // namespace locus::position
