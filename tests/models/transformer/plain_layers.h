// Layers in float64, written from their definitions alone: what opened families are compared with. Batch of one.
//
// Letters: T tokens, C width, H query heads, Hkv key heads, D head width.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus::test {

// Random tensors under a checkpoint's names, read back as float64.
class PlainWeights {
 public:
  PlainWeights() { at::manual_seed(11); }

  // Normal around `mean`.
  void add(const std::string& name, const std::vector<std::int64_t>& shape, double deviation = 0.3, double mean = 0) {
    tensors_[name] = at::randn(shape) * deviation + mean;
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    add(name + ".weight", {out, in});
    if (bias) {
      add(name + ".bias", {out});
    }
  }
  // `bias` empty: an RMSNorm.
  void norm(const std::string& name, std::int64_t width, const std::string& weight = ".weight",
            const std::string& bias = ".bias") {
    add(name + weight, {width}, 0.2, 1.0);
    if (!bias.empty()) {
      add(name + bias, {width}, 0.2);
    }
  }

  at::Tensor operator[](const std::string& name) const { return tensors_.at(name).to(at::kDouble); }
  // x·Wᵀ + b, b where there is one.
  at::Tensor apply(const std::string& name, const at::Tensor& x) const {
    const at::Tensor product = at::matmul(x, (*this)[name + ".weight"].t());
    return tensors_.count(name + ".bias") != 0 ? product + (*this)[name + ".bias"] : product;
  }
  at::Tensor layer_norm(const std::string& name, const at::Tensor& x, double eps, const std::string& weight = ".weight",
                        const std::string& bias = ".bias") const {
    const at::Tensor centred = x - x.mean(-1, true);
    return centred / (centred.square().mean(-1, true) + eps).sqrt() * (*this)[name + weight] + (*this)[name + bias];
  }
  at::Tensor rms_norm(const std::string& name, const at::Tensor& x, double eps) const {
    return x / (x.square().mean(-1, true) + eps).sqrt() * (*this)[name + ".weight"];
  }
  const Tensors& tensors() const { return tensors_; }

 private:
  Tensors tensors_;
};

// (T, n·D) -> (n, T, D).
inline at::Tensor plain_heads(const at::Tensor& x, std::int64_t heads) {
  return x.reshape({x.size(0), heads, -1}).transpose(0, 1);
}

// (H, T, T) logits and (H, T, D) values -> (T, H·D); query i sees key j where visible(i, j).
template <typename Visible>
at::Tensor plain_attend(const at::Tensor& logits, const at::Tensor& value, const Visible& visible) {
  at::Tensor seen = logits.clone();
  for (std::int64_t i = 0; i < seen.size(1); ++i) {
    for (std::int64_t j = 0; j < seen.size(2); ++j) {
      if (!visible(i, j)) {
        seen.select(1, i).select(1, j).fill_(-std::numeric_limits<double>::infinity());
      }
    }
  }
  return at::matmul(at::softmax(seen, -1), value).transpose(0, 1).reshape({logits.size(1), -1});
}

inline at::Tensor plain_dot(const at::Tensor& query, const at::Tensor& key) {
  return at::matmul(query, key.transpose(-1, -2)) / std::sqrt(static_cast<double>(query.size(-1)));
}

inline bool causal(std::int64_t i, std::int64_t j) {
  return j <= i;
}

// x·Φ(x), and its tanh form.
inline at::Tensor plain_gelu(const at::Tensor& x) {
  return x * 0.5 * (1 + at::erf(x / std::sqrt(2.0)));
}
inline at::Tensor plain_gelu_tanh(const at::Tensor& x) {
  return x * 0.5 * (1 + at::tanh(0.7978845608028654 * (x + 0.044715 * x.pow(3))));
}

// A checkpoint folder of these weights.
struct PlainFolder {
  TemporaryFolder place;

  PlainFolder(const PlainWeights& weights, const std::string& config) {
    place.write("config.json", config);
    write_tensors(place.path() / "model.safetensors", weights.tensors());
  }
  // Opens it; fails the test unless it is of `family` and every tensor found its use.
  std::shared_ptr<const models::Model> open(const std::string& family) const {
    const models::OpenOptions defaults;  // a temporary one is a false alarm of GCC 12
    auto model = open_model(place.path(), defaults);
    if (model) {
      EXPECT_EQ(model->info().family, family);
      EXPECT_TRUE(model->info().unexpected.empty());
      EXPECT_TRUE(model->info().warnings.empty());
    }
    return model;
  }
};

}  // namespace locus::test
