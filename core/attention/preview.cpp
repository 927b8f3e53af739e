// ScoreField::preview(): one cell per pixel.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/attention/field_parts.h"
#include "core/attention/fused_scores.h"
#include "core/attention/score_field.h"

namespace locus::attention {

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
  if (computed == nullptr || computed->encoding().needs_carry() || !computed->summed() ||
      source_->keys() != source_->length()) {
    return unsupported("a preview of this layer's " + describe(region.quantity));
  }
  // What is added to the scores of patches may follow their whole grid and the tokens before it.
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
