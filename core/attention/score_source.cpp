#include <string>
#include <utility>

#include "core/attention/attend.h"
#include "core/attention/fused_scores.h"
#include "core/attention/score_field.h"
#include "core/position/shared/transforming.h"

namespace locus::attention {

namespace {

// A named part of the logits; undefined where the encoding has none.
at::Tensor term(const position::TileScores& scores, const std::string& name) {
  for (const auto& [own, value] : scores.terms) {
    if (own == name) {
      return value;
    }
  }
  return {};
}

// (h, R, K) of what stands between key and query.
Result<at::Tensor> transformed(const position::PositionEncoding& encoding, const position::Prepared& prepared,
                               Quantity quantity, const position::Tile& tile) {
  const position::Transforming* const own = encoding.transforming();
  if (own == nullptr) {
    return unsupported("encoding " + encoding.description().name + " has no " + describe(quantity));
  }
  if (prepared.key.size(3) > position::Transforming::kMaxWidth) {
    return too_large(describe(quantity) + ": heads of " + std::to_string(prepared.key.size(3)) +
                     " channels, of at most " + std::to_string(position::Transforming::kMaxWidth));
  }
  return (quantity == Quantity::kDeviation ? own->deviation(prepared, tile) : own->carried(prepared, tile))
      .select(0, 0);
}

}  // namespace

ComputedScores::ComputedScores(std::shared_ptr<const position::PositionEncoding> encoding, std::int64_t layer,
                               position::Prepared prepared, at::Tensor log_sum_exp, at::Tensor chosen, double soft_cap)
    : encoding_(std::move(encoding)),
      layer_(layer),
      soft_cap_(soft_cap),
      prepared_(std::move(prepared)),
      log_sum_exp_(std::move(log_sum_exp)),
      chosen_(std::move(chosen)) {}

std::shared_ptr<const ComputedScores> ComputedScores::unsummed(
    std::shared_ptr<const position::PositionEncoding> encoding, std::int64_t layer, position::Prepared prepared,
    const Mask& mask, double soft_cap) {
  std::optional<RowProgram> program = RowProgram::make(*encoding, prepared, layer, mask, soft_cap);
  if (!program) {
    return nullptr;
  }
  auto made = std::make_shared<ComputedScores>(std::move(encoding), layer, std::move(prepared), at::Tensor(),
                                               at::Tensor(), soft_cap);
  made->fused_ = std::make_shared<const FusedScores>(*std::move(program), at::Tensor());
  return made;
}

at::Tensor ComputedScores::log_sum_exp() const {
  return fused_ ? *fused_->log_sum_exp() : log_sum_exp_;
}

std::shared_ptr<const FusedScores> ComputedScores::fused(const Mask& mask) const {
  if (fused_) {
    return fused_;
  }
  std::optional<RowProgram> program = RowProgram::make(*encoding_, prepared_, layer_, mask, soft_cap_);
  const bool summed = log_sum_exp_.defined() && log_sum_exp_.size(0) == 1;
  return program && summed ? std::make_shared<const FusedScores>(*std::move(program), log_sum_exp_) : nullptr;
}

Result<at::Tensor> ComputedScores::scores(Quantity quantity, Range heads, Range rows, Range columns,
                                          at::Tensor& carry) const {
  const at::NoGradGuard no_grad;
  if (quantity == Quantity::kDeviation || quantity == Quantity::kCarried) {
    return transformed(*encoding_, prepared_, quantity, {layer_, heads, rows, columns});
  }
  position::Wanted wanted;
  wanted.content = quantity == Quantity::kContent || quantity == Quantity::kContribution;
  wanted.gates = quantity == Quantity::kGate;
  wanted.positions = quantity == Quantity::kPosition;
  wanted.terms = quantity == Quantity::kC2p || quantity == Quantity::kP2c;
  position::TileScores scores = encoding_->score(prepared_, {layer_, heads, rows, columns}, wanted, carry);
  carry = scores.carry;
  // A content that is the logit itself must not be capped twice.
  const at::Tensor uncapped = scores.logits;
  scores.logits = soft_capped(soft_cap_ > 0 ? uncapped.clone() : uncapped, soft_cap_);
  if (scores.content.defined() && soft_cap_ > 0) {
    scores.content = soft_capped(scores.content.clone(), soft_cap_);
  }
  at::Tensor result;
  switch (quantity) {
    case Quantity::kWeight: {
      if (chosen_.defined()) {
        const at::Tensor chosen = chosen_.slice(1, heads.begin, heads.end).slice(2, rows.begin, rows.end);
        const at::Tensor keys = at::arange(columns.begin, columns.end, chosen.options());
        result = (chosen.unsqueeze(-1) == keys).to(scores.logits.dtype());
        break;
      }
      const at::Tensor sums = log_sum_exp().slice(1, heads.begin, heads.end).slice(2, rows.begin, rows.end);
      result = scores.logits.sub_(sums.unsqueeze(-1)).exp_();
      break;
    }
    case Quantity::kLogit:
      result = scores.logits;
      break;
    case Quantity::kContent:
      result = scores.content;
      break;
    case Quantity::kContribution:
      result = scores.content.defined() ? scores.logits - scores.content : at::Tensor();
      break;
    case Quantity::kGate:
      result = scores.gates;
      break;
    case Quantity::kPosition:
      result = scores.positions;
      break;
    case Quantity::kC2p:
      result = term(scores, "c2p");
      break;
    case Quantity::kP2c:
      result = term(scores, "p2c");
      break;
    case Quantity::kDeviation:
    case Quantity::kCarried:
      break;
    case Quantity::kImplied:
      return unsupported("implied weights are those of layers without a soft-max: ask for the side \"mixer\"");
  }
  if (!result.defined()) {
    return unsupported("encoding " + encoding_->description().name + " has no " + describe(quantity));
  }
  return result.select(0, 0);
}

StoredScores::StoredScores(std::map<Quantity, at::Tensor> maps, std::shared_ptr<const ScoreSource> rest)
    : maps_(std::move(maps)), rest_(std::move(rest)) {
  heads_ = rest_ ? rest_->heads() : maps_.begin()->second.size(0);
  length_ = rest_ ? rest_->length() : maps_.begin()->second.size(1);
  keys_ = rest_ ? rest_->keys() : maps_.begin()->second.size(2);
}

Result<at::Tensor> StoredScores::scores(Quantity quantity, Range heads, Range rows, Range columns,
                                        at::Tensor& carry) const {
  const auto found = maps_.find(quantity);
  if (found == maps_.end() && rest_) {
    return rest_->scores(quantity, heads, rows, columns, carry);
  }
  if (found == maps_.end()) {
    return unsupported("this trace does not store the " + describe(quantity) + " of its layers");
  }
  return found->second.slice(0, heads.begin, heads.end)
      .slice(1, rows.begin, rows.end)
      .slice(2, columns.begin, columns.end)
      .to(at::kFloat);
}

}  // namespace locus::attention
