// The sequential position encoder of SeqPE (Li et al. 2025, arXiv:2506.13277, §3.2): a position read as its digits by a
// small transformer. P positions, n dimensions, k digits a dimension, S = n·k + 1 tokens, w encoder width, d output.
//
//   tokens   T[digit] + O[place] (+ D[dimension] when n > 1), most significant digit first, padded left with zeros;
//            one class token last
//   blocks   x += attention(norm x),  x += gelu_tanh-MLP(norm x), eps 1e-5, weights of the blocks stored (in, out)
//   output   out_proj(norm x_class)/temperature
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"
#include "core/position/position_encoding.h"

namespace locus::position {

struct SeqpeEncoderOptions {
  std::int64_t base = 10;       // b, 2 to 36
  std::int64_t digits = 0;      // k a dimension; 0: 5 of a text, 2 of an image
  std::int64_t dimensions = 1;  // n: 1, or 2 for (row, column)
  std::int64_t width = 0;       // w; 0: C
  std::int64_t heads = 0;       // 0: H
  std::int64_t layers = 2;      // N
  bool causal = true;           // over the digits and the class token; otherwise bidirectional
  bool mask_padding = false;    // padding zeros are not attended
  bool running_places =
      true;  // O has n·k rows, one per token; otherwise k rows that restart with every dimension (§3.2)
  bool last_layernorm = true;
  double temperature = 1.0;

  // Reads base, digits, dimensions, encoder_*, mask_padding, places, last_layernorm, temperature. Errors: kBadInput.
  static Result<SeqpeEncoderOptions> from(const Settings& settings, const ModelShape& shape);
  // All of them beside those of `settings`; their descriptions before `more`.
  Settings written(Settings settings) const;
  static std::vector<OptionDescription> described(const std::vector<OptionDescription>& more);

  // b^k, the first position that has too many digits.
  std::int64_t limit() const;
};

class SeqpeEncoder {
 public:
  // Weights N(0, 0.02), biases 0, norms 1, as GPT-2's.
  SeqpeEncoder(const SeqpeEncoderOptions& options, std::int64_t output_width);

  const SeqpeEncoderOptions& options() const { return options_; }
  std::int64_t output_width() const { return output_width_; }
  // Under the authors' names after `prefix`: token_of_seqpe_embed.weight, transformers.0.attn.c_attn.weight, …
  void append_parameters(const std::string& prefix, std::vector<Parameter>& list);
  // The same tensors, for a cache to remember which weights made a table.
  std::vector<at::Tensor> tensors() const;

  // positions (P) or (P, n), whole numbers in [0, limit()) -> digits (P, n·k) int64.
  at::Tensor digits(const at::Tensor& positions) const;
  // (P, n·k) bool, true for the padding zeros in front of a number (0 itself has one digit).
  at::Tensor padding(const at::Tensor& digits) const;
  // (P, d): e_p of every position. Differentiable; without gradients it works through blocks of positions.
  at::Tensor encode(const at::Tensor& positions) const;

 private:
  struct Affine {
    at::Tensor weight;
    at::Tensor bias;
  };
  struct Block {
    Affine norm_1, attention, projection, norm_2, widen, narrow;
  };

  at::Tensor encode_block(const at::Tensor& positions) const;
  at::Tensor run(const Block& block, const at::Tensor& x, const at::Tensor& hidden, bool class_token_only) const;

  SeqpeEncoderOptions options_;
  std::int64_t output_width_;
  at::Tensor token_embedding_;      // (b, w)
  at::Tensor place_embedding_;      // (n·k or k, w)
  at::Tensor dimension_embedding_;  // (n, 1, w); undefined for n = 1
  at::Tensor class_token_;          // (1, 1, w)
  std::vector<Block> blocks_;
  Affine last_norm_;
  Affine output_;
};

}  // namespace locus::position
