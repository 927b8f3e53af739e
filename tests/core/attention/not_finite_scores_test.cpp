// Scores that are no numbers: they stay none, and read and write nothing that is not theirs.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/attention/lane_kernels.h"
#include "core/attention/score_field.h"
#include "core/position/list.h"

namespace locus {
namespace {

using attention::Mask;
using attention::Quantity;
using attention::ScoreField;

// One key that is no number: rows that see it sum to none, in every width, and no entry of CoPE's table is read for it.
TEST(NotFiniteScores, WhatIsNoNumberReadsNothingAndStays) {
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    const attention::LaneKernels& kernels = attention::lane_kernels(version);
    at::Tensor gates = at::full({13, 64}, 0.5F);
    gates[6][17] = nothing;
    at::Tensor positions = at::empty({13, 64});
    at::Tensor sums = at::zeros({2, 64});
    at::Tensor excess = at::empty({13, 64});
    kernels.count(gates.data_ptr<float>(), 13, 4, 64, sums.data_ptr<float>(), positions.data_ptr<float>(),
                  excess.data_ptr<float>());
    at::Tensor logits = at::zeros({13, 64});
    const at::Tensor z = at::arange(5, at::kFloat).unsqueeze(1).expand({5, 64}).contiguous();
    kernels.interpolate(logits.data_ptr<float>(), positions.data_ptr<float>(), excess.data_ptr<float>(),
                        z.data_ptr<float>(), 4, 13);
    at::Tensor want = at::arange(13, 0, -1, at::kFloat).div(2).clamp_max(4).unsqueeze(1).repeat({1, 64});
    want.select(1, 17).slice(0, 0, 7).fill_(nothing);
    for (const at::Tensor* got : {&positions, &logits}) {
      EXPECT_TRUE(at::allclose(*got, want, 1e-6, 1e-6, true)) << version;
    }
  }
}

TEST(NotFiniteScores, RowsThatSumToNoNumberAreNotSummedAgain) {
  const at::NoGradGuard no_grad;
  const Mask mask{true, 0};
  position::ModelShape shape;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_width = 8;
  shape.width = 32;
  shape.trained_length = 512;
  for (const char* name : {"rope", "cope"}) {
    const std::shared_ptr<const position::PositionEncoding> encoding = *position::make_encoding(name, {}, shape);
    position::Projections projections;
    projections.query = at::randn({1, 4, 200, 8});
    projections.key = at::randn({1, 2, 200, 8});
    projections.value = at::randn({1, 2, 200, 8});
    projections.hidden = at::randn({1, 200, 32});
    projections.key.select(2, 150).fill_(std::numeric_limits<float>::quiet_NaN());
    const position::Prepared prepared =
        encoding->prepare(encoding->begin(position::Positions::sequence(200), 1), 0, projections);
    const attention::Attention attention{*encoding, prepared, 0, projections.value, {}, mask};
    const at::Tensor sums = attention::attend_streaming(attention, {})->log_sum_exp;
    EXPECT_FALSE(sums.slice(2, 0, 150).isnan().any().item<bool>()) << name;
    EXPECT_TRUE(sums.slice(2, 150).isnan().all().item<bool>()) << name;
    // Given sums lie in a file that nobody may write to: here in a page without that right.
    const std::size_t bytes = (sums.nbytes() / 4096 + 1) * 4096;
    void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const at::Tensor given = sums.to(at::kFloat).contiguous();
    std::memcpy(page, given.data_ptr(), given.nbytes());
    ::mprotect(page, bytes, PROT_READ);
    const at::Tensor kept = at::from_blob(page, given.sizes(), at::kFloat);
    const ScoreField read(std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, kept), mask);
    const ScoreField lazy(attention::ComputedScores::unsummed(encoding, 0, prepared, mask), mask);
    for (const ScoreField* field : {&read, &lazy}) {
      for (int twice = 0; twice < 2; ++twice) {
        const auto map = field->map({Quantity::kWeight, 1, {}, {}});
        ASSERT_TRUE(map.ok());
        EXPECT_FALSE(std::isnan(map->at(149, 3)));
        EXPECT_TRUE(std::isnan(map->at(150, 3)) && std::isnan(map->at(199, 199)));
      }
    }
    ::munmap(page, bytes);
  }
}

}  // namespace
}  // namespace locus
