// CoPE's kernel for training against finite differences in float64, and against the chain of ATen operations.
#include "core/position/cope/function.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/golden.h"

namespace locus {
namespace {

using position::CopeTile;
using position::Tile;

// A tile of three rows in the middle of the map: columns 1 … 6 of rows 2 … 4 of two heads, and largest position 3.
constexpr Tile kTile{0, {0, 2}, {2, 5}, {1, 7}};
constexpr std::int64_t kVectors = 4;

struct Leaves {
  std::vector<at::Tensor> tensors;  // content, gate logits (or undefined), table, carry
};

Leaves leaves(bool own_gates, at::ScalarType type) {
  at::manual_seed(3);
  const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble).to(type); };
  Leaves made;
  made.tensors = {random({2, 2, 3, 6}), own_gates ? random({2, 2, 3, 6}) : at::Tensor(), random({2, 2, 3, kVectors}),
                  random({2, 2, 3}).abs() * 0.3};
  for (at::Tensor& tensor : made.tensors) {
    if (tensor.defined()) {
      tensor = tensor.detach().requires_grad_(true);
    }
  }
  return made;
}

CopeTile tile_of(const Leaves& given) {
  CopeTile work;
  work.content = work.biased = given.tensors[0];
  work.gate_logits = given.tensors[1].defined() ? given.tensors[1] : given.tensors[0];
  work.table = given.tensors[2];
  work.carry = given.tensors[3];
  work.p_max = kVectors - 1;
  return work;
}

// Σ of fixed weights times what a model sees: the logits of columns up to the row's own token, and the carry.
at::Tensor objective(const at::Tensor& logits, const at::Tensor& carry) {
  at::manual_seed(4);
  const at::Tensor row = at::arange(kTile.rows.begin, kTile.rows.end).unsqueeze(1);
  const at::Tensor visible = at::arange(kTile.columns.begin, kTile.columns.end).unsqueeze(0) <= row;
  const at::Tensor weights = at::randn(logits.sizes(), at::kDouble).to(logits.dtype()) * visible;
  return (logits.masked_fill(visible.logical_not(), 0) * weights).sum() +
         (carry * at::randn(carry.sizes(), at::kDouble).to(carry.dtype())).sum();
}

at::Tensor kernel(const Leaves& given) {
  const auto [logits, carry] = position::learned_cope(tile_of(given), kTile);
  return objective(logits, carry);
}

at::Tensor operations(const Leaves& given) {
  position::TileScores scores;
  position::differentiable_cope(tile_of(given), kTile, scores);
  return objective(scores.logits, scores.carry);
}

TEST(CopeFunction, GradientsAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-6;
  for (const bool own_gates : {false, true}) {
    const Leaves given = leaves(own_gates, at::kDouble);
    kernel(given).backward();
    for (const at::Tensor& tensor : given.tensors) {
      if (!tensor.defined()) {
        continue;
      }
      const at::Tensor values = tensor.detach();
      at::Tensor expected = at::zeros_like(values);
      for (std::int64_t n = 0; n < values.numel(); ++n) {
        double* const value = values.data_ptr<double>() + n;
        const double before = *value;
        *value = before + kStep;
        const double above = kernel(given).item<double>();
        *value = before - kStep;
        const double below = kernel(given).item<double>();
        *value = before;
        expected.data_ptr<double>()[n] = (above - below) / (2 * kStep);
      }
      EXPECT_CLOSE(tensor.grad(), expected, 1e-7);
      EXPECT_GT(expected.abs().max().item<double>(), 0.1);
    }
  }
}

TEST(CopeFunction, EqualsTheChainOfOperations) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const bool own_gates : {false, true}) {
      const Leaves ours = leaves(own_gates, type);
      const Leaves theirs = leaves(own_gates, type);
      const at::Tensor value = kernel(ours);
      const at::Tensor expected = operations(theirs);
      const double tolerance = type == at::kFloat ? 1e-5 : 1e-12;
      EXPECT_CLOSE(value.detach(), expected.detach(), tolerance);
      value.backward();
      expected.backward();
      for (std::size_t n = 0; n < ours.tensors.size(); ++n) {
        if (ours.tensors[n].defined()) {
          EXPECT_CLOSE(ours.tensors[n].grad(), theirs.tensors[n].grad(), tolerance);
        }
      }
    }
  }
}

}  // namespace
}  // namespace locus
