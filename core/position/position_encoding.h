// PositionEncoding: the one interface of every position encoding.
//
// An encoding may act at four places of a transformer, and says which:
//   embed   add to the token embeddings                        (APE-learned, APE-sinusoidal, SeqPE input-add)
//   rotate  turn a layer's q and k into what the score sees    (RoPE, xPos, TAPE, SeqPE, RoPE-2D)      -> prepare()
//   score   the logit of query i and key j                     (ALiBi, T5, FIRE, Shaw, CoPE, TAPA)     -> score()
//   update  carry a state from layer to layer                  (TAPE)             -> after_attention(),
//   after_feed_forward()
//
// One forward pass:
//   State state = e.begin(positions, B);              x += e.embed(state)
//   each layer: Prepared p = e.prepare(state, layer, projections);
//               softmax over tiles of e.score(p, tile);   attend over V, and over e.state_values(state, layer) if
//               defined e.after_attention(state, …); feed-forward y;  e.after_feed_forward(state, layer, y)
//
// Letters: B batch, T tokens, H query heads, Hkv key heads (H a multiple of Hkv), D head width, C channels, R tile rows
// (queries i), K tile columns (keys j), Δ = i − j. Everything is a differentiable ATen expression, float32 unless the
// inputs are float64. Nothing here allocates (T, T) unless a tile asks for it. An encoding is immutable after
// construction and loading: const calls may come from several threads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/range.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "core/position/shared/description.h"
#include "core/position/shared/positions.h"

namespace locus::position {

// The model an encoding is built for.
struct ModelShape {
  std::int64_t layers = 1;
  std::int64_t heads = 1;           // H
  std::int64_t kv_heads = 1;        // Hkv
  std::int64_t head_width = 1;      // D
  std::int64_t width = 1;           // C
  std::int64_t trained_length = 0;  // tokens; 0 when unknown
  bool causal = true;
};

// State of an encoding in one run: computed once from the positions by begin(), and for TAPE renewed after every
// layer.
struct State {
  Positions positions;
  at::Tensor table;  // meaning is the encoding's own: cos and sin, SeqPE's E (T, d), TAPE's e (B, H, T, M, L, R) …
};

// Neighbouring training sequences that share their positions.
struct TrainingPositions {
  Positions positions;
  std::int64_t sequences = 0;
};

// Projections of a layer's attention, before any position encoding.
struct Projections {
  at::Tensor query;   // (B, H, T, D)
  at::Tensor key;     // (B, Hkv, T, D)
  at::Tensor value;   // (B, Hkv, T, D); for CoPE's value gates
  at::Tensor hidden;  // (B, T, C), the attention's input; for CoPE's separate gate keys
};

// Per-token tensors of one layer from which any score tile is made: O(T), what a trace keeps.
struct Prepared {
  at::Tensor query;          // (B, H, T, W) as the score sees it (rotated where the encoding rotates); W is D, or wider
  at::Tensor key;            // (B, Hkv, T, W)
  at::Tensor content_query;  // (B, H, T, D) before the encoding's part; undefined when equal to `query`
  at::Tensor content_key;    // (B, Hkv, T, D); undefined when equal to `key`
  at::Tensor gate_query;     // (B, H, T, D) CoPE: what the gates are computed from; undefined when equal to `query`.
                             // (B, H, T, 1) FoX: the logarithm of each token's gate; RePo: each token's position;
                             // GRAPE: see there
  at::Tensor gate_key;       // (B, Hkv, T, D) likewise
  at::Tensor given_gates;    // (B, H, T) float64: gates from 0 to 1 of the keys instead of the encoding's, whose own
                             // hold where this is NaN; undefined: none is given
  at::Tensor given_strengths;  // (B, H, T) float64: β of the tokens instead of PaTH's own, likewise
  at::Tensor given_direction;  // (B, H, D) w instead of PaTH's own, of the tokens that `directed` names
  at::Tensor directed;         // (H, T) bool, with given_direction
  Positions positions;         // of the T tokens
};

// A rectangle of one layer's scores.
struct Tile {
  std::int64_t layer = 0;
  Range heads;    // query heads
  Range rows;     // queries i, indices of tokens
  Range columns;  // keys j
};

// Outputs wanted of score() besides the logits.
struct Wanted {
  bool content = false;
  bool gates = false;
  bool positions = false;
  bool terms = false;
};

// (B, h, R, K) each. Cells that the mask of the model excludes (j > i in causal models) hold no meaning.
struct TileScores {
  at::Tensor logits;  // input of the soft-max, every scale factor included
  at::Tensor
      content;  // the score without the encoding's part, as description().content defines it; undefined where none is
  at::Tensor gates;      // CoPE g_ij
  at::Tensor positions;  // CoPE p_ij, clamped
  // The named parts whose sum the logit is; SeqPE-Sum: "qk", "qe", "ek", "ee". Empty for all others.
  std::vector<std::pair<std::string, at::Tensor>> terms;
  at::Tensor
      carry;  // (B, h, R) CoPE: Σ of the gates of columns ≥ tile.columns.begin; carry of the next tile to the left
};

// A trainable tensor under its name: "position_embedding", "layers.3.up_proj".
struct Parameter {
  std::string name;
  at::Tensor* value = nullptr;
};

class Transforming;

class PositionEncoding {
 public:
  explicit PositionEncoding(ModelShape shape) : shape_(shape) {}
  virtual ~PositionEncoding() = default;
  PositionEncoding(const PositionEncoding&) = delete;
  PositionEncoding& operator=(const PositionEncoding&) = delete;

  // Whether what prepare() makes is linear in the projections: only then are means of logits those of mean queries and
  // keys.
  virtual bool is_linear() const { return true; }
  // Name, paper, equation, parameters: the Description in the list of encodings, or a variant of it where an option
  // changes which quantities there are (RandPE over sinusoids has no content).
  virtual const Description& description() const = 0;
  // Every option with its value, as config.json and traces write it.
  virtual Settings settings() const = 0;
  // Trainable tensors, initialised as the paper says; loaders assign through the pointers (same shape).
  virtual std::vector<Parameter> parameters() { return {}; }

  // kBadInput when these positions cannot be encoded (beyond a learned table, too many digits, a grid where a sequence
  // is due). Every other function requires it to have passed.
  virtual Status accepts(const Positions& positions) const;

  // The state a run over `positions` starts with.
  virtual State begin(const Positions& positions, std::int64_t batch) const;
  // Where the training sequences `sequences` of a step's batch stand that would otherwise stand at `natural`: there,
  // unless the encoding trains on others (RandPE: one sorted sample for all; SeqPE: some of them shifted, each by
  // itself, the last ones). What is drawn for a sequence depends on `seed` and its number in the batch, so that parts of
  // a batch differ. kBadInput for positions that the encoding cannot be trained on.
  virtual Result<std::vector<TrainingPositions>> training_positions(const Positions& natural, Range sequences,
                                                                    std::uint64_t seed) const;
  // Where the tokens of a run stand that would otherwise stand at `natural`, 0 … T − 1 or later: there, unless the
  // encoding draws positions in evaluation too (RandPE). Tokens may stand elsewhere when there are more of them.
  virtual Positions evaluation_positions(const Positions& natural) const;
  // The loss of every training step that shapes the encoding itself, added to the task's (SeqPE: α·L_δ + β·L_OOD), a
  // differentiable scalar; undefined for all others. Deterministic in `seed`.
  virtual at::Tensor training_loss(std::uint64_t seed) const;
  // Takes out of the trained parameters what no soft-max over `positions` sees, so that logits stay small enough for
  // float32. Attention weights stay as they are.
  virtual void drop_unseen(const Positions& positions);
  // (T, C) to add to the token embeddings, or undefined.
  virtual at::Tensor embed(const State& state) const;

  // Per-token tensors of `layer`; the default passes q and k through.
  virtual Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const;

  // Logits of any tile. `carry` is the TileScores::carry of the tile to the right with the same rows; when undefined,
  // an encoding that needs it computes it (needs_carry()). The default is scaled_dot(): q·kᵀ · scale().
  virtual TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted = {},
                           const at::Tensor& carry = {}) const;
  // Tiles of the same rows must be visited from the diagonal leftwards, or pay for the columns to their right.
  virtual bool needs_carry() const { return false; }
  // A logit depends on the tokens between key and query too: those two alone do not give it.
  virtual bool follows_between() const { return needs_carry(); }
  // (B, H, T, 1) the logarithms of the tokens' gates of an encoding that forgets (Description::forgets), as score() uses
  // them; undefined for others.
  virtual at::Tensor log_gates(const Prepared& prepared) const;
  // (B, H, T, 1) where the tokens stand by an encoding that learns it (Description::learns_positions), undefined for
  // others.
  virtual at::Tensor learned_positions(const Prepared& prepared) const;
  // The same tokens at these positions (B, H, T, 1) instead of those that it learned; as they are for others, and where
  // the queries and keys before the encoding's part are not there.
  virtual Prepared placed(const Prepared& prepared, const at::Tensor& positions) const;
  // This encoding, where it changes keys on their way to a query (Description::transforms); null for others.
  virtual const Transforming* transforming() const { return nullptr; }
  // logits are exactly scale() · query·keyᵀ: drivers may use a plain matrix product.
  virtual bool is_dot_product() const { return true; }
  // Multiply-accumulates that it adds to those of a layer over T tokens, what is computed once counted with layer 0;
  // element by element work (rotations, biases) is none. All T² cells, as for attention without an encoding.
  virtual double macs(std::int64_t layer, std::int64_t length) const;
  // 1/√D (T5: 1).
  virtual double scale() const;
  // Attend to the largest logit of a row alone instead of the soft-max's mixture (CoPE's evaluation-only option).
  virtual bool hard_attention() const { return false; }

  // TAPE: (B, H, T, X), columns that ride along V through the attention; undefined for all others.
  virtual at::Tensor state_values(const State& state, std::int64_t layer) const;
  // The state after the attention of one layer, for the tokens of `state`, which are `rows` of `prepared`.
  struct Attended {
    at::Tensor values;      // (B, H, R, X) attention-weighted state_values
    at::Tensor key_values;  // (B, H, T, X) state_values of all keys
    const Prepared* prepared = nullptr;
    Range rows;
    at::Tensor features;  // (B, R, C) the tokens' features after the attention and its residual: x̃ of TAPE's Eq. 8
  };
  virtual void after_attention(State& state, std::int64_t layer, const Attended& attended) const;
  // `output` (B, R, C): the feed-forward's output, before the residual.
  virtual void after_feed_forward(State& state, std::int64_t layer, const at::Tensor& output) const;

  // (K) float64 how far the tile's keys stand behind its one query, for its one head, as description().distance defines
  // it; NaN where a key has no distance. Errors: kUnsupported where nothing stands for a distance, saying why, and where
  // this layer or state has none. The state enters the layer. By default the difference of position ids or of learned
  // positions, or the length of the difference of two vectors().
  virtual Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const;

  // (1 or H, T, X) vectors whose inner products are ⟨e_i, e_j⟩ of the state entering `layer` (first of the batch), or
  // undefined where the encoding has none.
  virtual at::Tensor vectors(const State& state, std::int64_t layer) const;

  const ModelShape& shape() const { return shape_; }

 protected:
  ModelShape shape_;
};

// (B, h, R, K): query·keyᵀ · scale for the tile's rows, columns and heads; key heads are shared by groups of H/Hkv
// query heads.
at::Tensor scaled_dot(const at::Tensor& query, const at::Tensor& key, const Tile& tile, double scale);

// (h, R, E) and (h, K, E) parts of per-token tensors (B, H or Hkv, T, E) -> (B, h, R or K, E), key heads repeated for
// their group.
at::Tensor tile_rows(const at::Tensor& query, const Tile& tile);
at::Tensor tile_columns(const at::Tensor& key, const Tile& tile, std::int64_t heads);

// (R, K) float64 Δ = position of the row − position of the column.
at::Tensor tile_distances(const Positions& positions, const Tile& tile);

// (h, |rows|, |columns|) ⟨e_i, e_j⟩ from vectors(); `cosine` divides by the lengths.
at::Tensor dot_products(const at::Tensor& vectors, Range rows, Range columns, bool cosine);

}  // namespace locus::position
