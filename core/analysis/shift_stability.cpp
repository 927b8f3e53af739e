#include "core/analysis/shift_stability.h"

#include <algorithm>

#include "core/analysis/row_blocks.h"

namespace locus::analysis {

Result<AttentionChange> attention_change(const attention::ScoreField& plain, const attention::ScoreField& moved,
                                         std::int64_t offset, StopToken stop) {
  const std::int64_t length = plain.source().length();
  const Range heads{0, plain.source().heads()};
  if (offset < 0 || moved.source().length() != length + offset || moved.source().heads() != heads.end) {
    return bad_input("shift stability: expected " + std::to_string(heads.end) + " heads over " +
                     std::to_string(length + offset) + " tokens, found " + std::to_string(moved.source().heads()) +
                     " over " + std::to_string(moved.source().length()));
  }
  double total = 0;
  double cells = 0;
  Status inner;
  const auto visit = [&](Range rows, Range columns, const at::Tensor& weights) {
    const Range moved_rows{rows.begin + offset, rows.end + offset};
    const auto compare = [&](Range moved_block, Range moved_columns, const at::Tensor& other) {
      const std::int64_t row = moved_block.begin - moved_rows.begin;
      const std::int64_t skipped = columns.begin + offset - moved_columns.begin;
      const at::Tensor mine = weights.slice(1, row, row + moved_block.size());
      const at::Tensor theirs = other.slice(2, skipped, skipped + columns.size());
      total += (theirs - mine.slice(2, 0, theirs.size(2))).abs().sum(at::kDouble).item<double>();
    };
    if (inner.ok()) {
      inner = for_each_row_block(moved, attention::Quantity::kWeight, heads, moved_rows, compare, stop);
    }
    cells += plain.mask().hidden(rows, columns, weights.device()).logical_not().sum().item<double>();
  };
  LOCUS_CHECK(for_each_row_block(plain, attention::Quantity::kWeight, heads, {}, visit, stop));
  LOCUS_CHECK(inner);
  const auto count = static_cast<double>(heads.size());
  return AttentionChange{total / (count * static_cast<double>(length)), total / (count * cells)};
}

Result<double> dot_product_change_percent(const at::Tensor& plain, const at::Tensor& moved, std::int64_t offset,
                                          StopToken stop) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = plain.size(1);
  if (offset < 0 || moved.dim() != 3 || moved.size(0) != plain.size(0) || moved.size(1) != length + offset ||
      moved.size(2) != plain.size(2)) {
    return bad_input("shift stability: the two states have vectors of different heads, lengths or widths");
  }
  constexpr std::int64_t kRows = 256;
  double change = 0;
  double size = 0;
  for (std::int64_t first = 0; first < length; first += kRows) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const Range rows{first, std::min(first + kRows, length)};
    const at::Tensor before = position::dot_products(plain, rows, {0, rows.end}, false).tril(rows.begin);
    const at::Tensor after =
        position::dot_products(moved, {rows.begin + offset, rows.end + offset}, {offset, rows.end + offset}, false)
            .tril(rows.begin);
    change += (after - before).abs().sum(at::kDouble).item<double>();
    size += before.abs().sum(at::kDouble).item<double>();
  }
  return size > 0 ? 100.0 * change / size : 0.0;
}

}  // namespace locus::analysis
