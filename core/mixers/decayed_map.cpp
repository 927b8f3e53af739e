// The map of decayed attention: a product of queries and keys, and a decay, cell by cell.
#include "core/mixers/decay.h"
#include "core/mixers/half_life.h"
#include "core/mixers/implied_map.h"
#include "core/mixers/running_sums.h"
#include "core/mixers/state_norm.h"

namespace locus::mixers {

namespace {

class DecayedMap final : public ImpliedMap {
 public:
  DecayedMap(const DecayedInputs& inputs, const at::Tensor& skip)
      : query_(inputs.query[0], 1),
        key_(inputs.key[0], 1),
        value_(inputs.value[0], 1),
        decay_(std::make_shared<const RunningSums>(TokenRows(inputs.log_decay[0], 1))),
        skip_(skip.defined() ? skip.detach() : skip) {}

  std::int64_t heads() const override { return value_.width(); }
  std::int64_t length() const override { return value_.length(); }
  at::Tensor half_life() const override { return half_lives(decay_->numbers().all()); }
  at::Tensor state_norm(const StopToken& stop) const override {
    return state_norms(length(), heads(), stop, [&](Range token, at::Tensor& state) {
      const auto row = [&](const TokenRows& all) { return all.of(token).unsqueeze(0); };
      decayed_attention({row(query_), row(key_), row(value_), row(decay_->numbers())}, state);
    });
  }
  at::Tensor value() const override { return value_.all(); }

  at::Tensor tile(Range heads, Range rows, Range columns, Decay decay) const override {
    const at::NoGradGuard no_grad;
    const auto tokens = [&](const TokenRows& vectors, Range range) {
      const at::Tensor sums =
          decay == Decay::kOff ? at::zeros({heads.size(), range.size()}, at::kDouble) : decay_->of(range, heads);
      return DecayingTokens{range, vectors.of(range, heads), sums.unsqueeze(-1)};
    };
    at::Tensor cells = decayed_products(tokens(query_, rows), tokens(key_, columns));
    if (skip_.defined()) {
      cells.diagonal(rows.begin - columns.begin, 1, 2).add_(skip_.slice(0, heads.begin, heads.end).unsqueeze(-1));
    }
    return cells;
  }

  std::shared_ptr<const ImpliedMap> continued(std::int64_t count, const ImpliedMap& later) const override {
    const auto& added = dynamic_cast<const DecayedMap&>(later);
    auto all = std::make_shared<DecayedMap>(*this);
    all->query_ = query_.continued(count, added.query_);
    all->key_ = key_.continued(count, added.key_);
    all->value_ = value_.continued(count, added.value_);
    all->decay_ = decay_->continued(count, *added.decay_);
    return all;
  }
  std::vector<at::Tensor> inputs() const override { return stretches_of({query_, key_, value_, decay_->numbers()}); }

 private:
  TokenRows query_, key_, value_;             // (H, T, D or P)
  std::shared_ptr<const RunningSums> decay_;  // (H, T)
  at::Tensor skip_;
};

}  // namespace

std::shared_ptr<const ImpliedMap> implied_map(const DecayedInputs& inputs, const at::Tensor& skip) {
  const at::NoGradGuard no_grad;
  return std::make_shared<DecayedMap>(inputs, skip);
}

}  // namespace locus::mixers
