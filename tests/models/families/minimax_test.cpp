// Files of MiniMax 01 store the slopes of their lightning attention, which follow from heads and layers.
#include <gtest/gtest.h>

#include "models/transformer/mixers/kinds.h"
#include "tests/support/changed_type.h"

namespace locus {
namespace {

TEST(Minimax, StoredSlopesMustBeTheComputedOnes) {
  const std::string name = "model.layers.1.self_attn.slope_rate";
  const auto with_slopes = [&](double factor) {
    return [&name, factor](test::Tensors& tensors) {
      tensors[name] = transformer::lightning_slopes(4, 1, 4).view({4, 1, 1}) * factor;
    };
  };
  const test::ChangedType plain("minimax", [&](test::Tensors& tensors) { tensors.erase(name); });
  ASSERT_TRUE(plain.open().ok());
  const test::ChangedType same("minimax", with_slopes(1.004));
  const auto opened = same.open();
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  EXPECT_EQ((*opened)->info().unexpected, std::vector<std::string>());
  const auto refused = test::ChangedType("minimax", with_slopes(1.02)).open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().describe().find(name), std::string::npos) << refused.error().describe();
}

}  // namespace
}  // namespace locus
