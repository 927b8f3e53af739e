// Sums of an atlas against sums made one by one.
#include "models/atlas/sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "core/base/numbers.h"
#include "models/formats/atlas/contents.h"

namespace locus {
namespace {

using models::atlas::Kind;
using models::atlas::Table;

// Two blocks of samples, the second one padded as it is sent; maps of two heads with a cell that no query sees.
TEST(AtlasSums, AreSumsOverAllSamples) {
  constexpr std::size_t kReplicates = 7;
  constexpr std::size_t kSamples = 39;
  models::atlas::Slots slots;
  slots.add(Kind::kWindow, "plain", 0, {150});
  slots.add_map(Kind::kWindow, "map", 0, {2, 1, 3}, std::make_shared<std::vector<std::uint32_t>>(std::vector{0U, 2U}));
  const models::atlas::Slot& heads = slots.of(Kind::kWindow)[1];
  const auto number = [](std::size_t sample, std::size_t n) {
    return std::sin(static_cast<double>(1 + sample * 1000 + n));
  };
  const auto cell = [&](std::size_t sample, std::size_t n) { return n % 3 == 1 ? kNaN : number(sample, 500 + n); };
  models::atlas::Sums sums(slots, kReplicates, 3);
  models::atlas::Block block(slots, 1);
  std::vector<double> sum(156), squares(156), counts(kReplicates), replicates(kReplicates * 150), weights(kReplicates);
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    if (sample == 18) {
      sums.add(block.numbers());
      block.clear();
    }
    std::vector<double> plain(150), map(6);
    for (std::size_t n = 0; n < 156; ++n) {
      const double x = n < 150 ? plain[n] = number(sample, n) : map[n - 150] = cell(sample, n - 150);
      sum[n] += x;
      squares[n] += x * x;
    }
    block.add_map(Kind::kWindow, heads, 0, std::span(map).first(3));
    block.add_map(Kind::kWindow, heads, 1, std::span(map).subspan(3));
    block.add(Kind::kWindow, static_cast<std::int64_t>(sample), plain);
    models::atlas::draw_weights(3, Kind::kWindow, static_cast<std::int64_t>(sample), weights);
    for (std::size_t b = 0; b < kReplicates; ++b) {
      counts[b] += weights[b];
      for (std::size_t n = 0; n < 150; ++n) {
        replicates[b * 150 + n] += weights[b] * plain[n];
      }
    }
  }
  sums.add(block.numbers(block.size() + 100));
  const models::atlas::TableSource tables = sums.tables();
  ASSERT_EQ(tables.count, 2U);
  EXPECT_EQ(sums.samples().at("windows").count, static_cast<double>(kSamples));
  EXPECT_EQ(sums.samples().at("windows").replicates, counts);
  const auto near = [](double found, double expected, double tolerance) {
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : std::abs(found - expected) < tolerance)
        << found << " instead of " << expected;
  };
  const Table plain = tables.table(0);
  const Table map = tables.table(1);
  for (std::size_t n = 0; n < 156; ++n) {
    const Table& table = n < 150 ? plain : map;
    const std::size_t own = n < 150 ? n : n - 150;
    near(table.sum[own], sum[n], 1e-12);
    near(table.squares[own], squares[n], 1e-12);
  }
  EXPECT_TRUE(map.replicates.empty());
  // A replicate has at most 39 numbers of at most 1, some of them twice; each of some 14 roundings is half of 2⁻²⁴ · 64.
  ASSERT_EQ(plain.replicates.size(), replicates.size());
  for (std::size_t n = 0; n < replicates.size(); ++n) {
    near(static_cast<double>(plain.replicates[n]), replicates[n], 2e-5);
  }
}

// Copied when it grows, a block of a large model would lie in memory twice.
TEST(AtlasSums, ABlockIsNotCopiedWhileItHasRoom) {
  models::atlas::Slots slots;
  slots.add(Kind::kWindow, "plain", 0, {1000});
  models::atlas::Block block(slots, 3);
  const double* const place = block.numbers().data();
  block.clear();
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    block.add(Kind::kWindow, sample, std::vector<double>(1000, 1));
  }
  EXPECT_EQ(block.numbers().data(), place);
  EXPECT_EQ(block.size(), 1U + 3 * 1002);
}

}  // namespace
}  // namespace locus
