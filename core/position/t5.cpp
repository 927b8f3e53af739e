#include "core/position/t5.h"

#include <cmath>
#include <string>

#include "core/position/list.h"
#include "core/position/shared/additive_bias.h"

namespace locus::position {

const OptionTable<T5Options> T5Options::kTable{
    {"buckets", &T5Options::buckets, "half of them hold one distance each; both directions share them"},
    {"max_distance", &T5Options::max_distance, "all farther keys fall in the last bucket"},
    {"scaled", &T5Options::scaled, "divide q·k by √D"},
    {"per_layer", &T5Options::per_layer, "every layer has its own biases: layers.N.relative_attention_bias"},
};

Status T5Options::check() const {
  constexpr std::int64_t kMaxBuckets = 65536;
  if (buckets < 4 || buckets > kMaxBuckets || buckets % 4 != 0) {
    return wrong_option("buckets", "a multiple of 4 from 4 to " + std::to_string(kMaxBuckets), buckets);
  }
  if (max_distance <= buckets / 2) {
    return wrong_option("max_distance", "more than half the buckets", max_distance);
  }
  return {};
}

at::Tensor t5_buckets(const at::Tensor& key_minus_query, bool causal, std::int64_t buckets, std::int64_t max_distance) {
  const at::Tensor relative = key_minus_query.to(at::kLong);
  const std::int64_t side = causal ? buckets : buckets / 2;
  const at::Tensor distance = causal ? (-relative).clamp_min(0) : relative.abs();
  const std::int64_t exact = side / 2;
  const at::Tensor logarithm = at::log(distance.clamp_min(1).to(at::kFloat) / static_cast<double>(exact)) /
                               std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const at::Tensor far = (logarithm * static_cast<double>(side - exact)).to(at::kLong) + exact;
  const at::Tensor bucket = at::where(distance < exact, distance, far.clamp_max(side - 1));
  return causal ? bucket : bucket + (relative > 0).to(at::kLong) * side;
}

const Description& T5::about() {
  static const Description description{
      .name = "t5",
      .title = "T5 relative bias",
      .paper = "Raffel et al. 2020, arXiv:1910.10683",
      .equation = "q_i·k_j + b_h[bucket(i − j)]",
      .content = "q·k (T5 omits 1/√D)",
      .parameters = {{"relative_attention_bias", "(buckets, H)", "b, one number a bucket and head"}},
      .options = T5Options::kTable.described(),
      .scores = true,
      .no_distance = "a bucket holds many of them and gives them one bias",
  };
  return description;
}

T5::T5(const ModelShape& shape, const T5Options& options)
    : WithOptions(shape, options),
      bias_("relative_attention_bias", shape.layers, options.per_layer, {options.buckets, shape.heads}, [&] {
        return at::randn({options.buckets, shape.heads}) / std::sqrt(static_cast<double>(shape.width));
      }) {}

TileScores T5::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                     const at::Tensor& /*carry*/) const {
  const at::Tensor bias = bias_.of(tile.layer).slice(1, tile.heads.begin, tile.heads.end);
  return score_with_bias(*this, prepared, tile, wanted, [&](const at::Tensor& distances) {
    const at::Tensor bucket = t5_buckets(-distances, shape_.causal, options_.buckets, options_.max_distance);
    return bias.index_select(0, bucket.to(bias.device())).transpose(0, 1);
  });
}

Entry t5_encoding() {
  return {T5::about(), T5::make};
}

}  // namespace locus::position
