#include "core/base/quantity.h"

#include <gtest/gtest.h>

#include <set>

namespace locus {
namespace {

TEST(Quantity, NamesReadBack) {
  std::set<std::string> names;
  for (const Quantity quantity : kQuantities) {
    const auto read = parse_quantity(to_text(quantity));
    ASSERT_TRUE(read.ok()) << to_text(quantity);
    EXPECT_EQ(*read, quantity);
    names.insert(to_text(quantity));
  }
  EXPECT_EQ(names.size(), kQuantities.size());
  EXPECT_EQ(to_text(Quantity::kP2c), "p2c");
  EXPECT_EQ(describe(Quantity::kP2c), "position-to-content part");
  EXPECT_EQ(parse_quantity("wieght").error().message,
            "unknown quantity wieght; known: weight, logit, content, contribution, gate, position, c2p, p2c, implied, "
            "deviation, carried");
}

}  // namespace
}  // namespace locus
