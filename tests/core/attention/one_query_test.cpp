// One query of each head against the soft-max by ATen in float64.
#include "core/attention/one_query.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/attention/lane_kernels.h"
#include "core/base/instruction_sets.h"
#include "core/position/list.h"
#include "core/position/position_encoding.h"

namespace locus::attention {
namespace {

constexpr double kTolerance = 2e-6;  // of outputs, which are means of numbers around 1

struct Sizes {
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t keys = 100;
  std::int64_t width = 24;
  std::int64_t value_width = 24;
};

// Tensors of a batch of two; keys and values are the first rows of larger buffers, as rows that a run keeps.
struct Given {
  explicit Given(const Sizes& sizes) {
    position::ModelShape shape;
    shape.heads = sizes.heads;
    shape.kv_heads = sizes.kv_heads;
    shape.head_width = sizes.width;
    shape.width = sizes.heads * sizes.width;
    encoding = *position::make_encoding("none", {}, shape);
    prepared.query = at::randn({2, sizes.heads, sizes.keys, sizes.width});
    prepared.key = at::randn({2, sizes.kv_heads, sizes.keys + 7, sizes.width}).narrow(2, 0, sizes.keys);
    prepared.positions = position::Positions::sequence(sizes.keys);
    value = at::randn({2, sizes.kv_heads, sizes.keys + 7, sizes.value_width}).narrow(2, 0, sizes.keys);
  }
  Attention attention(Mask mask, double soft_cap = 0) const {
    return {*encoding, prepared, 0, value, none, std::move(mask), soft_cap};
  }

  std::shared_ptr<const position::PositionEncoding> encoding;
  position::Prepared prepared;
  at::Tensor value;
  at::Tensor none;
};

void expect_brute_force(const Given& given, const Attention& attention, std::int64_t row) {
  const auto found = attend_one_query(attention, row);
  ASSERT_TRUE(found.has_value());
  const std::int64_t group = given.prepared.query.size(1) / given.prepared.key.size(1);
  const Range keys = attention.mask.columns({row, row + 1}, given.prepared.key.size(2));
  const at::Tensor query = given.prepared.query.narrow(2, row, 1).to(at::kDouble);
  const at::Tensor key = given.prepared.key.slice(2, keys.begin, keys.end).repeat_interleave(group, 1);
  const at::Tensor value = given.value.slice(2, keys.begin, keys.end).repeat_interleave(group, 1);
  at::Tensor logits = at::matmul(query, key.to(at::kDouble).transpose(2, 3)) * given.encoding->scale();
  if (attention.soft_cap > 0) {
    logits = at::tanh(logits / attention.soft_cap) * attention.soft_cap;
  }
  const at::Tensor output = at::matmul(at::softmax(logits, -1), value.to(at::kDouble));
  ASSERT_EQ(found->output.sizes(), output.sizes());
  EXPECT_LE((found->output - output).abs().max().item<double>(), kTolerance) << keys.size() << " keys";
  EXPECT_LE((found->log_sum_exp - at::logsumexp(logits, -1)).abs().max().item<double>(), 4e-6) << keys.size();
}

TEST(OneQuery, IsTheSoftMaxOfItsScores) {
  at::manual_seed(1);
  for (const Sizes& sizes : {Sizes{1, 1, 1, 8, 8}, Sizes{4, 4, 63, 24, 40}, Sizes{9, 3, 64, 64, 64},
                             Sizes{8, 2, 65, 33, 21}, Sizes{4, 1, 700, 256, 256}, Sizes{6, 2, 1300, 520, 7}}) {
    const Given given(sizes);
    for (const std::int64_t row : {sizes.keys - 1, sizes.keys / 2}) {
      expect_brute_force(given, given.attention({true, 0}), row);
      expect_brute_force(given, given.attention({false, 0}), row);
      expect_brute_force(given, given.attention({true, 20}, 1.5), row);
    }
  }
}

TEST(OneQuery, IsTheSameOnAnyNumberOfThreads) {
  at::manual_seed(2);
  const Given given({9, 3, 5000, 64, 64});
  const int threads = at::get_num_threads();
  std::vector<at::Tensor> outputs;
  for (const int count : {1, 2, 4}) {
    at::set_num_threads(count);
    outputs.push_back(attend_one_query(given.attention({true, 0}), 4999)->output);
    EXPECT_TRUE(at::equal(outputs.back(), outputs.front())) << count;
  }
  at::set_num_threads(threads);
}

TEST(OneQuery, WithoutAFiniteScoreItSeesNothing) {
  Given given({2, 1, 5, 8, 8});
  given.prepared.key.fill_(-std::numeric_limits<float>::infinity());
  given.prepared.query.fill_(1);
  const Attended hidden = *attend_one_query(given.attention({true, 0}), 4);
  EXPECT_TRUE(at::equal(hidden.output, at::zeros({2, 2, 1, 8})));
  EXPECT_TRUE(hidden.log_sum_exp.isposinf().all().item<bool>());
  given.prepared.key.select(2, 3).fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(attend_one_query(given.attention({true, 0}), 4)->output.isnan().all().item<bool>());
}

TEST(OneQuery, LeavesOtherTensorsToOthers) {
  Given given({2, 1, 5, 8, 8});
  given.none = at::zeros({2, 2, 5, 3});
  EXPECT_FALSE(attend_one_query(given.attention({true, 0}), 4).has_value());
  given.none = at::Tensor();
  given.value = given.value.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_FALSE(attend_one_query(given.attention({true, 0}), 4).has_value());
  given.value = given.value.to(at::kDouble).contiguous();
  EXPECT_FALSE(attend_one_query(given.attention({true, 0}), 4).has_value());
}

// Products of a query with vectors that lie side by side, and with rows of their components.
TEST(OneQuery, ProductsAreThoseOfEveryVersion) {
  at::manual_seed(3);
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    for (const std::int64_t depth : {1, 3, 16, 61, 128, 520}) {
      for (const std::int64_t columns : {1, 5, 16, 37, 256}) {
        const at::Tensor a = at::randn({depth});
        const at::Tensor b = at::randn({columns, depth});
        const at::Tensor before = at::randn({columns});
        const at::Tensor want = at::mv(b.to(at::kDouble), a.to(at::kDouble)) + before;
        const at::Tensor scale = at::mv(b.abs(), a.abs()) + before.abs() + 1;
        for (const bool rows : {false, true}) {
          const at::Tensor stored = rows ? b.t().contiguous() : b;
          const at::Tensor out = before.clone();
          lane_kernels(version).query_product(a.data_ptr<float>(), stored.data_ptr<float>(), rows ? 1 : depth,
                                              rows ? columns : 1, depth, columns, out.data_ptr<float>());
          EXPECT_LE(((out - want).abs() / scale).max().item<double>(), 1e-6)
              << "version " << version << ", depth " << depth << ", columns " << columns;
        }
      }
    }
  }
}

}  // namespace
}  // namespace locus::attention
