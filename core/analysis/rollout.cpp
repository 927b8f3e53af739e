#include "core/analysis/rollout.h"

#include "core/analysis/row_blocks.h"

namespace locus::analysis {

Result<std::vector<float>> attention_rollout(const std::vector<const attention::ScoreField*>& layers,
                                             std::int64_t query, StopToken stop) {
  const at::NoGradGuard no_grad;
  if (layers.empty()) {
    return bad_input("rollout: expected at least one layer, found none");
  }
  const std::int64_t length = layers.front()->source().length();
  if (query < 0 || query >= length) {
    return bad_input("rollout: expected a query of 0 … " + std::to_string(length - 1) + ", found " +
                     std::to_string(query));
  }
  at::Tensor share = at::zeros({length});
  share[query] = 1;
  for (std::size_t n = layers.size(); n-- > 0;) {
    const attention::ScoreField* const layer = layers[n];
    at::Tensor mixed = share * 0.5;
    const Range heads{0, layer->source().heads()};
    const auto visit = [&](Range rows, Range columns, const at::Tensor& weights) {
      const at::Tensor mean = weights.mean(0);
      mixed.slice(0, columns.begin, columns.end)
          .add_(at::mv(mean.transpose(0, 1), share.slice(0, rows.begin, rows.end)), 0.5);
    };
    LOCUS_CHECK(for_each_row_block(*layer, attention::Quantity::kWeight, heads, {}, visit, stop));
    share = mixed;
  }
  return std::vector<float>(share.data_ptr<float>(), share.data_ptr<float>() + length);
}

}  // namespace locus::analysis
