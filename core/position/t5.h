// T5's relative bias: a learned number for every bucket of distances and every head.
#pragma once

#include <memory>

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct T5Options : TableOptions<T5Options> {
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;  // farther keys share the last bucket
  bool scaled = false;              // divide q·k by √D (T5 itself does not)
  bool per_layer = false;           // every layer has its own biases (T5 shares those of the first)

  static const OptionTable<T5Options> kTable;
  Status check() const;
};

// (n) key − query distances, whole numbers in float64 -> (n) int64 buckets. The first half of a direction's buckets
// hold one distance each, the others grow logarithmically (float32 logarithm, as T5 computes it) up to max_distance.
at::Tensor t5_buckets(const at::Tensor& key_minus_query, bool causal, std::int64_t buckets, std::int64_t max_distance);

// logit_ij = q_i·k_j + b_h[bucket(i − j)]
class T5 final : public WithOptions<T5, T5Options>, public AddsToContent {
 public:
  static const Description& about();

  // The biases start Gaussian with standard deviation 1/√C, as T5 does.
  T5(const ModelShape& shape, const T5Options& options);

  std::vector<Parameter> parameters() override { return parameters_of({&bias_}); }
  bool is_dot_product() const override { return false; }
  double scale() const override { return options_.scaled ? PositionEncoding::scale() : 1.0; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  LayerParameter bias_;  // (buckets, H)
};

}  // namespace locus::position
