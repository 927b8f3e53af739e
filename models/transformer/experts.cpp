// Mixtures of experts: each token goes through the few experts that a router chooses for it.
#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "models/transformer/block.h"

namespace locus::transformer {

namespace {

// Scores of the groups that are not among the best become 0: by its largest score (soft-max), or by the sum of its two
// largest (sigmoids).
at::Tensor within_best_groups(const at::Tensor& scores, const Experts& spec) {
  if (spec.groups <= 1) {
    return scores;
  }
  const std::int64_t tokens = scores.size(0);
  const at::Tensor grouped = scores.view({tokens, spec.groups, -1});
  const std::int64_t best = spec.router == Router::kSigmoid ? std::min<std::int64_t>(2, grouped.size(2)) : 1;
  const at::Tensor worth = std::get<0>(grouped.topk(best, -1)).sum(-1);
  const at::Tensor chosen = std::get<1>(worth.topk(spec.chosen_groups, -1));
  const at::Tensor kept = at::zeros_like(worth).scatter(1, chosen, 1.0);
  return (grouped * kept.unsqueeze(-1)).view({tokens, -1});
}

// Which experts, and their weights.
Routing route(const Experts& spec, const ExpertWeights& weights, const at::Tensor& tokens) {
  const at::Tensor logits = linear(tokens, weights.router).to(at::kFloat);  // (N, E)
  Routing routing;
  if (spec.router == Router::kTopSoftmax || spec.router == Router::kInputSigmoid) {  // of the largest logits alone
    const auto [largest, experts] = logits.topk(spec.chosen, -1);
    routing.experts = experts;
    routing.weights = spec.router == Router::kTopSoftmax ? at::softmax(largest, -1) : at::sigmoid(largest);
  } else {
    const bool sigmoid = spec.router == Router::kSigmoid;
    const at::Tensor scores = sigmoid ? at::sigmoid(logits) : at::softmax(logits, -1);
    const at::Tensor corrected = sigmoid && weights.correction.defined() ? scores + weights.correction : scores;
    routing.experts = std::get<1>(within_best_groups(corrected, spec).topk(spec.chosen, -1));
    routing.weights = scores.gather(1, routing.experts);
  }
  if (spec.normalised) {
    routing.weights = routing.weights / (routing.weights.sum(-1, true) + 1e-20);
  }
  if (spec.factor != 1) {
    routing.weights = routing.weights * spec.factor;
  }
  return routing;
}

}  // namespace

at::Tensor feed_forward(const FeedForwardSpec& spec, const ExpertWeights& weights, const at::Tensor& x,
                        Routing* routing) {
  const at::Tensor tokens = x.reshape({-1, x.size(-1)});
  const Routing routed = route(spec.experts, weights, tokens);
  const bool scales_input = spec.experts.router == Router::kInputSigmoid;
  at::Tensor sum = at::zeros_like(tokens);
  for (std::int64_t expert = 0; expert < spec.experts.count; ++expert) {
    // The tokens that chose this expert, and as which of theirs.
    const at::Tensor places = (routed.experts == expert).nonzero();
    if (places.size(0) == 0) {
      continue;
    }
    const at::Tensor rows = places.select(1, 0);
    const at::Tensor share = routed.weights.index({rows, places.select(1, 1)}).to(tokens.scalar_type()).unsqueeze(-1);
    at::Tensor own = tokens.index_select(0, rows);
    own = scales_input ? own * share : own;
    at::Tensor out = feed_forward(spec, weights.experts[static_cast<std::size_t>(expert)], own);
    sum = sum.index_add(0, rows, scales_input ? out : out * share);
  }
  if (spec.experts.shared > 0) {
    at::Tensor shared = feed_forward(spec, weights.shared, tokens);
    sum = sum + (spec.experts.shared_gate ? shared * at::sigmoid(linear(tokens, weights.shared_gate)) : shared);
  }
  if (routing != nullptr) {
    *routing = routed;
  }
  return sum.view_as(x);
}

}  // namespace locus::transformer
