// EditedEncoding: a layer's position encoding with the edits of the layer's heads. It prepares queries and keys with
// other angles, and returns logits that are scaled, biased, masked and replaced, so that attention and score maps
// agree. Works tile by tile, with O(T) memory besides the tile.
//
// Letters: B batch, H heads, T tokens, R tile rows, K tile columns, M rotary pairs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/attention/attend.h"
#include "core/position/position_encoding.h"
#include "core/position/shared/pair_form.h"
#include "core/position/shared/transforming.h"
#include "models/api/edits.h"
#include "models/edits/fields.h"
#include "models/edits/formula.h"

namespace locus::models {

// A formula of d = p_i − p_j and other variables. A formula that depends on no single position is tabulated for all
// whole distances between `low` and `high`.
struct BiasFormula {
  Formula formula;
  std::int64_t heads = 1;   // H
  std::int64_t length = 1;  // T
  double trained = 0;       // L
  // Per head (D) float32 from `low` on; undefined where evaluated cell by cell.
  std::vector<at::Tensor> tables{};
  double low = 0;
};

// Gates that the head does not compute: of these tokens as keys (empty: of all).
struct HeadGates {
  Range tokens;
  std::optional<double> value;  // none: the geometric mean of the head's gates over the run
};

// β that the head does not compute: of these tokens (empty: of all).
struct HeadStrengths {
  Range tokens;
  std::optional<double> value;  // none: the mean of the head's over the run
};

// Positions that the head does not compute: of these tokens (empty: of all).
struct HeadPlace {
  Range tokens;
  PlaceValue to;
};

// Edits of one head, in the order of application.
struct HeadEdits {
  std::optional<at::Tensor> angles;      // (M) float64 θ instead of the encoding's
  std::vector<std::int64_t> still;       // pairs
  std::vector<std::int64_t> dropped;     // pairs
  std::vector<HeadGates> gates;          // the last of a token holds
  std::vector<HeadStrengths> strengths;  // likewise
  std::vector<Range> directed;           // tokens (empty: all) whose direction is the head's mean over the run
  std::vector<HeadPlace> places;         // one after the other
  double scale = 1;
  std::vector<std::shared_ptr<const BiasFormula>> biases;
  std::vector<std::pair<Range, Range>> edges;  // queries, keys
  std::optional<HeadTo> to;                    // replacement of the weights: neither zero nor mean

  // True if the edits change the input of the soft-max, before cells are masked.
  bool changes() const { return scale != 1 || !biases.empty(); }
  bool turns() const { return angles || !still.empty() || !dropped.empty(); }
  bool scores() const {
    return changes() || !gates.empty() || !strengths.empty() || !directed.empty() || !places.empty() ||
           !edges.empty() || to;
  }
};

// Limit of edited scores: beyond it neither float32 sums nor differences of scores are meaningful.
inline constexpr double kMaxScore = 1e12;

class EditedEncoding final : public position::PositionEncoding, public position::Paired, public position::Transforming {
 public:
  // `heads` has an entry per head. The cap of the logits is applied here (0: none), so that edits act on the input of
  // the soft-max. `grid_columns`: columns of an image's patches; 0 for text. `mask`: the layer's.
  EditedEncoding(std::shared_ptr<const position::PositionEncoding> own, std::vector<HeadEdits> heads, double soft_cap,
                 std::int64_t grid_columns, const attention::Mask& mask);

  const std::shared_ptr<const position::PositionEncoding>& own() const { return own_; }
  // True if a visible cell of the scores computed so far was clamped to ±kMaxScore.
  bool overflowed() const { return overflowed_; }

  const position::Description& description() const override { return own_->description(); }
  Settings settings() const override { return own_->settings(); }
  Status accepts(const position::Positions& positions) const override { return own_->accepts(positions); }
  position::State begin(const position::Positions& positions, std::int64_t batch) const override {
    return own_->begin(positions, batch);
  }
  at::Tensor embed(const position::State& state) const override { return own_->embed(state); }
  position::Prepared prepare(const position::State& state, std::int64_t layer,
                             const position::Projections& projections) const override;
  // Masked cells are −∞.
  position::TileScores score(const position::Prepared& prepared, const position::Tile& tile,
                             const position::Wanted& wanted, const at::Tensor& carry) const override;
  // True where an edit names tokens: gathering tokens would change its cells.
  bool needs_carry() const override { return own_->needs_carry(); }
  bool follows_between() const override { return own_->follows_between() || by_token_; }
  bool is_dot_product() const override { return false; }
  bool is_linear() const override { return own_->is_linear(); }
  at::Tensor learned_positions(const position::Prepared& prepared) const override {
    return own_->learned_positions(places_ ? with_places(prepared) : prepared);
  }
  at::Tensor log_gates(const position::Prepared& prepared) const override {
    return own_->log_gates(gates_ ? with_gates(prepared) : prepared);
  }
  // Edits of logits alone leave what stands between key and query as the encoding has it.
  const position::Transforming* transforming() const override {
    return strengths_ || directed_ ? this : own_->transforming();
  }
  at::Tensor strengths(const position::Prepared& prepared) const override {
    return own_->transforming()->strengths(with_strengths(prepared));
  }
  at::Tensor mean_direction(const position::Prepared& prepared, std::int64_t layer, Range heads) const override {
    return own_->transforming()->mean_direction(prepared, layer, heads);
  }
  at::Tensor deviation(const position::Prepared& prepared, const position::Tile& tile) const override {
    return own_->transforming()->deviation(with_reflections(prepared, tile.layer, tile.heads), tile);
  }
  at::Tensor carried(const position::Prepared& prepared, const position::Tile& tile) const override {
    return own_->transforming()->carried(with_reflections(prepared, tile.layer, tile.heads), tile);
  }
  position::TransformSteps steps(const position::Prepared& prepared, std::int64_t layer, std::int64_t head,
                                 std::int64_t query, std::int64_t key, const StopToken& stop) const override {
    return own_->transforming()->steps(with_reflections(prepared, layer, {head, head + 1}), layer, head, query, key,
                                       stop);
  }
  double scale() const override { return own_->scale(); }
  bool hard_attention() const override { return own_->hard_attention(); }
  at::Tensor state_values(const position::State& state, std::int64_t layer) const override {
    return own_->state_values(state, layer);
  }
  void after_attention(position::State& state, std::int64_t layer, const Attended& attended) const override {
    own_->after_attention(state, layer, attended);
  }
  void after_feed_forward(position::State& state, std::int64_t layer, const at::Tensor& output) const override {
    own_->after_feed_forward(state, layer, output);
  }
  at::Tensor vectors(const position::State& state, std::int64_t layer) const override {
    return own_->vectors(state, layer);
  }
  Result<at::Tensor> distances(const position::State& state, const position::Prepared& prepared,
                               const position::Tile& tile) const override {
    const position::Prepared placed = places_ ? with_places(prepared) : prepared;
    return own_->distances(state, gates_ ? with_gates(placed) : placed, tile);
  }
  // Errors: kUnsupported; edited logits are not a sum over pairs.
  Result<position::PairForm> pair_form(const position::Prepared& prepared, std::int64_t layer) const override;

 private:
  // With Prepared::given_gates of the edited heads.
  position::Prepared with_gates(const position::Prepared& prepared) const;
  // With Prepared::given_strengths of the edited heads.
  position::Prepared with_strengths(const position::Prepared& prepared) const;
  // With the directions of the edited ones of these heads too.
  position::Prepared with_reflections(const position::Prepared& prepared, std::int64_t layer, Range heads) const;
  // With the positions of the edited heads.
  position::Prepared with_places(const position::Prepared& prepared) const;
  // (B, R, K) scaled and biased in float64, clamped to ±kMaxScore; −∞ where a formula masks.
  at::Tensor changed(const HeadEdits& edits, const at::Tensor& logits, const at::Tensor& places,
                     const position::Tile& tile, std::int64_t head) const;
  // (R, K) float64, −∞ where masked.
  at::Tensor bias(const BiasFormula& bias, const at::Tensor& places, const position::Tile& tile,
                  std::int64_t head) const;
  // Edits the logits of one head, (B, R, K), in place.
  void edit(const HeadEdits& head, at::Tensor logits, const at::Tensor& content, const position::Tile& tile) const;

  std::shared_ptr<const position::PositionEncoding> own_;
  std::vector<HeadEdits> heads_;
  double soft_cap_;
  std::int64_t grid_columns_;
  attention::Mask mask_;
  bool by_token_ = false;
  bool turns_ = false;
  bool gates_ = false;
  bool strengths_ = false;
  bool directed_ = false;
  bool places_ = false;
  mutable std::atomic<bool> overflowed_{false};
};

// (T) float64: the ids of a text (the time component of vector positions), or the row-major index of an image's patches
// (0 before them).
at::Tensor places_of(const position::Positions& positions, std::int64_t grid_columns);

}  // namespace locus::models
