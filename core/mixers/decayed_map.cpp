// The map of decayed attention: a product of queries and keys, and a decay, cell by cell.
#include "core/mixers/decay.h"
#include "core/mixers/half_life.h"
#include "core/mixers/implied_map.h"

namespace locus::mixers {

namespace {

class DecayedMap final : public ImpliedMap {
 public:
  DecayedMap(const DecayedInputs& inputs, const at::Tensor& skip)
      : query_(inputs.query.detach()[0]),
        key_(inputs.key.detach()[0]),
        value_(inputs.value.detach()[0]),
        log_decay_(inputs.log_decay.detach()[0]),
        sums_(decay_sums(log_decay_, 1).unsqueeze(-1)),
        skip_(skip.defined() ? skip.detach() : skip) {}

  std::int64_t heads() const override { return value_.size(0); }
  std::int64_t length() const override { return value_.size(1); }
  at::Tensor half_life() const override { return half_lives(log_decay_); }
  at::Tensor value() const override { return value_; }

  at::Tensor tile(Range heads, Range rows, Range columns, Decay decay) const override {
    const at::NoGradGuard no_grad;
    const auto tokens = [&](const at::Tensor& vectors, Range range) {
      const auto part = [&](const at::Tensor& all) {
        return all.slice(0, heads.begin, heads.end).slice(1, range.begin, range.end);
      };
      const at::Tensor sums = part(sums_);
      return DecayingTokens{range, part(vectors), decay == Decay::kOff ? at::zeros_like(sums) : sums};
    };
    at::Tensor cells = decayed_products(tokens(query_, rows), tokens(key_, columns));
    if (skip_.defined()) {
      cells.diagonal(rows.begin - columns.begin, 1, 2).add_(skip_.slice(0, heads.begin, heads.end).unsqueeze(-1));
    }
    return cells;
  }

 private:
  at::Tensor query_, key_, value_, log_decay_;
  at::Tensor sums_;  // (H, T, 1)
  at::Tensor skip_;
};

}  // namespace

std::shared_ptr<const ImpliedMap> implied_map(const DecayedInputs& inputs, const at::Tensor& skip) {
  const at::NoGradGuard no_grad;
  return std::make_shared<DecayedMap>(inputs, skip);
}

}  // namespace locus::mixers
