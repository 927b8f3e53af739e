// The table of heads of texts with pictures, against sums over the cells of exported maps.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/api/analyses.h"
#include "tests/support/opened.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

constexpr double kShareTolerance = 1e-5;  // of float32 weights that are summed

bool is_cell(const models::Trace& trace, std::int64_t token) {
  for (const models::ImageSpan& span : trace.images()) {
    for (std::int64_t cell = 0; cell < span.count; ++cell) {
      if (span.token(cell) == token) {
        return true;
      }
    }
  }
  return false;
}

// The mean over the words behind the first picture of what head (layer, head) gives to cells.
double on_images(const models::Trace& trace, std::int64_t layer, std::int64_t head) {
  const auto map = trace.map({layer, head, models::Quantity::kWeight, {}, {}});
  EXPECT_TRUE(map.ok());
  const models::ImageSpan& first = trace.images().front();
  double sum = 0;
  double words = 0;
  for (std::int64_t query = first.token(first.count - 1) + 1; query < trace.length(); ++query) {
    if (is_cell(trace, query)) {
      continue;
    }
    words += 1;
    for (std::int64_t key = 0; key < trace.length(); ++key) {
      sum += is_cell(trace, key) ? static_cast<double>(map->at(query, key)) : 0;
    }
  }
  EXPECT_GT(words, 0);
  return sum / words;
}

void expect_shares_of_pictures(const std::string& family) {
  SCOPED_TRACE(family);
  const auto model = test::open(test::pictured_folder(family));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto given = test::pictured_input(family);
  ASSERT_TRUE(given.ok()) << given.error().describe();
  const auto trace = (*model)->run(*given);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto table = models::head_table(**trace);
  ASSERT_TRUE(table.ok()) << table.error().describe();
  for (const models::HeadRow& row : *table) {
    EXPECT_NEAR(row.on_images, on_images(**trace, row.layer, row.head), kShareTolerance);
    EXPECT_NEAR(row.on_images + row.on_text, 1, kShareTolerance);
    EXPECT_GT(row.on_images, 0);
  }
}

TEST(HeadsOnPictures, AreSumsOverTheCells) {
  expect_shares_of_pictures("qwen3_vl");
  expect_shares_of_pictures("pixtral");  // whose rows of cells end with tokens that are no cells
}

TEST(HeadsOnPictures, AreNothingOfATextWithoutPictures) {
  const auto model = test::open(test::pictured_folder("qwen3_vl"));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto trace = (*model)->run({.ids = std::vector<std::int64_t>{1, 2, 3, 4}});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto table = models::head_table(**trace);
  ASSERT_TRUE(table.ok()) << table.error().describe();
  EXPECT_TRUE(std::isnan(table->front().on_images));
  EXPECT_TRUE(std::isnan(table->front().on_text));
}

}  // namespace
}  // namespace locus
