#include "core/attention/one_query.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/attention/lane_kernels.h"
#include "core/attention/row_scores.h"

namespace locus::attention {

namespace {

constexpr std::int64_t kKeysAtOnce = 256;           // whose vectors stay in the cache for the heads that share them
constexpr std::int64_t kProductsPerTask = 1 << 18;  // fewer take less time than starting a thread
constexpr float kNone = -std::numeric_limits<float>::infinity();

bool side_by_side(const at::Tensor& vectors) {
  return vectors.device().is_cpu() && vectors.scalar_type() == at::kFloat && vectors.stride(3) == 1;
}

// One query of some heads of a batch, which share a key head.
class SharedKeys {
 public:
  SharedKeys(const Attention& attention, std::int64_t row, Range keys)
      : attention_(attention), row_(row), keys_(keys), columns_((keys.size() + kLanes - 1) / kLanes) {}

  // output[h − heads.begin][e], which is 0 before, and log_sum_exp[h − heads.begin].
  void attend(std::int64_t batch, Range heads, float* output, float* log_sum_exp) {
    const std::int64_t all = attention_.prepared.query.size(1);
    const TokenVectors key(attention_.prepared.key, batch, heads.begin, all);
    const TokenVectors value(attention_.value, batch, heads.begin, all);
    queries_.resize(heads.size() * key.width);
    scores_.resize(heads.size() * columns_ * kLanes);
    std::fill_n(scores_.data(), heads.size() * columns_ * kLanes, 0.0F);
    const auto scale = static_cast<float>(attention_.encoding.scale());
    for (std::int64_t n = 0; n < heads.size(); ++n) {
      const float* const query = TokenVectors(attention_.prepared.query, batch, heads.begin + n, all).at(row_);
      std::transform(query, query + key.width, queries_.data() + n * key.width, [&](float x) { return x * scale; });
    }
    for (std::int64_t from = keys_.begin; from < keys_.end; from += kKeysAtOnce) {
      for (std::int64_t n = 0; n < heads.size(); ++n) {
        kernels_.query_product(queries_.data() + n * key.width, key.at(from), key.token_stride, 1, key.width,
                               std::min(kKeysAtOnce, keys_.end - from), scores(n) + from - keys_.begin);
      }
    }
    for (std::int64_t n = 0; n < heads.size(); ++n) {
      log_sum_exp[n] = soft_max(scores(n));
    }
    for (std::int64_t from = keys_.begin; from < keys_.end; from += kKeysAtOnce) {
      for (std::int64_t n = 0; n < heads.size(); ++n) {
        kernels_.query_product(scores(n) + from - keys_.begin, value.at(from), 1, value.token_stride,
                               std::min(kKeysAtOnce, keys_.end - from), value.width, output + n * value.width);
      }
    }
  }

 private:
  // The scores of a head, padded to whole rows of 64 as the kernels read them.
  float* scores(std::int64_t n) { return scores_.data() + n * columns_ * kLanes; }

  // Turns scores into weights; returns log Σ exp. Without a finite score, weights of 0 and +∞.
  float soft_max(float* scores) const {
    if (attention_.soft_cap > 0) {
      kernels_.soft_cap(scores, columns_, static_cast<float>(attention_.soft_cap));
    }
    std::fill(scores + keys_.size(), scores + columns_ * kLanes, kNone);
    alignas(64) std::array<float, kLanes> lanes{};
    lanes.fill(kNone);
    kernels_.maximum(scores, columns_, lanes.data());
    const float largest = *std::max_element(lanes.begin(), lanes.end());
    if (largest == kNone && std::none_of(scores, scores + keys_.size(), [](float x) { return std::isnan(x); })) {
      std::fill_n(scores, columns_ * kLanes, 0.0F);
      return -kNone;
    }
    lanes.fill(largest);
    kernels_.exponentiate(scores, columns_, lanes.data());
    lanes.fill(0);
    kernels_.sum(scores, columns_, lanes.data());
    const float sum = std::accumulate(lanes.begin(), lanes.end(), 0.0F);
    lanes.fill(1 / sum);
    kernels_.scale(scores, columns_, lanes.data());
    return std::log(sum) + largest;
  }

  const Attention& attention_;
  std::int64_t row_;
  Range keys_;
  std::int64_t columns_;
  const LaneKernels& kernels_ = lane_kernels();
  LaneBuffer queries_;
  LaneBuffer scores_;
};

}  // namespace

std::optional<Attended> attend_one_query(const Attention& attention, std::int64_t row) {
  const at::Tensor& query = attention.prepared.query;
  const at::Tensor& key = attention.prepared.key;
  const Range keys = attention.mask.columns({row, row + 1}, key.size(2));
  if (attention.state_values.defined() || !side_by_side(query) || !side_by_side(key) ||
      !side_by_side(attention.value) || keys.empty()) {
    return std::nullopt;
  }
  const std::int64_t batch = query.size(0);
  const std::int64_t heads = query.size(1);
  const std::int64_t group = heads / key.size(1);
  const std::int64_t width = attention.value.size(3);
  at::Tensor output = at::zeros({batch, 1, heads, width}, query.options());
  at::Tensor log_sum_exp = at::empty({batch, heads, 1}, query.options());
  auto* const outputs = output.data_ptr<float>();
  auto* const sums = log_sum_exp.data_ptr<float>();
  const std::int64_t products = keys.size() * (key.size(3) + width);
  at::parallel_for(0, batch * heads, std::max<std::int64_t>(1, kProductsPerTask / products),
                   [&](std::int64_t begin, std::int64_t end) {
                     SharedKeys shared(attention, row, keys);
                     for (std::int64_t n = begin; n < end;) {  // heads of the batches, one after another
                       const std::int64_t next = std::min((n / group + 1) * group, end);
                       const std::int64_t first = n % heads;
                       shared.attend(n / heads, {first, first + next - n}, outputs + n * width, sums + n);
                       n = next;
                     }
                   });
  return Attended{output.transpose(1, 2), {}, log_sum_exp, {}};
}

}  // namespace locus::attention
