// Attention of one layer over all its tokens, from any position encoding's score tiles. Two drivers, one result:
//   attend_whole_map  one (T, T) tile, differentiable; for training and tests
//   attend_streaming  row blocks × key blocks from the diagonal leftwards, with a running maximum and sum in float32;
//                     no (T, T) tensor, no gradients
// Where the encoding asks for hard attention, a query attends to the key of its largest logit alone, the first of
// equals; with gradients on, attend_whole_map takes the soft-max all the same, since an argmax cannot be learned.
// Logits are what the soft-max sees: after the cap, where a layer has one. A sink is one more logit of every row that
// has no value: rows then sum to less than 1, and log_sum_exp counts it.
//
// Letters: B batch, H query heads, Hkv key heads, T tokens, D head width, X width of state_values.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/attention/mask.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "core/position/position_encoding.h"

namespace locus::attention {

struct Attended {
  at::Tensor output;        // (B, H, R, D) weights · values
  at::Tensor state_values;  // (B, H, R, X) weights · state_values; undefined when there are none
  // (B, H, R) float32: weight_ij = exp(logit_ij − log_sum_exp_i), of the soft-max. A row whose logits are all −∞ sees
  // no key: its outputs are 0 and this is +∞, so that its weights are 0.
  at::Tensor log_sum_exp;
  at::Tensor chosen;  // (B, H, R) int64, hard attention alone: weight_ij = [j = chosen_i]; −1: no key
};

// Input of attention: one layer's tensors. Keys and values of cross-attention are of other tokens than the queries.
struct Attention {
  const position::PositionEncoding& encoding;
  const position::Prepared& prepared;
  std::int64_t layer = 0;
  const at::Tensor& value;         // (B, Hkv, T, D)
  const at::Tensor& state_values;  // (B, H, T, X) or undefined (TAPE)
  Mask mask;
  double soft_cap = 0;    // logit = cap·tanh(score/cap); 0: none
  at::Tensor sinks = {};  // (H) a logit more in every row, or undefined
};

// cap·tanh(x/cap), differentiable; x where cap is 0. May overwrite x where no gradient is wanted.
at::Tensor soft_capped(const at::Tensor& x, double cap);

Attended attend_whole_map(const Attention& attention);

// With given weights (B, H, T, T), on any device, instead of the soft-max's; log_sum_exp stays undefined.
Attended attend_with(const Attention& attention, const at::Tensor& weights);

struct StreamingOptions {
  Range rows;                     // queries; empty: all
  std::int64_t row_block = 0;     // 0: chosen for the length
  std::int64_t column_block = 0;  // at least row_block
  StopToken stop;
  // Told the share of the work that is done, now and then in a long attention: on the calling thread, outside of loops
  // over threads, so that what listens may do other work there.
  Progress progress = {};
};

// Errors: kCancelled, between blocks.
Result<Attended> attend_streaming(const Attention& attention, const StreamingOptions& options = {});

}  // namespace locus::attention
