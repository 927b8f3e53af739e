// LowRank: LoRA (Hu et al. 2022, arXiv:2106.09685) on the projections of self-attention. The model computes with
//   W' = W + s·B·A,   A (r, in), B (out, r), s = alpha / r = 2
// and only A and B are trained. Query, key, value and output have additions of their own, also where a model keeps query,
// key and value in one matrix; one that interleaves them by head has one addition.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/range.h"
#include "core/base/result.h"
#include "models/transformer/transformer.h"

namespace locus::training {

constexpr double kLowRankScale = 2;  // s

class LowRank {
 public:
  // Takes the projections of `model`, which outlives this, as W. A is uniform within ±1/√in, B is 0: W' is W. Errors:
  // kUsage for a rank that no projection has, and for models without these projections (latent attention, mixers alone).
  static Result<std::unique_ptr<LowRank>> create(transformer::Transformer& model, std::int64_t rank,
                                                 std::uint64_t seed);
  // The same additions, sharing their tensors, for another model of the same spec.
  std::unique_ptr<LowRank> of(transformer::Transformer& model) const;

  // Replaces each W' in the parameters of the model by W, under its name, and its additions, *.lora_A and *.lora_B.
  void list(std::vector<transformer::Parameter>& parameters);
  // Writes W' into the model; differentiable in A and B where gradients are enabled.
  void apply() const;

 private:
  struct Part {
    std::string name;
    Range rows;       // of W
    at::Tensor down;  // A
    at::Tensor up;    // B
  };
  struct Matrix {
    std::string name;
    at::Tensor* merged = nullptr;  // W' in the model
    at::Tensor base;               // W
    std::vector<Part> parts;
  };

  void bind(transformer::Transformer& model);

  std::vector<Matrix> matrices_;
};

// Whether a parameter of LowRank::list() is an addition.
bool is_addition(const transformer::Parameter& parameter);

}  // namespace locus::training
