// DeBERTa's disentangled attention: content meets content, content meets relative position, and position content.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/position/shared/with_options.h"

namespace locus::position {

struct DisentangledOptions : TableOptions<DisentangledOptions> {
  std::int64_t buckets = 256;       // S: relative positions to each side; 0: one per distance
  std::int64_t max_distance = 512;  // M: farther keys share the last bucket; without buckets S itself
  bool c2p = true;                  // a query's content meets the relative position
  bool p2c = true;                  // a key's content meets it
  bool norm = true;                 // the relative positions' rows are normed (LayerNorm)
  double norm_eps = 1e-7;
  bool key_bias = true;  // the projection of the positions that queries meet has a bias (not in DeBERTa v1)

  std::int64_t span() const { return buckets > 0 ? buckets : max_distance; }  // S
  static const OptionTable<DisentangledOptions> kTable;
  Status check() const;
};

// (n) query − key distances, whole numbers in float64 -> (n) int64 rows of the table, 0 … 2S − 1. The first half of a
// side's buckets hold one distance each, the others grow logarithmically up to M − 1 (the paper's code:
// make_log_bucket).
at::Tensor disentangled_rows(const at::Tensor& query_minus_key, const DisentangledOptions& options);

// logit_ij = (q_i·k_j + q_i·Pk[δ(i − j)] + k_j·Pq[δ(i − j)]) / √(D·n), n = 1 + the number of position parts;
// Pk = W_k·P + b_k and Pq = W_q·P + b_q of the layer and head (DeBERTa v3: the layer's own key and query projections).
// The parts are the terms "content", "c2p" and "p2c".
class Disentangled final : public WithOptions<Disentangled, DisentangledOptions> {
 public:
  static const Description& about();
  static Status settle(DisentangledOptions& options, const ModelShape& shape);

  // P starts Gaussian with standard deviation 0.02, as the projections do.
  Disentangled(const ModelShape& shape, const DisentangledOptions& options);

  std::vector<Parameter> parameters() override;
  bool is_dot_product() const override { return false; }
  double scale() const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // The rows of the table that distances reach, projected, and met by every query and key.
  double macs(std::int64_t layer, std::int64_t length) const override;

 private:
  struct Projection {
    at::Tensor weight;  // (H·D, C); of keys (Hkv·D, C)
    at::Tensor bias;    // (H·D)
  };
  // (h, |rows|, D): these rows of the table as these query heads of a layer see them; `group` of them share a key head.
  at::Tensor projected(const Projection& projection, Range heads, std::int64_t group, Range rows) const;

  at::Tensor table_;  // (2S, C)
  at::Tensor norm_weight_, norm_bias_;
  std::vector<Projection> key_, query_;  // of each layer
};

}  // namespace locus::position
