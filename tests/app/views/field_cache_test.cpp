#include "app/views/shared/field_cache.h"

#include <gtest/gtest.h>

#include "tests/support/bundled.h"

namespace {

using namespace locus;
using views::FieldCache;

// A run, and what the cache weighs after the view's figure over it.
std::size_t weight_of(const std::string& view, const Settings& options, std::size_t columns) {
  views::ViewInput input;
  const auto model = test::bundled("text-rope");
  for (std::size_t n = 0; model != nullptr && n < columns; ++n) {
    input.columns.push_back(test::column_of(model, std::string(400, static_cast<char>('a' + n))));
  }
  input.cache = std::make_shared<FieldCache>(std::size_t{1} << 30);
  input.options = options;
  const auto found = views::find_view(view);
  EXPECT_TRUE(found.ok());
  const auto figure = (*found)->figure(input);
  EXPECT_TRUE(figure.ok()) << (figure.ok() ? "" : figure.error().describe());
  return input.cache->size_bytes();
}

TEST(FieldCache, WhatAViewKeepsWeighsWhatItOwns) {
  EXPECT_GE(weight_of("distance-bias", {{"pairs", std::int64_t{100'000}}}, 1), 100'000U * sizeof(float));
  // The distances of 4 × 4 heads, and the match of each.
  EXPECT_GE(weight_of("head-difference", {{"match", std::string("best")}}, 2), 16U * (sizeof(float) + 24));
}

TEST(FieldCache, KeepsItsBound) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  FieldCache cache(kLimit);
  for (int n = 0; n < 64; ++n) {
    cache.put(views::Traces{}, {"test", n}, Field::zeros(100, 400));
    EXPECT_LE(cache.size_bytes(), kLimit);
  }
  EXPECT_NE(cache.peek<Field>(views::Traces{}, {"test", 63}), nullptr);
  EXPECT_EQ(cache.peek<Field>(views::Traces{}, {"test", 0}), nullptr);
}

}  // namespace
