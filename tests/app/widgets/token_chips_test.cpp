#include "app/workbench/input/token_chips.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/pictured_text.h"

namespace locus::workbench {
namespace {

std::shared_ptr<const models::Trace> pictured_trace(const std::string& family) {
  const auto model = models::open(test::pictured_folder(family));
  EXPECT_TRUE(model.ok());
  const auto input = test::pictured_input(family);
  EXPECT_TRUE(input.ok());
  const auto trace = (*model)->run(*input);
  EXPECT_TRUE(trace.ok());
  return *trace;
}

TokenChips chips_of(const models::Trace& trace, const std::set<int>& open, int right = 200) {
  TokenChips chips;
  chips.lay_out(
      trace, open, [](const TokenChip& chip) { return chip.picture < 0 ? 10 : 30; }, 0, right, 2);
  return chips;
}

TEST(TokenChips, AFoldedPictureIsOneChip) {
  const auto trace = pictured_trace("pixtral");  // rows of cells end with tokens of their own
  const std::vector<models::ImageSpan>& images = trace->images();
  ASSERT_EQ(images.size(), 2U);
  const TokenChips chips = chips_of(*trace, {});
  const std::int64_t cells = images[0].count + images[1].count;
  EXPECT_EQ(static_cast<std::int64_t>(chips.all().size()), trace->length() - cells + 2);
  for (std::int64_t cell = 0; cell < images[1].count; ++cell) {
    ASSERT_NE(chips.of(images[1].token(cell)), nullptr);
    EXPECT_EQ(chips.of(images[1].token(cell))->picture, 1);
  }
  EXPECT_EQ(chips.of(trace->length()), nullptr);
  EXPECT_EQ(chips.of(-1), nullptr);
}

TEST(TokenChips, AnOpenPictureShowsItsCellsBehindItsThumbnail) {
  const auto trace = pictured_trace("qwen3_vl");
  const models::ImageSpan& second = trace->images()[1];
  const TokenChips chips = chips_of(*trace, {1});
  EXPECT_EQ(chips.of(trace->images()[0].first)->picture, 0);
  for (std::int64_t cell = 0; cell < second.count; ++cell) {
    const TokenChip* const chip = chips.of(second.token(cell));
    ASSERT_NE(chip, nullptr);
    EXPECT_EQ(chip->picture, -1);
    EXPECT_EQ(chip->token, second.token(cell));
  }
  const TokenChip* const first = chips.of(second.first);
  EXPECT_EQ((first - 1)->picture, 1);
}

TEST(TokenChips, ArrowsPassOverThumbnails) {
  const auto trace = pictured_trace("qwen3_vl");
  const models::ImageSpan& first = trace->images()[0];
  const TokenChips folded = chips_of(*trace, {});
  EXPECT_EQ(folded.beside(first.first - 1, 1), first.first + first.count);
  EXPECT_EQ(folded.beside(first.first + first.count, -1), first.first - 1);
  EXPECT_EQ(folded.beside(first.first + 1, 1), first.first + first.count) << "from a cell that is folded";
  const TokenChips open = chips_of(*trace, {0, 1});
  EXPECT_EQ(open.beside(first.first - 1, 1), first.first);
  EXPECT_EQ(open.beside(-1, 1), 0);
  EXPECT_EQ(open.beside(-1, -1), trace->length() - 1);
  EXPECT_EQ(open.beside(0, -1), 0);
}

TEST(TokenChips, RowsBreakAndAreFoundAgain) {
  const auto trace = pictured_trace("qwen3_vl");
  const TokenChips chips = chips_of(*trace, {0, 1}, 100);
  EXPECT_GT(chips.rows(), 2);
  for (const TokenChip& chip : chips.all()) {
    EXPECT_LE(chip.x + chip.width, 100);
    EXPECT_EQ(chips.at(chip.row, chip.x + 1), &chip);
  }
  EXPECT_EQ(chips.at(chips.rows(), 1), nullptr);
  const TokenChip& last = chips.all().back();
  EXPECT_EQ(chips.in_row(last.row, last.x), last.token);
  EXPECT_EQ(chips.in_row(99, 0), chips.from_row(last.row)->token);
}

}  // namespace
}  // namespace locus::workbench
