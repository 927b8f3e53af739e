// The feed-forward of a layer, or of one expert.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>
#include <utility>
#include <vector>

#include "core/attention/lane_kernels.h"
#include "core/products/linear.h"
#include "models/transformer/block.h"

namespace locus::transformer {

namespace {

// GELU (tanh) of x + bias, in place: ATen's takes as long as the product before it.
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

// gate = activation(gate) · up, which are contiguous, in one pass; false where there is no loop for the activation.
bool multiply_gated(Activation activation, at::Tensor& gate, const at::Tensor& up) {
  constexpr std::int64_t kLanes = attention::kLanes;
  constexpr std::int64_t kPerTask = 256;  // of 64 numbers
  const attention::LaneKernels& kernels = attention::lane_kernels();
  const auto multiply = activation == Activation::kSilu       ? kernels.silu_times
                        : activation == Activation::kGeluTanh ? kernels.gelu_tanh_times
                                                              : nullptr;
  if (multiply == nullptr || !gate.is_contiguous() || !up.is_contiguous()) {
    return false;
  }
  float* const to = gate.data_ptr<float>();
  const float* const from = up.data_ptr<float>();
  at::parallel_for(0, gate.numel() / kLanes, kPerTask, [&](std::int64_t begin, std::int64_t end) {
    multiply(to + begin * kLanes, from + begin * kLanes, end - begin);
  });
  return true;
}

// True where the product of x can use the loops of lane_kernels.h.
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
    case Activation::kSquaredRelu:
      return (in_place ? at::relu_(x) : at::relu(x)).square();
    case Activation::kXielu:  // has numbers of the layer: xielu()
      break;
  }
  return x;
}

namespace {

at::Tensor xielu(const FeedForwardWeights& weights, const at::Tensor& x) {
  const at::Tensor positive = at::softplus(weights.alpha_p) * x.square();
  const at::Tensor negative =
      (at::expm1(at::minimum(x, weights.eps)) - x) * (weights.beta + at::softplus(weights.alpha_n));
  return at::where(x > 0, positive, negative) + weights.beta * x;
}

// The vector that `down` projects, before its norm.
at::Tensor inner_vector(const FeedForwardSpec& spec, const FeedForwardWeights& weights, const at::Tensor& x) {
  if (!spec.gated) {
    if (spec.activation == Activation::kGeluTanh && runs_kernels(x, weights.up)) {
      at::Tensor inner = linear(x, {weights.up.weight, {}});
      gelu_tanh(inner, weights.up.bias);
      return inner;
    }
    at::Tensor inner = linear(x, weights.up);
    return spec.activation == Activation::kXielu ? xielu(weights, inner) : activate(spec.activation, std::move(inner));
  }
  if (spec.clamp > 0) {
    const at::Tensor gate = linear(x, weights.gate).clamp_max(spec.clamp);
    const at::Tensor up = linear(x, weights.up).clamp(-spec.clamp, spec.clamp);
    return (up + 1) * gate * at::sigmoid(gate * spec.alpha);
  }
  const std::vector<at::Tensor> parts = linears(x, {&weights.gate, &weights.up});
  const at::Tensor& up = parts[1];
  at::Tensor gate = spec.gate_factor == 1 ? parts[0] : parts[0] * spec.gate_factor;
  if (runs_kernels(x, weights.gate) && multiply_gated(spec.activation, gate, up)) {
    return gate;
  }
  gate = activate(spec.activation, std::move(gate));
  return at::GradMode::is_enabled() ? gate * up : gate.mul_(up);
}

}  // namespace

at::Tensor feed_forward(const FeedForwardSpec& spec, const FeedForwardWeights& weights, const at::Tensor& x,
                        NormForm norm) {
  const at::Tensor inner = inner_vector(spec, weights, x);
  const at::Tensor out =
      linear(spec.inner_norm ? normalise(inner, weights.inner_norm, norm.norm, norm.eps) : inner, weights.down);
  return weights.output_scale.defined() ? out * weights.output_scale : out;
}

// Mixtures of experts: each token is processed by the few experts that a router chooses.

namespace {

// Sets the scores outside the best groups to −∞: with a correction, scores within them may be negative.
at::Tensor within_best_groups(const at::Tensor& scores, const Experts& spec) {
  if (spec.groups <= 1) {
    return scores;
  }
  const std::int64_t tokens = scores.size(0);
  const at::Tensor grouped = scores.view({tokens, spec.groups, -1});
  const bool by_two = spec.router == Router::kSigmoid || spec.ranked_by_two;
  const std::int64_t best = std::min<std::int64_t>(by_two ? 2 : 1, grouped.size(2));
  const at::Tensor worth = std::get<0>(grouped.topk(best, -1)).sum(-1);
  const at::Tensor chosen = std::get<1>(worth.topk(spec.chosen_groups, -1));
  const at::Tensor left = at::ones_like(worth, at::kBool).scatter(1, chosen, false);
  return grouped.masked_fill(left.unsqueeze(-1), -std::numeric_limits<double>::infinity()).view({tokens, -1});
}

// SparseMixer as it is used outside training: twice the largest logit of those left, and its soft-max over the logits
// near it.
Routing mixed_sparsely(const at::Tensor& logits, double margin) {
  const double none = -std::numeric_limits<double>::infinity();
  at::Tensor left = logits;
  std::vector<at::Tensor> experts;
  std::vector<at::Tensor> weights;
  for (int n = 0; n < 2; ++n) {
    const auto [largest, expert] = left.max(-1, true);
    const at::Tensor far = (largest - logits) / at::maximum(logits.abs(), largest) > 2 * margin;
    weights.push_back(at::softmax(left.masked_fill(far, none), -1).gather(1, expert));
    experts.push_back(expert);
    left = left.scatter(1, expert, none);
  }
  return {at::cat(experts, 1), at::cat(weights, 1)};
}

// Chooses the experts of each token, and their weights; `always` receives those of the experts of every token (N, A).
Routing route(const Experts& spec, const ExpertWeights& weights, const at::Tensor& tokens, at::Tensor& always) {
  at::Tensor logits = linear(tokens, weights.router).to(at::kFloat);  // (N, E + A)
  if (spec.logit_cap > 0) {
    logits = at::tanh(logits / spec.logit_cap) * spec.logit_cap;
  }
  const at::Tensor others = logits.slice(-1, spec.count);  // (N, A)
  logits = logits.slice(-1, 0, spec.count);
  Routing routing;
  if (spec.router == Router::kTopSoftmax || spec.router == Router::kInputSigmoid) {  // over the largest logits only
    const auto [largest, experts] = logits.topk(spec.chosen, -1);
    routing.experts = experts;
    routing.weights = spec.router == Router::kTopSoftmax ? at::softmax(largest, -1) : at::sigmoid(largest);
  } else if (spec.router == Router::kSparseMixer) {
    routing = mixed_sparsely(logits, spec.margin);
  } else {
    const bool sigmoid = spec.router == Router::kSigmoid;
    const at::Tensor scores = sigmoid ? at::sigmoid(logits) : at::softmax(logits, -1);
    const at::Tensor& choosing = sigmoid && spec.corrects_logits ? logits : scores;
    const at::Tensor corrected = weights.correction.defined() ? choosing + weights.correction : choosing;
    routing.experts = std::get<1>(within_best_groups(corrected, spec).topk(spec.chosen, -1));
    routing.weights = scores.gather(1, routing.experts);
  }
  if (spec.always > 0) {  // logarithms: sigmoids that are all small have no sum in float32
    const at::Tensor weighed = at::cat({logits.gather(1, routing.experts), others}, 1);
    const at::Tensor shares = at::softmax(at::log_sigmoid(weighed), -1);
    routing.weights = shares.slice(1, 0, spec.chosen);
    always = shares.slice(1, spec.chosen);
  } else if (spec.normalised) {
    const at::Tensor sum = routing.weights.sum(-1, true);
    routing.weights = routing.weights / (spec.least_sum > 0 ? sum.clamp_min(spec.least_sum) : sum + 1e-20);
  }
  const auto scaled = [&](const at::Tensor& shares) {
    const at::Tensor own = spec.factor == 1 ? shares : shares * spec.factor;
    return weights.output_scale.defined() ? own * weights.output_scale.to(own.scalar_type()) : own;
  };
  routing.weights = scaled(routing.weights);
  always = always.defined() ? scaled(always) : always;
  return routing;
}

}  // namespace

at::Tensor feed_forward(const FeedForwardSpec& spec, const ExpertWeights& weights, const at::Tensor& x,
                        Routing* routing, NormForm norm) {
  const at::Tensor tokens = x.reshape({-1, x.size(-1)});
  at::Tensor always;
  const Routing routed = route(spec.experts, weights, tokens, always);
  const bool scales_input = spec.experts.router == Router::kInputSigmoid;
  at::Tensor sum = at::zeros_like(tokens);
  for (std::int64_t expert = 0; expert < spec.experts.count; ++expert) {
    // The tokens routed to this expert, and its rank among each token's experts.
    at::Tensor routed_here = routed.experts == expert;  // (N, k)
    if (spec.experts.capacity > 0) {
      const at::Tensor taken = routed_here.any(-1).view({-1, x.size(-2)}).to(at::kLong).cumsum(-1);  // of each text
      routed_here = routed_here & (taken <= spec.experts.capacity).view({-1, 1});
    }
    const at::Tensor places = routed_here.nonzero();
    if (places.size(0) == 0) {
      continue;
    }
    const at::Tensor rows = places.select(1, 0);
    const at::Tensor share = routed.weights.index({rows, places.select(1, 1)}).to(tokens.scalar_type()).unsqueeze(-1);
    at::Tensor own = tokens.index_select(0, rows);
    own = scales_input ? own * share : own;
    at::Tensor out = feed_forward(spec, weights.experts[static_cast<std::size_t>(expert)], own, norm);
    sum = sum.index_add(0, rows, scales_input ? out : out * share);
  }
  for (std::int64_t n = 0; n < spec.experts.always; ++n) {
    const at::Tensor out = feed_forward(spec, weights.always[static_cast<std::size_t>(n)], tokens, norm);
    sum = sum + out * always.slice(1, n, n + 1).to(tokens.scalar_type());
  }
  if (spec.experts.shared > 0) {
    at::Tensor shared = feed_forward(spec, weights.shared, tokens, norm);
    sum = sum + (spec.experts.shared_gate ? shared * at::sigmoid(linear(tokens, weights.shared_gate)) : shared);
    sum = spec.experts.averaged ? sum / 2 : sum;
  }
  if (routing != nullptr) {
    *routing = routed;
  }
  return sum.view_as(x);
}

}  // namespace locus::transformer
