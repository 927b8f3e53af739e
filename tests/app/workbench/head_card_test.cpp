// What the card of a head says, beside what the views measure.
#include "app/workbench/work/head_card.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "core/analysis/expected_range.h"
#include "models/api/addressing.h"
#include "models/api/knock_out.h"
#include "tests/support/bundled.h"

namespace locus::workbench {
namespace {

const std::string kText = "ROMEO:\nMy name is Romeo; my name, my name is hateful to myself.\n";

views::ViewInput input_of(const views::Column& column, std::int64_t layer, std::int64_t head) {
  views::ViewInput input;
  input.columns = {column};
  input.layer = layer;
  input.head = head;
  input.cache = std::make_shared<views::FieldCache>(1U << 24);
  return input;
}

TEST(HeadCard, ReadsMostIsTheMeanWeightOnTokensOfOneLabel) {
  const views::Column column = test::column_of(test::bundled("text-rope"), kText);
  const models::Trace& trace = *column.trace;
  models::MapRequest request;
  request.layer = 1;
  request.head = 2;
  const auto map = trace.map(request);
  ASSERT_TRUE(map.ok());
  std::map<std::string, double> sums;
  std::map<std::string, std::int64_t> counts;
  for (std::int64_t j = 0; j < map->columns; ++j) {
    const std::string& label = trace.tokens()[static_cast<std::size_t>(j)].label;
    ++counts[label];
    for (std::int64_t i = 1; i < map->rows; ++i) {
      sums[label] += static_cast<double>(map->at(i, j)) / static_cast<double>(map->rows - 1);
    }
  }
  const auto all = most_read(trace, {1, 2}, 1000, {}, {});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), sums.size());
  double whole = 0;
  for (const ReadKey& each : *all) {
    EXPECT_NEAR(each.share, sums[each.label], 1e-5) << each.label;
    EXPECT_EQ(each.count, counts[each.label]) << each.label;
    whole += each.share;
  }
  EXPECT_NEAR(whole, 1, 1e-4);
  const auto few = most_read(trace, {1, 2}, 3, {}, {});
  ASSERT_EQ(few->size(), 3U);
  EXPECT_GE((*few)[0].share, (*few)[1].share);
  EXPECT_EQ((*few)[0].label, (*all)[0].label);

  const auto card = head_card(trace, {1, 2}, 20, {}, {});
  ASSERT_TRUE(card.ok());
  EXPECT_EQ(card->map.rows, 20);
  EXPECT_FALSE(most_read(trace, {1, 99}, 3, {}, {}).ok());
}

TEST(HeadCard, PlaceAndWordAreThoseOfTheView) {
  const views::Column rope = test::column_of(test::bundled("text-rope"), kText);
  const auto one = place_and_word(input_of(rope, 1, 2));
  ASSERT_TRUE(one.ok()) << one.error().describe();
  const auto spectrum = models::addressing_spectrum(*rope.trace, 1, 2);
  ASSERT_TRUE(spectrum.ok());
  EXPECT_NEAR(one->place, spectrum->head.place, 1e-4);
  EXPECT_NEAR(one->word, spectrum->head.word, 1e-4);
  EXPECT_NEAR(one->both, spectrum->head.both, 1e-4);
  EXPECT_NE(one->said.find("head 1.2 looks at "), std::string::npos) << one->said;
  EXPECT_NE(one->pairs.find(" rotary pairs, wavelengths 6.28 to "), std::string::npos) << one->pairs;

  const views::Column alibi = test::column_of(test::bundled("text-alibi"), kText);
  const auto of_all = place_and_word(input_of(alibi, 1, 2));
  ASSERT_TRUE(of_all.ok()) << of_all.error().describe();
  const auto layers = models::addressing(*alibi.trace);
  ASSERT_TRUE(layers.ok());
  EXPECT_NEAR(of_all->place, (*layers)[1].heads[2].place, 1e-4);
  EXPECT_NEAR(of_all->word, (*layers)[1].heads[2].word, 1e-4);
  EXPECT_TRUE(of_all->pairs.empty());
}

TEST(HeadCard, TheEffectIsThatOfKnockOut) {
  const views::Column column = test::column_of(test::bundled("text-rope"), kText);
  const auto effect = head_effect(column, {1, 2}, {}, {});
  ASSERT_TRUE(effect.ok()) << effect.error().describe();
  models::KnockOutOptions options;
  options.to = models::HeadTo::kMean;
  const auto all = models::knock_out(*column.model, *column.trace, options);
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(effect->of_loss);
  EXPECT_EQ(effect->tokens, column.trace->length() - 1);
  EXPECT_NEAR(effect->value, static_cast<double>(all->effect.at(1, 2)), 1e-5);
  EXPECT_NEAR(effect->half, analysis::t_quantile(column.trace->length() - 2) * static_cast<double>(all->error.at(1, 2)),
              1e-5);
}

}  // namespace
}  // namespace locus::workbench
