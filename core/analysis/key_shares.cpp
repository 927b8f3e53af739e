#include "core/analysis/key_shares.h"

#include <algorithm>
#include <string>

#include "core/analysis/row_blocks.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

Status check_parts(const KeyParts& parts, std::int64_t queries, std::int64_t keys) {
  if (static_cast<std::int64_t>(parts.of_key.size()) != keys ||
      static_cast<std::int64_t>(parts.query.size()) != queries) {
    return bad_input("shares of keys: expected " + std::to_string(queries) + " queries and " + std::to_string(keys) +
                     " keys, found " + std::to_string(parts.query.size()) + " and " +
                     std::to_string(parts.of_key.size()));
  }
  const auto beyond = std::ranges::find_if(parts.of_key, [&](std::int64_t part) { return part >= parts.parts; });
  if (beyond != parts.of_key.end()) {
    return bad_input("shares of keys: expected parts below " + std::to_string(parts.parts) + ", found " +
                     std::to_string(*beyond));
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<double>>> key_shares(const attention::ScoreField& field, const KeyParts& parts,
                                                    StopToken stop) {
  LOCUS_CHECK(check_parts(parts, field.source().length(), field.source().keys()));
  const Range heads{0, field.source().heads()};
  const auto queries = std::ranges::count(parts.query, true);
  std::vector<std::vector<double>> shares(static_cast<std::size_t>(heads.size()));
  for (std::vector<double>& head : shares) {
    head.assign(static_cast<std::size_t>(parts.parts), queries > 0 ? 0 : kNaN);
  }
  if (queries == 0) {
    return shares;
  }
  const auto first = std::ranges::find(parts.query, true) - parts.query.begin();
  const at::Tensor chosen = at::zeros({static_cast<std::int64_t>(parts.query.size())}, at::kFloat);
  for (std::size_t query = 0; query < parts.query.size(); ++query) {
    chosen.data_ptr<float>()[query] = parts.query[query] ? 1.0F : 0.0F;
  }
  const auto visit = [&](Range rows, Range columns, const at::Tensor& weights) {
    const at::Tensor wanted = chosen.slice(0, rows.begin, rows.end).to(weights.device());
    const at::Tensor by_key = (weights * wanted.view({1, -1, 1})).sum(1, false, at::kDouble).cpu();  // (h, K)
    for (std::int64_t head = 0; head < by_key.size(0); ++head) {
      const double* const sums = by_key.data_ptr<double>() + head * by_key.size(1);
      for (std::int64_t key = columns.begin; key < columns.end; ++key) {
        if (const std::int64_t part = parts.of_key[static_cast<std::size_t>(key)]; part >= 0) {
          shares[static_cast<std::size_t>(head)][static_cast<std::size_t>(part)] +=
              sums[key - columns.begin] / static_cast<double>(queries);
        }
      }
    }
  };
  LOCUS_CHECK(for_each_row_block(field, attention::Quantity::kWeight, heads, {first, field.source().length()}, visit,
                                 std::move(stop)));
  return shares;
}

}  // namespace locus::analysis
