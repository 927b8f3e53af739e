// Memory in large pages: aligned, apart from each other, and kept as long as somebody holds it.
#include "core/base/large_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace locus {
namespace {

TEST(LargePages, PiecesAreAlignedAndKeepWhatIsWritten) {
  LargePages pages;
  const std::vector<std::size_t> sizes{1, 64, 65, std::size_t{3} << 20, 7, (std::size_t{64} << 20) + 1, 100};
  std::vector<std::shared_ptr<std::byte>> held;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    held.push_back(pages.take(sizes[n]));
    ASSERT_NE(held.back(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held.back().get()) % 64, 0U);
    std::memset(held.back().get(), static_cast<int>(n + 1), sizes[n]);
  }
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    EXPECT_EQ(held[n].get()[0], static_cast<std::byte>(n + 1));
    EXPECT_EQ(held[n].get()[sizes[n] - 1], static_cast<std::byte>(n + 1));
  }
}

TEST(LargePages, APieceOutlivesTheOthersAndTheirMaker) {
  std::shared_ptr<std::byte> kept;
  {
    LargePages pages;
    const auto before = pages.take(1000);
    kept = pages.take(1000);
    const auto after = pages.take(std::size_t{80} << 20);  // in a mapping of its own
    std::memset(kept.get(), 5, 1000);
  }
  EXPECT_EQ(kept.get()[999], std::byte{5});
}

TEST(LargePages, NullWhereThereIsNoMemory) {
  LargePages pages;
  EXPECT_EQ(pages.take(std::size_t{1} << 62), nullptr);
  EXPECT_NE(pages.take(10), nullptr);
}

}  // namespace
}  // namespace locus
