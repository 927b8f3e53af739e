// Blocks with few queries take products lane by lane: the same numbers as all 64 lanes together, at every vector width.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/attention/attend.h"
#include "core/attention/lane_kernels.h"
#include "core/base/instruction_sets.h"
#include "core/position/list.h"
#include "core/position/position_encoding.h"

namespace locus {
namespace {

using attention::kLanes;

// Σ_k a[k][l]·b of both layouts of b, in float64; `scale` is Σ|a·b|, what rounding is measured by.
void expect_products(std::int64_t version, std::int64_t depth, std::int64_t columns, std::int64_t lanes, bool rows) {
  const at::Tensor a = at::randn({depth, kLanes});
  const at::Tensor b = at::randn({columns, depth});
  const at::Tensor stored = rows ? b.t().contiguous() : b;  // rows: b's columns lie beside each other
  const attention::LaneKernels& kernels = attention::lane_kernels(version);
  for (const bool add : {false, true}) {
    const at::Tensor before = at::randn({columns, kLanes});
    const at::Tensor out = before.clone();
    kernels.product(a.data_ptr<float>(), stored.data_ptr<float>(), rows ? 1 : depth, rows ? columns : 1, depth, columns,
                    lanes, add, out.data_ptr<float>());
    const at::Tensor want =
        at::matmul(b.to(at::kDouble), a.to(at::kDouble)) + (add ? before.to(at::kDouble) : 0 * before);
    const at::Tensor scale = at::matmul(b.abs(), a.abs()) + 1;
    const at::Tensor error = ((out - want).abs() / scale).narrow(1, 0, lanes);
    EXPECT_LE(error.max().item<double>(), 1e-6)
        << "version " << version << ", depth " << depth << ", columns " << columns << ", lanes " << lanes;
  }
}

TEST(FewLanes, AProductIsThatOfAllLanes) {
  at::manual_seed(3);
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    for (const std::int64_t depth : {1, 3, 16, 61, 64, 128, 520}) {
      for (const std::int64_t columns : {1, 5, 16, 37, 64}) {
        for (const std::int64_t lanes : {1, 2, 8, 9, 64}) {
          expect_products(version, depth, columns, lanes, false);
          expect_products(version, depth, columns, lanes, true);
        }
      }
    }
  }
}

// One row of a soft-max, whose other lanes are not looked at.
TEST(FewLanes, ASoftMaxLooksAtItsLanesAlone) {
  at::manual_seed(4);
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    const at::Tensor logits = at::randn({21, kLanes});
    const at::Tensor s = logits.clone();
    const at::Tensor maximum = at::full({kLanes}, -std::numeric_limits<float>::infinity());
    const at::Tensor sum = at::zeros({kLanes});
    const at::Tensor rescale = at::zeros({kLanes});
    EXPECT_TRUE(attention::lane_kernels(version).online_softmax_step(
        s.data_ptr<float>(), 21, 1, maximum.data_ptr<float>(), sum.data_ptr<float>(), rescale.data_ptr<float>()));
    const double want = at::logsumexp(logits.select(1, 0).to(at::kDouble), 0).item<double>();
    EXPECT_NEAR(std::log(sum[0].item<double>()) + maximum[0].item<double>(), want, 1e-6);
    EXPECT_TRUE(at::equal(s.narrow(1, 16, kLanes - 16), logits.narrow(1, 16, kLanes - 16)));
  }
}

// The last rows alone give what they give among all, for a dot product, for heads that share keys and for CoPE.
TEST(FewLanes, LastQueriesAreThoseOfAll) {
  constexpr std::int64_t kLength = 150;
  const at::NoGradGuard no_grad;
  at::manual_seed(5);
  for (const char* const name : {"none", "rope", "cope"}) {
    position::ModelShape shape;
    shape.heads = 4;
    shape.kv_heads = 2;
    shape.head_width = 24;
    shape.width = 96;
    std::shared_ptr<const position::PositionEncoding> encoding = *position::make_encoding(name, {}, shape);
    const at::Tensor query = at::randn({1, 4, kLength, 24});
    const at::Tensor key = at::randn({1, 2, kLength, 24});
    const at::Tensor value = at::randn({1, 2, kLength, 24});
    const position::Prepared prepared =
        encoding->prepare(encoding->begin(position::Positions::sequence(kLength), 1), 0, {query, key, value, {}});
    const attention::Attention all{*encoding, prepared, 0, value, {}, {true, 0}};
    const auto whole = attention::attend_streaming(all);
    ASSERT_TRUE(whole.ok());
    for (const std::int64_t rows : {1, 2, 8, 9}) {
      attention::StreamingOptions options;
      options.rows = {kLength - rows, kLength};
      const auto few = attention::attend_streaming(all, options);
      ASSERT_TRUE(few.ok());
      EXPECT_TRUE(at::allclose(few->output, whole->output.narrow(2, kLength - rows, rows), 1e-5, 1e-5)) << name << rows;
      EXPECT_TRUE(at::allclose(few->log_sum_exp, whole->log_sum_exp.narrow(2, kLength - rows, rows), 1e-6, 1e-5))
          << name << rows;
    }
  }
}

}  // namespace
}  // namespace locus
