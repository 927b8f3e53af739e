#include "core/attention/score_field.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/attention/fused_scores.h"
#include "core/attention/reduction.h"

namespace locus::attention {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;
constexpr std::int64_t kFieldRows = 256;
constexpr std::int64_t kFieldColumns = 2048;

Status check_range(const char* what, Range range, std::int64_t length) {
  if (range.begin < 0 || range.end > length || range.empty()) {
    return bad_input(std::string(what) + ": expected a range within 0 … " + std::to_string(length) + ", found " +
                     std::to_string(range.begin) + " … " + std::to_string(range.end));
  }
  return {};
}

Status check_pixels(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) {
    return bad_input("overview: expected at least one pixel, found " + std::to_string(height) + " × " +
                     std::to_string(width));
  }
  return {};
}

float hidden_value(const Region& region) {
  return region.quantity == Quantity::kWeight && !region.mark_masked ? 0.0F : kNan;
}

// The rows `band` of rows × columns cells or pixels of the region, all hidden.
Field empty_band(const Region& region, std::int64_t rows, std::int64_t columns, Range band) {
  Field field;
  field.rows = band.size();
  field.columns = columns;
  field.values.assign(static_cast<std::size_t>(field.rows * columns), hidden_value(region));
  field.quantity = describe(region.quantity);
  const double step = static_cast<double>(region.rows.size()) / static_cast<double>(rows);
  field.row_axis = {"query", "token", static_cast<double>(region.rows.begin) + static_cast<double>(band.begin) * step,
                    step};
  field.column_axis = {"key", "token", static_cast<double>(region.columns.begin),
                       static_cast<double>(region.columns.size()) / static_cast<double>(columns)};
  return field;
}

Field empty_field(const Region& region, std::int64_t rows, std::int64_t columns) {
  return empty_band(region, rows, columns, {0, rows});
}

}  // namespace

ScoreField::ScoreField(std::shared_ptr<const ScoreSource> source, Mask mask)
    : source_(std::move(source)), mask_(std::move(mask)) {
  if (const auto* computed = source_->computed()) {
    fused_ = computed->fused(mask_);
  }
}

Result<Region> ScoreField::checked(Region region) const {
  if (region.rows == Range{}) {
    region.rows = {0, source_->length()};
  }
  if (region.columns == Range{}) {
    region.columns = {0, source_->keys()};
  }
  LOCUS_CHECK(check_range("rows", region.rows, source_->length()));
  LOCUS_CHECK(check_range("columns", region.columns, source_->keys()));
  if (region.head < kMeanHead || region.head >= source_->heads()) {
    return bad_input("head: expected 0 to " + std::to_string(source_->heads() - 1) + ", found " +
                     std::to_string(region.head));
  }
  if (region.head == kMeanHead && region.quantity != Quantity::kWeight) {
    return unsupported("the mean over heads is defined for weights only, not for the " + describe(region.quantity));
  }
  return region;
}

Result<at::Tensor> ScoreField::tile(const Region& region, Range rows, Range columns, at::Tensor& carry) const {
  const Range heads = region.head == kMeanHead ? Range{0, source_->heads()} : Range{region.head, region.head + 1};
  LOCUS_TRY(const at::Tensor scores, source_->scores(region.quantity, heads, rows, columns, carry));
  at::Tensor one = heads.size() == 1 ? scores.select(0, 0) : scores.mean(0);
  if (mask_.scattered()) {
    one = one.masked_fill(mask_.hidden(rows, columns, one.device()), -std::numeric_limits<float>::infinity());
  }
  return one.to(at::kCPU, at::kFloat).contiguous();
}

Result<Field> ScoreField::map(const Region& asked, StopToken stop) const {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const Region region, checked(asked));
  if (region.rows.size() > kMaxCells / region.columns.size()) {
    return too_large("a map of " + std::to_string(region.rows.size()) + " × " + std::to_string(region.columns.size()) +
                     " cells; ask for an overview");
  }
  Field field = empty_field(region, region.rows.size(), region.columns.size());
  if (fused_ && fused_->has(region.quantity)) {
    LOCUS_CHECK(fused_->map({region.quantity, region.head, region.rows, region.columns}, field, stop));
    return field;
  }
  for (std::int64_t begin = region.rows.begin; begin < region.rows.end; begin += kFieldRows) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const Range rows{begin, std::min(begin + kFieldRows, region.rows.end)};
    const Range columns = mask_.columns(rows, source_->keys()).clamped(region.columns);
    if (columns.empty()) {
      continue;
    }
    at::Tensor carry;
    LOCUS_TRY(const at::Tensor values, tile(region, rows, columns, carry));
    const float* cell = values.data_ptr<float>();
    for (std::int64_t row = rows.begin; row < rows.end; ++row, cell += columns.size()) {
      const Range visible = mask_.columns({row, row + 1}, source_->keys()).clamped(columns);
      if (visible.empty()) {
        continue;
      }
      const float* const from = cell + (visible.begin - columns.begin);
      float* const to = &field.at(row - region.rows.begin, visible.begin - region.columns.begin);
      std::transform(from, from + visible.size(), to, [&](float value) {
        return value == -std::numeric_limits<float>::infinity() ? hidden_value(region) : value;
      });
    }
  }
  return field;
}

Result<Field> ScoreField::overview(const Region& asked, std::int64_t height, std::int64_t width, Reduction reduction,
                                   StopToken stop, Range pixel_rows) const {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const Region region, checked(asked));
  LOCUS_CHECK(check_pixels(height, width));
  const Pixels rows{region.rows, std::min(height, region.rows.size())};
  const Pixels columns{region.columns, std::min(width, region.columns.size())};
  const Range band = pixel_rows == Range{} ? Range{0, rows.count} : pixel_rows;
  LOCUS_CHECK(check_range("pixel rows", band, rows.count));
  Field field = empty_band(region, rows.count, columns.count, band);
  if (fused_ && fused_->has(region.quantity)) {
    LOCUS_CHECK(fused_->overview(region.quantity, region.head, rows, columns, band, reduction, field, stop));
    return field;
  }
  Reducer reducer(rows, columns, band, reduction);
  LOCUS_CHECK(overview_by_tiles(region, reducer, stop));
  reducer.finish(field.values);
  return field;
}

Status ScoreField::overview_by_tiles(const Region& region, Reducer& reducer, const StopToken& stop) const {
  const Range all = reducer.cells();
  for (std::int64_t begin = all.begin; begin < all.end; begin += kFieldRows) {
    const Range rows{begin, std::min(begin + kFieldRows, all.end)};
    const Range columns = mask_.columns(rows, source_->keys()).clamped(region.columns);
    at::Tensor carry;
    for (std::int64_t end = columns.end; end > columns.begin; end -= kFieldColumns) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      const Range block{std::max(columns.begin, end - kFieldColumns), end};
      LOCUS_TRY(const at::Tensor values, tile(region, rows, block, carry));
      reducer.take(values.data_ptr<float>(), rows, block, mask_, source_->keys());
    }
  }
  return {};
}

namespace {

struct Cells {
  std::vector<std::int64_t> rows;     // the last one of each pixel
  std::vector<std::int64_t> columns;  // the first one of each pixel
};

Cells cells_of(const Pixels& rows, const Pixels& columns) {
  Cells cells;
  for (std::int64_t p = 0; p < rows.count; ++p) {
    cells.rows.push_back(rows.begin(p + 1) - 1);
  }
  for (std::int64_t p = 0; p < columns.count; ++p) {
    cells.columns.push_back(columns.begin(p));
  }
  return cells;
}

at::Tensor index_of(const std::vector<std::int64_t>& tokens) {
  return at::tensor(tokens, at::kLong);
}

// The tokens of the columns, then those of the rows: a tile of the latter's rows and the former's columns is the
// sample.
position::Prepared gathered(const position::Prepared& prepared, const Cells& cells) {
  const at::Tensor index = at::cat({index_of(cells.columns), index_of(cells.rows)});
  const auto part = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.index_select(2, index.to(tensor.device())) : tensor;
  };
  position::Prepared few;
  few.query = part(prepared.query);
  few.key = part(prepared.key);
  few.content_query = part(prepared.content_query);
  few.content_key = part(prepared.content_key);
  few.gate_query = part(prepared.gate_query);
  few.gate_key = part(prepared.gate_key);
  few.positions = prepared.positions;
  few.positions.ids = prepared.positions.ids.index_select(0, index);
  return few;
}

}  // namespace

Result<Field> ScoreField::preview(const Region& asked, std::int64_t height, std::int64_t width, StopToken stop) const {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const Region region, checked(asked));
  LOCUS_CHECK(check_pixels(height, width));
  const auto* computed = source_->computed();
  Field field = empty_field(region, std::min(height, region.rows.size()), std::min(width, region.columns.size()));
  const Cells cells = cells_of({region.rows, field.rows}, {region.columns, field.columns});
  if (fused_ && fused_->has(region.quantity)) {
    LOCUS_CHECK(fused_->sample({region.quantity, region.head, region.rows, region.columns}, cells.rows, cells.columns,
                               field, stop));
    return field;
  }
  if (computed == nullptr || computed->encoding().follows_between() || !computed->summed() ||
      source_->keys() != source_->length()) {
    return unsupported("a preview of this layer's " + describe(region.quantity));
  }
  // Terms added to the scores of patches may follow their whole grid and the tokens before it.
  if (computed->prepared().positions.dimensions() > 1 && !computed->encoding().is_dot_product()) {
    return unsupported("a preview of this layer's " + describe(region.quantity) + ", whose encoding adds to scores");
  }
  const Range heads = region.head == kMeanHead ? Range{0, source_->heads()} : Range{region.head, region.head + 1};
  const Range few_columns{0, field.columns};
  const Range few_rows{field.columns, field.columns + field.rows};
  const position::Prepared few = gathered(computed->prepared(), cells);
  at::Tensor sums;
  if (region.quantity == Quantity::kWeight) {
    const at::Tensor all = computed->log_sum_exp();
    sums = at::zeros({1, source_->heads(), field.columns + field.rows}, all.options());
    sums.slice(2, field.columns).copy_(all.index_select(2, index_of(cells.rows)));
  }
  at::Tensor carry;
  const ComputedScores source(computed->shared_encoding(), computed->layer(), few, sums, {}, computed->soft_cap());
  LOCUS_TRY(const at::Tensor scores, source.scores(region.quantity, heads, few_rows, few_columns, carry));
  const at::Tensor one = (heads.size() == 1 ? scores.select(0, 0) : scores.mean(0)).to(at::kCPU, at::kFloat);
  const at::Tensor values = one.contiguous();
  const float* value = values.data_ptr<float>();
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c, ++value) {
      if (mask_.visible(cells.rows[static_cast<std::size_t>(r)], cells.columns[static_cast<std::size_t>(c)])) {
        field.at(r, c) = *value;
      }
    }
  }
  return field;
}

}  // namespace locus::attention
