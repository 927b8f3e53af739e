#include "core/attention/implied_scores.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace locus::attention {

namespace {

constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kSummedColumns = 2048;

}  // namespace

ImpliedScores::ImpliedScores(std::shared_ptr<const mixers::ImpliedMap> map) : map_(std::move(map)) {}

at::Tensor ImpliedScores::row_sums(Range heads, Range rows) const {
  const auto part = [&](const at::Tensor& all) {
    return all.slice(0, heads.begin, heads.end).slice(1, rows.begin, rows.end);
  };
  {
    const std::scoped_lock lock(mutex_);
    if (!sums_.defined()) {  // most layers of a typed text are never looked at
      sums_ = at::full({map_->heads(), map_->length()}, kNoScore);
    }
    if (const at::Tensor known = part(sums_); !known.isnan().any().item<bool>()) {
      return known.clone();
    }
  }
  at::Tensor sums = at::zeros({heads.size(), rows.size()});
  for (std::int64_t column = 0; column < rows.end; column += kSummedColumns) {
    sums += map_->tile(heads, rows, {column, std::min(column + kSummedColumns, rows.end)}).abs_().sum(-1).cpu();
  }
  const std::scoped_lock lock(mutex_);
  part(sums_).copy_(sums);
  return sums;
}

Result<at::Tensor> ImpliedScores::scores(Quantity quantity, Range heads, Range rows, Range columns,
                                         at::Tensor& /*carry*/) const {
  const at::NoGradGuard no_grad;
  switch (quantity) {
    case Quantity::kImplied:
      return map_->tile(heads, rows, columns);
    case Quantity::kContent:
      return map_->tile(heads, rows, columns, mixers::Decay::kOff);
    case Quantity::kContribution:
      return map_->tile(heads, rows, columns) - map_->tile(heads, rows, columns, mixers::Decay::kOff);
    case Quantity::kWeight: {
      const at::Tensor tile = map_->tile(heads, rows, columns).abs_();
      const at::Tensor sums = row_sums(heads, rows).unsqueeze(-1).to(tile.device());
      return at::where(sums > 0, tile / sums, 0.0F);
    }
    case Quantity::kLogit:
    case Quantity::kGate:
    case Quantity::kPosition:
    case Quantity::kC2p:
    case Quantity::kP2c:
    case Quantity::kDeviation:
    case Quantity::kCarried:
      break;
  }
  return unsupported("a layer without a soft-max has no " + describe(quantity));
}

Result<at::Tensor> NoScores::scores(Quantity /*quantity*/, Range heads, Range rows, Range columns,
                                    at::Tensor& /*carry*/) const {
  return at::full({heads.size(), rows.size(), columns.size()}, kNoScore);
}

}  // namespace locus::attention
