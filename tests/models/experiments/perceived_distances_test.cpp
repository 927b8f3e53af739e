// perceived_distances(): against maps of the same runs, and refusals.
#include "models/api/perceived_distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stop_token>
#include <tuple>
#include <vector>

#include "tests/support/bundled.h"

namespace locus {
namespace {

using models::Quantity;

constexpr const char* kPerceivedText = "One boat, two boats. The grey cat counts the boats again.";

Field cells_of_query(const models::Trace& trace, std::int64_t layer, std::int64_t head, Quantity quantity,
                     std::int64_t query) {
  const auto map = trace.map({layer, head, quantity, {query, query + 1}, {0, query + 1}});
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().describe());
  return *map;
}

std::vector<double> distances_in(const models::Trace& trace, std::int64_t layer, std::int64_t head,
                                 std::int64_t query) {
  const auto found = models::perceived_distances(trace, layer, head, query);
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().describe());
  EXPECT_EQ(found->definition, trace.model().encoding_of(layer)->distance);
  EXPECT_EQ(static_cast<std::int64_t>(found->distance.size()), query + 1);
  return found->distance;
}

TEST(PerceivedDistances, OfRopeAreThoseInTokens) {
  const views::Column column = test::column_of(test::bundled("text-rope"), kPerceivedText);
  const std::vector<double> found = distances_in(*column.trace, 2, 1, 30);
  for (std::size_t key = 0; key < found.size(); ++key) {
    EXPECT_EQ(found[key], 30 - static_cast<double>(key));
  }
  EXPECT_EQ(column.trace->model().encoding_of(2)->distance, "i − j");
  // The first layer of TAPE is RoPE's; a later one is not.
  const views::Column tape = test::column_of(test::bundled("text-tape"), kPerceivedText);
  EXPECT_EQ(distances_in(*tape.trace, 0, 1, 30), found);
  EXPECT_NE(distances_in(*tape.trace, 3, 1, 30), found);
}

TEST(PerceivedDistances, OfCopeAreItsPositions) {
  const views::Column column = test::column_of(test::bundled("text-cope"), kPerceivedText);
  const Field positions = cells_of_query(*column.trace, 1, 2, Quantity::kPosition, 40);
  const std::vector<double> found = distances_in(*column.trace, 1, 2, 40);
  for (std::size_t key = 0; key < found.size(); ++key) {
    EXPECT_NEAR(found[key], static_cast<double>(positions.values[key]), 1e-4 * (1 + found[key])) << key;
  }
}

// The logit is the amplitude times the cosine of the turns.
TEST(PerceivedDistances, OfTapaAreTheTurnsOfItsLogits) {
  const views::Column column = test::column_of(test::bundled("text-tapa"), kPerceivedText);
  const Field logits = cells_of_query(*column.trace, 2, 3, Quantity::kLogit, 40);
  const Field amplitudes = cells_of_query(*column.trace, 2, 3, Quantity::kContent, 40);
  const std::vector<double> found = distances_in(*column.trace, 2, 3, 40);
  for (std::size_t key = 0; key < found.size(); ++key) {
    const auto amplitude = static_cast<double>(amplitudes.values[key]);
    EXPECT_NEAR(static_cast<double>(logits.values[key]), amplitude * std::cos(2 * std::numbers::pi * found[key]),
                1e-3 * (1 + std::abs(amplitude)))
        << key;
  }
}

TEST(PerceivedDistances, OfSeqpeFollowFromItsDotProducts) {
  const views::Column column = test::column_of(test::bundled("text-seqpe"), kPerceivedText);
  const auto products = column.trace->dot_product(0, 0, {}, {}, {.centred = {0, column.trace->length()}});
  ASSERT_TRUE(products.ok()) << products.error().describe();
  const std::vector<double> found = distances_in(*column.trace, 0, 0, 40);
  for (std::int64_t key = 0; key <= 40; ++key) {
    const double square = static_cast<double>(products->at(40, 40)) + static_cast<double>(products->at(key, key)) -
                          2 * static_cast<double>(products->at(40, key));
    const double own = found[static_cast<std::size_t>(key)];
    EXPECT_NEAR(own * own, square, 1e-3 * (1 + square)) << key;
  }
  EXPECT_EQ(distances_in(*column.trace, 3, 2, 40), found);  // of all heads and layers
}

TEST(PerceivedDistances, SayWhyThereAreNone) {
  const views::Column fox = test::column_of(test::bundled("text-fox"), kPerceivedText);
  const auto none = models::perceived_distances(*fox.trace, 1, 2, 9);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(none.error().message.find("its gates say how much of a key is kept"), std::string::npos);
  EXPECT_TRUE(fox.trace->model().encoding_of(1)->distance.empty());
  const views::Column rope = test::column_of(test::bundled("text-rope"), kPerceivedText);
  const std::int64_t length = rope.trace->length();
  for (const auto& [layer, head, query] : {std::tuple(std::int64_t{4}, std::int64_t{0}, std::int64_t{9}),
                                           std::tuple(std::int64_t{-1}, std::int64_t{0}, std::int64_t{9}),
                                           std::tuple(std::int64_t{1}, std::int64_t{4}, std::int64_t{9}),
                                           std::tuple(std::int64_t{1}, std::int64_t{-1}, std::int64_t{9}),
                                           std::tuple(std::int64_t{1}, std::int64_t{0}, length),
                                           std::tuple(std::int64_t{1}, std::int64_t{0}, std::int64_t{-1})}) {
    const auto found = models::perceived_distances(*rope.trace, layer, head, query);
    ASSERT_FALSE(found.ok()) << layer << " " << head << " " << query;
    EXPECT_EQ(found.error().code, ErrorCode::kBadInput);
  }
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(models::perceived_distances(*rope.trace, 1, 0, 9, stop.get_token()).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus
