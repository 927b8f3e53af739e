// RowScores: the logits of 64 queries of one head, a few keys at a time from the diagonal leftwards, in the lane order
// of lane_kernels.h. Read by the fused attention driver and by fused score fields.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/attention/attend.h"
#include "core/attention/lane_kernels.h"
#include "core/base/range.h"
#include "core/position/position_encoding.h"
#include "core/position/shared/row_form.h"

namespace locus::attention {

// Floats at the start of a cache line.
class LaneBuffer {
 public:
  void resize(std::int64_t floats) { lines_.resize(static_cast<std::size_t>((floats + 15) / 16)); }
  float* data() { return lines_.empty() ? nullptr : lines_.front().values; }
  const float* data() const { return lines_.empty() ? nullptr : lines_.front().values; }

 private:
  struct alignas(64) Line {
    float values[16];
  };
  std::vector<Line> lines_;
};

// Per-token vectors of one head, as they lie in a tensor (B, H, T, W) of float32 on the CPU.
struct TokenVectors {
  const float* data = nullptr;
  std::int64_t token_stride = 0;
  std::int64_t depth_stride = 0;
  std::int64_t width = 0;

  TokenVectors() = default;
  // The vectors of query head `head` of `heads`, which share the tensor's heads in groups; nothing where undefined.
  TokenVectors(const at::Tensor& tensor, std::int64_t batch, std::int64_t head, std::int64_t heads);
  const float* at(std::int64_t token) const { return data + token * token_stride; }
};

// Inputs that RowScores of all heads and rows share.
class RowProgram {
 public:
  // Nothing where the scores of this layer cannot be had so: an encoding without a RowForm, another device or type.
  static std::optional<RowProgram> make(const position::PositionEncoding& encoding, const position::Prepared& prepared,
                                        std::int64_t layer, const Mask& mask, double soft_cap = 0);

  std::int64_t heads() const { return heads_; }
  std::int64_t length() const { return length_; }  // queries
  std::int64_t keys() const { return keys_; }
  bool counts() const { return form_.counts; }
  bool has_content() const { return form_.has_content; }
  const Mask& mask() const { return mask_; }

 private:
  friend class RowScores;
  position::Prepared prepared_;
  position::RowForm form_;
  Mask mask_;
  float scale_ = 1;
  float soft_cap_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t length_ = 0;
  std::int64_t keys_ = 0;
};

// Outputs wanted of a chunk; logits are written where `logits` is set, and so on.
struct ChunkWanted {
  bool logits = true;
  bool content = false;
  bool gates = false;
  bool positions = false;
};

class RowScores {
 public:
  // The queries `rows` (at most 64, ascending) of one head. `program` must outlive it.
  void begin(const RowProgram& program, std::int64_t batch, std::int64_t head, std::span<const std::int64_t> rows);
  void begin(const RowProgram& program, std::int64_t batch, std::int64_t head, Range rows);

  // Every key that any of the rows sees.
  Range visible() const { return visible_; }
  // The keys that the row of `lane` sees: first()[lane] ≤ j < last()[lane]; none for lanes without a row.
  const std::int32_t* first() const { return first_.data(); }
  const std::int32_t* last() const { return last_.data(); }
  bool all_visible(Range columns) const;

  // Where counting stands: the gate sums of all keys from the last columns on (128, see LaneKernels::count).
  static constexpr std::int64_t kSums = 2 * kLanes;
  const float* sums() const { return sums_.data(); }
  void set_sums(const float* sums);
  void begin_sums() { sums_.fill(0), saturated_ = false; }
  // Whether every row's position is p_max from here leftwards: sums no longer matter.
  bool saturated() const { return saturated_; }
  // Only counts: leaves the sums of the keys from columns.begin on.
  void skip(Range columns);
  // The next columns (at most kChunk) to the left of the last ones; without counting, any. Hidden cells hold no meaning
  // but for gates, which are 0. Results stay until the next call.
  void chunk(Range columns, const ChunkWanted& wanted);
  // Whether `wanted` needs no counting from here on, so that columns may be taken in any order.
  bool settled(const ChunkWanted& wanted) const;
  // The same for any columns (at most kChunk) where settled(); cells are in the order of `columns`.
  void scattered(std::span<const std::int64_t> columns, const ChunkWanted& wanted);

  float* logits() { return logits_.data(); }
  float* content() { return content_.data(); }
  float* gates() { return gates_.data(); }
  float* positions() { return positions_.data(); }

 private:
  // The operand that queries are multiplied with; undefined where it is not needed.
  struct Keys {
    TokenVectors key, content, gate;
  };

  void pack(const TokenVectors& vectors, float factor, LaneBuffer& out) const;
  void dot(const LaneBuffer& packed, const TokenVectors& key, Range columns, float* out) const;
  void count(const Keys& keys, Range columns);
  void chunk_of(const Keys& keys, Range columns, const ChunkWanted& wanted);
  // The same before the cap.
  void scores_of(const Keys& keys, Range columns, const ChunkWanted& wanted);
  // Sets saturated_ from the sums.
  void look_at_sums();

  const RowProgram* program_ = nullptr;
  const LaneKernels* kernels_ = nullptr;
  Range rows_;  // from the first to the last; not all of them need be there
  std::int64_t count_ = 0;
  Range visible_;
  std::array<std::int64_t, kLanes> tokens_{};
  alignas(64) std::array<std::int32_t, kLanes> first_{};
  alignas(64) std::array<std::int32_t, kLanes> last_{};
  alignas(64) std::array<float, kSums> sums_{};
  bool own_gates_ = false;  // gates from vectors of their own
  bool saturated_ = false;
  float p_max_ = 0;
  float slope_ = 0;
  Keys keys_;
  LaneBuffer few_;                                                  // the keys of scattered columns
  LaneBuffer query_, content_query_, gate_query_, table_, asking_;  // packed
  LaneBuffer logits_, content_, gates_, positions_, excess_;        // chunks
};

}  // namespace locus::attention
