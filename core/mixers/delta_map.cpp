// The map of the delta rule, from the diagonal leftwards. What row i sees of the state at the end of a block of tokens
// is a vector z_i; in the block it is
//   M_i = z_i (K e^{c_n − c})ᵀ X,  X = (I + tril(diag(β) (K Kᵀ ∘ W), −1))⁻¹ diag(β),
// and to its left z_i ∘ e^{c_n} − M_i (K e^c). Rows begin in their own block with M_i = (Q Kᵀ ∘ W)_i X and
// q_i e^{c_i} − M_i (K e^c). A tile far from the diagonal crosses what lies between in jumps of many blocks, each one
// product with a matrix that is kept.
#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "core/mixers/decay.h"
#include "core/mixers/half_life.h"
#include "core/mixers/implied_map.h"
#include "core/mixers/state_norm.h"
#include "core/mixers/token_rows.h"

namespace locus::mixers {

namespace {

constexpr std::int64_t kJump = 8 * kChunk;

// The chunk of `token`; the last one of `length` tokens may be shorter.
Range chunk_of(std::int64_t token, std::int64_t length) {
  const std::int64_t begin = token / kChunk * kChunk;
  return {begin, std::min(begin + kChunk, length)};
}

// One chunk of some heads, (h, n, …).
struct Chunk {
  DecayingTokens query, key;
  at::Tensor from_start;  // (h, n, D) K e^c
  at::Tensor to_end;      // (h, n, D) K e^{c_n − c}
  at::Tensor total;       // (h, 1, D or 1) e^{c_n}
  at::Tensor solved;      // (h, n, n) X
};

class DeltaMap final : public ImpliedMap {
 public:
  DeltaMap() = default;
  explicit DeltaMap(const DeltaInputs& inputs)
      : query_(inputs.query[0], 1),
        key_(inputs.key[0], 1),
        value_(inputs.value[0], 1),
        beta_(inputs.beta[0].unsqueeze(-1), 1),
        log_decay_(inputs.log_decay.dim() == 3 ? inputs.log_decay[0].unsqueeze(-1) : inputs.log_decay[0], 1) {}

  std::int64_t heads() const override { return value_.width(); }
  std::int64_t length() const override { return value_.length(); }
  at::Tensor half_life() const override { return median_of(half_lives(log_decay_.all())); }
  at::Tensor state_norm(const StopToken& stop) const override {
    return state_norms(length(), heads(), stop, [&](Range token, at::Tensor& state) {
      const auto row = [&](const TokenRows& all) { return all.of(token).unsqueeze(0); };
      const at::Tensor decay = row(log_decay_);  // (1, H, 1, 1 or D)
      delta_rule({row(query_), row(key_), row(value_), row(beta_).squeeze(-1),
                  decay.size(-1) == 1 ? decay.squeeze(-1) : decay},
                 state);
    });
  }
  at::Tensor value() const override { return value_.all(); }

  at::Tensor tile(Range heads, Range rows, Range columns, Decay decay) const override {
    const at::NoGradGuard no_grad;
    at::Tensor cells = at::zeros({heads.size(), rows.size(), columns.size()}, value_.options());
    at::Tensor seen;  // (h, rows that end right of `end`, D) z
    for (std::int64_t end = rows.empty() ? 0 : chunk_of(rows.end - 1, length()).end; end > columns.begin;) {
      if (end % kJump == 0 && end <= rows.begin && end - kJump >= columns.end) {
        seen = at::matmul(seen, jump(heads, end / kJump - 1, decay));
        end -= kJump;
        continue;
      }
      const Range tokens = chunk_of(end - 1, length());
      const Range own = rows.clamped(tokens);
      const at::Tensor found = step(chunk(heads, tokens, decay), own, seen);
      const Range shared = columns.clamped(tokens);
      cells.slice(1, std::max<std::int64_t>(0, own.begin - rows.begin))
          .slice(2, shared.begin - columns.begin, shared.end - columns.begin)
          .copy_(found.slice(2, shared.begin - tokens.begin, shared.end - tokens.begin));
      end = tokens.begin;
    }
    return cells;
  }

  std::shared_ptr<const ImpliedMap> continued(std::int64_t count, const ImpliedMap& later) const override {
    const auto& added = dynamic_cast<const DeltaMap&>(later);
    auto all = std::make_shared<DeltaMap>();
    all->query_ = query_.continued(count, added.query_);
    all->key_ = key_.continued(count, added.key_);
    all->value_ = value_.continued(count, added.value_);
    all->beta_ = beta_.continued(count, added.beta_);
    all->log_decay_ = log_decay_.continued(count, added.log_decay_);
    // Jumps over the first tokens stay what they are.
    const auto known = static_cast<std::size_t>(count / kJump * heads());
    const std::lock_guard lock(mutex_);
    for (std::size_t n = 0; n < jumps_.size(); ++n) {
      all->jumps_[n] = jumps_[n];
      all->jumps_[n].resize(std::min(known, jumps_[n].size()));
    }
    return all;
  }
  std::vector<at::Tensor> inputs() const override { return stretches_of({query_, key_, value_, beta_, log_decay_}); }

 private:
  Chunk chunk(Range heads, Range tokens, Decay decay) const {
    const auto part = [&](const TokenRows& all) { return all.of(tokens, heads); };
    const at::Tensor key = part(key_);
    const at::Tensor beta = part(beta_);
    const at::ScalarType type = key.scalar_type();
    const at::Tensor sums = decay == Decay::kOff ? at::zeros({heads.size(), tokens.size(), 1}, at::kDouble)
                                                 : decay_sums(part(log_decay_), 1);
    const at::Tensor total = sums.narrow(1, tokens.size() - 1, 1);
    const at::Tensor pairs = decayed_products({tokens, key * beta, sums}, {tokens, key, sums});
    return {{tokens, part(query_), sums},
            {tokens, key, sums},
            key * sums.exp().to(type),
            key * (total - sums).exp().to(type),
            total.exp().to(type),
            at::linalg_solve_triangular(pairs, at::diag_embed(beta.squeeze(-1)), /*upper=*/false, /*left=*/true,
                                        /*unitriangular=*/true)};
  }

  // (h, rows, n) cells of the chunk: of its `own` rows, above those of `seen`. `seen` goes on to the chunk's begin.
  static at::Tensor step(const Chunk& chunk, Range own, at::Tensor& seen) {
    at::Tensor asked, kept;
    if (!own.empty()) {
      const DecayingTokens query = chunk.query.part(own);
      asked = decayed_products(query, chunk.key);
      kept = query.vectors * query.sums.exp().to(asked.scalar_type());
    }
    if (seen.defined()) {
      const at::Tensor later = at::matmul(seen, chunk.to_end.transpose(1, 2));
      asked = asked.defined() ? at::cat({asked, later}, 1) : later;
      const at::Tensor decayed = seen * chunk.total;
      kept = kept.defined() ? at::cat({kept, decayed}, 1) : decayed;
    }
    at::Tensor found = at::matmul(asked, chunk.solved);
    seen = kept - at::matmul(found, chunk.from_start);
    return found;
  }

  // (h, D, D) what tokens kJump·index … make of z.
  at::Tensor jump(Range heads, std::int64_t index, Decay decay) const {
    const auto place = [&](std::int64_t head) { return static_cast<std::size_t>(index * this->heads() + head); };
    std::vector<at::Tensor>& jumps = jumps_[static_cast<std::size_t>(decay)];
    std::vector<at::Tensor> found;
    {
      const std::lock_guard lock(mutex_);
      jumps.resize(std::max(jumps.size(), place(heads.end)));
      for (std::int64_t head = heads.begin; head < heads.end && jumps[place(head)].defined(); ++head) {
        found.push_back(jumps[place(head)]);
      }
    }
    if (static_cast<std::int64_t>(found.size()) == heads.size()) {
      return at::stack(found);
    }
    at::Tensor made = at::eye(key_.of({0, 0}).size(-1), key_.options()).repeat({heads.size(), 1, 1});
    for (std::int64_t end = (index + 1) * kJump; end > index * kJump; end -= kChunk) {
      step(chunk(heads, {end - kChunk, end}, decay), {}, made);
    }
    const std::lock_guard lock(mutex_);
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      jumps[place(head)] = made[head - heads.begin].clone();
    }
    return made;
  }

  TokenRows query_, key_, value_;  // (H, T, D or P)
  TokenRows beta_;                 // (H, T, 1)
  TokenRows log_decay_;            // (H, T, 1 or D)
  mutable std::mutex mutex_;
  // By Decay, each by jump and head: (D, D) where it was needed.
  mutable std::array<std::vector<at::Tensor>, 2> jumps_;
};

}  // namespace

std::shared_ptr<const ImpliedMap> implied_map(const DeltaInputs& inputs) {
  const at::NoGradGuard no_grad;
  return std::make_shared<DeltaMap>(inputs);
}

}  // namespace locus::mixers
