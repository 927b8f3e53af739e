// Activations of feed-forwards at every vector width, against those of ATen in float64.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/attention/lane_kernels.h"
#include "core/base/instruction_sets.h"

namespace locus {
namespace {

using attention::kLanes;

// Numbers of every size up to those whose exponential overflows.
at::Tensor numbers(std::int64_t columns) {
  const at::Tensor normal = at::randn({columns, kLanes}) * 4;
  normal[0] = at::linspace(-120, 120, kLanes);
  normal[1].fill_(0);
  return normal;
}

void expect_close(const at::Tensor& found, const at::Tensor& want, const at::Tensor& x, const at::Tensor& t) {
  // A value is x·t times a share of at most 1, whose exponential has a relative error of 3e-7.
  const at::Tensor allowed = (x * t).abs().to(at::kDouble) * 1e-6 + 1e-30;
  EXPECT_LE(((found.to(at::kDouble) - want).abs() / allowed).max().item<double>(), 1);
}

TEST(Activations, GatesAreThoseOfATen) {
  at::manual_seed(5);
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    SCOPED_TRACE(version);
    const attention::LaneKernels& kernels = attention::lane_kernels(version);
    for (const std::int64_t columns : {2, 3, 40}) {
      const at::Tensor x = numbers(columns);
      const at::Tensor t = at::randn({columns, kLanes});
      const at::Tensor silu = x.clone();
      kernels.silu_times(silu.data_ptr<float>(), t.data_ptr<float>(), columns);
      expect_close(silu, at::silu(x.to(at::kDouble)) * t.to(at::kDouble), x, t);
      const at::Tensor gelu = x.clone();
      kernels.gelu_tanh_times(gelu.data_ptr<float>(), t.data_ptr<float>(), columns);
      expect_close(gelu, at::gelu(x.to(at::kDouble), "tanh") * t.to(at::kDouble), x, t);
    }
  }
}

TEST(Activations, WhatIsNotANumberStaysNone) {
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    for (const auto kernel :
         {attention::lane_kernels(version).silu_times, attention::lane_kernels(version).gelu_tanh_times}) {
      at::Tensor x = at::ones({1, kLanes});
      const at::Tensor t = at::ones({1, kLanes});
      x[0][3] = std::numeric_limits<float>::quiet_NaN();
      x[0][5] = std::numeric_limits<float>::infinity();
      kernel(x.data_ptr<float>(), t.data_ptr<float>(), 1);
      EXPECT_TRUE(std::isnan(x[0][3].item<float>()));
      EXPECT_FALSE(std::isfinite(x[0][5].item<float>()));
      EXPECT_TRUE(std::isfinite(x[0][4].item<float>()));
    }
  }
}

}  // namespace
}  // namespace locus
