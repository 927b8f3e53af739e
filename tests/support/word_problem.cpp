#include "tests/support/word_problem.h"

#include <array>
#include <numeric>

#include "core/position/tape/state.h"
#include "core/position/tape/update.h"

namespace locus::test {
namespace {

constexpr std::int64_t kTokens = 11;  // C
constexpr std::int64_t kSpace = 6;    // R

at::Tensor zeros(std::int64_t rows, std::int64_t columns) {
  return at::zeros({rows, columns}, at::kDouble);
}

at::Tensor eye(std::int64_t size) {
  return at::eye(size, at::kDouble);
}

// Rows of e from the rows of another, the same for every token: (L', L) -> (B, T, L', L).
at::Tensor everywhere(const at::Tensor& matrix, const at::Tensor& features) {
  return matrix.expand({features.size(0), features.size(1), matrix.size(0), matrix.size(1)});
}

std::array<std::int64_t, 2> swap_of(std::int64_t token) {
  for (std::int64_t source = 0; source < 5; ++source) {
    for (std::int64_t target = source + 1; target < 5; ++target) {
      if (--token == 0) {
        return {source, target};
      }
    }
  }
  return {0, 0};
}

struct Mixed {
  at::Tensor features;
  at::Tensor e;
  at::Tensor logits;
};

// f's attention and g's ẽ, by the functions that TAPE itself uses: one head, one block.
Mixed mix_tokens(const FamilyLayer& layer, const at::Tensor& x, const at::Tensor& e) {
  Mixed mixed{x, e, {}};
  const std::int64_t length = x.size(1);
  const at::Tensor state = e.unsqueeze(1).unsqueeze(3);  // (B, 1, T, 1, L, R)
  if (layer.query.defined()) {
    const position::TapeBlocks blocks{1, e.size(2), e.size(3), e.size(2), position::PairLayout::kInterleaved};
    position::Prepared prepared;
    prepared.query = blocks.apply(at::linear(x, layer.query).unsqueeze(1), state);
    prepared.key = blocks.apply(at::linear(x, layer.key).unsqueeze(1), state);
    const position::Tile whole{0, {0, 1}, {0, length}, {0, length}};
    mixed.logits = position::scaled_dot(prepared.query, prepared.key, whole, 1.0).squeeze(1);
    const at::Tensor hidden = at::ones({length, length}, at::kBool).triu(1);
    const at::Tensor weights = at::softmax(mixed.logits.masked_fill(hidden, -INFINITY), -1);
    mixed.features = at::matmul(weights, at::linear(x, layer.value)) + x;
    if (layer.positions == FamilyLayer::Positions::kAttention) {
      const at::Tensor mean = position::tape_contextualise(prepared, state, {0, length}, blocks, 1.0, true);
      mixed.e = at::matmul(layer.position_value, mean.squeeze(3).squeeze(1));
    }
  }
  if (layer.positions == FamilyLayer::Positions::kInverse) {
    const at::Tensor query = at::matmul(layer.position_query, e);  // (B, T, R)
    const at::Tensor key = at::matmul(layer.position_key, e);
    const at::Tensor pairs = at::matmul(query, key.transpose(-1, -2)).tril(layer.strict ? -1 : 0);
    const at::Tensor values = at::matmul(layer.position_value, e);
    const at::Tensor solved = at::linalg_solve_triangular(eye(length) + pairs, values.flatten(2), false);
    mixed.e = solved.view_as(values) + e;
  }
  return mixed;
}

}  // namespace

WordProblem::WordProblem(bool strict) : swaps_(zeros(kTokens, kSpace)) {
  for (std::int64_t token = 1; token < kTokens; ++token) {
    const auto [source, target] = swap_of(token);
    swaps_[token - 1][source] = 1;
    swaps_[token - 1][target] = -1;
  }
  const auto same = [](const at::Tensor& features) { return features; };

  // ψ¹: the row of Ξ that the token names, a free row, and the identity.
  FamilyLayer first;
  first.mix = [](const at::Tensor& x) {
    at::Tensor psi = at::zeros({x.size(0), x.size(1), 8, kTokens + kSpace}, at::kDouble);
    psi.select(2, 0).slice(-1, 0, kTokens) = x;
    psi.slice(2, 2).slice(-1, kTokens) = eye(kSpace);
    return psi;
  };
  first.feed_forward = same;

  // η_i, the inverse's average of ξ, into the free row; then ξ η ᵀ. The feed-forward puts a zero channel in front.
  FamilyLayer second;
  second.positions = FamilyLayer::Positions::kInverse;
  second.strict = strict;
  second.position_query = eye(8)[0].clone();
  second.position_key = eye(8)[0].clone();
  second.position_value = zeros(8, 8);
  second.position_value[1][0] = 1;
  second.mix = [swaps = swaps_](const at::Tensor& x) {
    at::Tensor psi = at::zeros({x.size(0), x.size(1), 12, 8}, at::kDouble);
    psi.slice(2, 0, kSpace).select(-1, 1) = at::matmul(x, swaps);
    psi.slice(2, kSpace).slice(-1, 2) = eye(kSpace);
    return psi;
  };
  second.feed_forward = [](const at::Tensor& x) {
    return at::cat({at::zeros({x.size(0), x.size(1), 1}, at::kDouble), at::relu(x)}, -1);
  };

  // Means over the prefix: 1/i from the start token, and Σ ξ η ᵀ/i, which ψ³ turns into the product of the swaps.
  FamilyLayer third;
  third.query = zeros(12, 12);
  third.key = zeros(12, 12);
  third.value = zeros(12, 12);
  third.value[0][11] = 1;
  third.positions = FamilyLayer::Positions::kAttention;
  third.position_value = eye(12);
  third.mix = [](const at::Tensor& x) {
    const at::Tensor inverse = x.select(-1, 0).reciprocal().unsqueeze(-1).unsqueeze(-1);
    return at::cat({-inverse * eye(kSpace), everywhere(eye(kSpace), x)}, -1);
  };
  third.feed_forward = same;

  // Σ v·π(v) is 55 for the identity alone: the score towards the start is ≥ 0.5 there and ≤ −0.5 elsewhere.
  FamilyLayer fourth;
  fourth.query = zeros(kSpace, 12);
  fourth.key = zeros(kSpace, 12);
  fourth.value = zeros(12, 12);
  for (std::int64_t row = 0; row < kSpace; ++row) {
    const bool last = row + 1 == kSpace;
    fourth.query[row].slice(0, 1) = last ? 54.5 : static_cast<double>(row + 1);
    fourth.key[row][11] = last ? -1.0 : static_cast<double>(row + 1);
  }
  fourth.value[0][11] = -1;
  fourth.feed_forward = [](const at::Tensor& x) { return (-x.slice(-1, 0, 1)).clamp(0, 1); };
  layers_ = {first, second, third, fourth};
}

WordRun WordProblem::run(const at::Tensor& words) const {
  at::Tensor x = at::one_hot(words - 1, kTokens).to(at::kDouble);
  at::Tensor e = everywhere(at::cat({swaps_, eye(kSpace)}), x);
  WordRun run;
  for (const FamilyLayer& layer : layers_) {
    const Mixed mixed = mix_tokens(layer, x, e);
    if (layer.mix) {
      e = at::matmul(layer.mix(mixed.features), mixed.e);
    }
    x = layer.feed_forward(mixed.features);
    if (mixed.logits.defined()) {
      run.score = mixed.logits.select(-1, 0);
    }
    run.x = mixed.features.select(-1, 0);
  }
  run.out = x.select(-1, 0);
  return run;
}

at::Tensor identity_prefixes(const at::Tensor& words) {
  at::Tensor labels = at::zeros_like(words, at::kBool);
  const auto tokens = words.accessor<std::int64_t, 2>();
  auto out = labels.accessor<bool, 2>();
  for (std::int64_t word = 0; word < words.size(0); ++word) {
    std::array<std::int64_t, 5> places{};
    std::iota(places.begin(), places.end(), 0);
    const std::array<std::int64_t, 5> identity = places;
    for (std::int64_t index = 0; index < words.size(1); ++index) {
      if (tokens[word][index] < kTokens) {
        const auto [source, target] = swap_of(tokens[word][index]);
        std::swap(places[static_cast<std::size_t>(source)], places[static_cast<std::size_t>(target)]);
      }
      out[word][index] = places == identity;
    }
  }
  return labels;
}

}  // namespace locus::test
