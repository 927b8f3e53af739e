// The feed-forward of a layer, or of one expert.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "core/attention/lane_kernels.h"
#include "core/products/linear.h"
#include "models/transformer/block.h"

namespace locus::transformer {

namespace {

// GELU with tanh of x + bias, in place: ATen's takes as long as the product before it.
void gelu_tanh(at::Tensor& x, const at::Tensor& bias) {
  constexpr std::int64_t kLanes = attention::kLanes;
  constexpr std::int64_t kRowsPerTask = 16;
  const auto gelu = attention::lane_kernels().gelu_tanh;
  const std::int64_t width = x.size(-1);
  const at::Tensor added = bias.defined() ? bias.contiguous() : at::zeros({width}, x.options());
  const float* const row = added.data_ptr<float>();
  float* const data = x.data_ptr<float>();
  at::parallel_for(0, x.numel() / width, kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t c = 0; c < width; c += kLanes) {
        gelu(data + n * width + c, 1, row + c);
      }
    }
  });
}

// Whether the product of x may be worked on by the loops of lane_kernels.h.
bool runs_kernels(const at::Tensor& x, const Linear& weights) {
  return !at::GradMode::is_enabled() && x.device().is_cpu() && x.scalar_type() == at::kFloat &&
         (weights.weight.scalar_type() == at::kFloat || products::is_stored(weights.weight)) &&
         weights.weight.size(0) % attention::kLanes == 0;
}

}  // namespace

at::Tensor activate(Activation activation, at::Tensor x) {
  const bool in_place = !at::GradMode::is_enabled();
  switch (activation) {
    case Activation::kGelu:
      return in_place ? at::gelu_(x, "none") : at::gelu(x, "none");
    case Activation::kGeluTanh:
      return in_place ? at::gelu_(x, "tanh") : at::gelu(x, "tanh");
    case Activation::kSilu:
      return in_place ? at::silu_(x) : at::silu(x);
    case Activation::kRelu:
      return in_place ? at::relu_(x) : at::relu(x);
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
    case Activation::kTanh:
      return in_place ? at::tanh_(x) : at::tanh(x);
  }
  return x;
}

at::Tensor feed_forward(const FeedForwardSpec& spec, const FeedForwardWeights& weights, const at::Tensor& x) {
  if (!spec.gated) {
    if (spec.activation == Activation::kGeluTanh && runs_kernels(x, weights.up)) {
      at::Tensor inner = linear(x, {weights.up.weight, {}});
      gelu_tanh(inner, weights.up.bias);
      return linear(inner, weights.down);
    }
    return linear(activate(spec.activation, linear(x, weights.up)), weights.down);
  }
  if (spec.clamp > 0) {
    const at::Tensor gate = linear(x, weights.gate).clamp_max(spec.clamp);
    const at::Tensor up = linear(x, weights.up).clamp(-spec.clamp, spec.clamp);
    return linear((up + 1) * gate * at::sigmoid(gate * spec.alpha), weights.down);
  }
  at::Tensor gate = activate(spec.activation, linear(x, weights.gate));
  const at::Tensor up = linear(x, weights.up);
  return linear(at::GradMode::is_enabled() ? gate * up : gate.mul_(up), weights.down);
}

}  // namespace locus::transformer
