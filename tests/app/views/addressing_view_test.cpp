// The view addressing on bundled models: what it exports against the table that the pairs of every cell give elsewhere,
// and against the maps of encodings that add to the content.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>

#include "models/api/addressing.h"
#include "models/api/pairs.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_atlas.h"

namespace locus::views::test_views {
namespace {

ViewInput addressed(const std::string& checkpoint, const std::string& of, std::int64_t layer, std::int64_t head) {
  ViewInput input;
  input.columns = {test::column_of(test::bundled(checkpoint), kText)};
  input.layer = layer;
  input.head = head;
  input.options.set("of", of);
  return input;
}

double number_in(const Data& data, std::int64_t row, const std::string& name) {
  return at(data, row, column_named(data, name));
}

// p of the keys 0 … query.
std::vector<double> half_weights(const ViewInput& input, std::int64_t query) {
  const Field weights = map_of(*input.columns[0].trace, input.layer, input.head);
  std::vector<double> p;
  for (std::int64_t key = 0; key <= query; ++key) {
    p.push_back((static_cast<double>(weights.at(query, key)) + 1 / static_cast<double>(query + 1)) / 2);
  }
  return p;
}

TEST(AddressingView, ARowIsThatOfTheTableOfItsPairs) {
  ViewInput input = addressed("text-rope", "query", 0, 3);
  const std::int64_t query = 40;
  input.query = query;
  const Data data = exported("addressing", input);
  ASSERT_EQ(data.shape[0], query + 1);
  const std::vector<double> p = half_weights(input, query);
  std::vector<double> distances;
  for (std::int64_t j = 0; j <= query; ++j) {
    distances.push_back(static_cast<double>(query - j));
  }
  std::vector<double> place(p.size());
  std::vector<double> word(p.size());
  double mean = 0;
  for (std::int64_t c = 0; c <= query; ++c) {
    const auto cell = models::pair_parts(*input.columns[0].trace, 0, 3, query, c, distances);
    ASSERT_TRUE(cell.ok());
    for (std::int64_t j = 0; j <= query; ++j) {
      double logit = 0;
      for (std::int64_t pair = 0; pair < cell->elsewhere.rows; ++pair) {
        logit += static_cast<double>(cell->elsewhere.at(pair, j));
      }
      const auto at = static_cast<std::size_t>(j);
      const auto content = static_cast<std::size_t>(c);
      place[at] += p[content] * logit;
      word[content] += p[at] * logit;
      mean += p[at] * p[content] * logit;
    }
  }
  for (std::int64_t j = 0; j <= query; ++j) {
    const auto at = static_cast<std::size_t>(j);
    EXPECT_EQ(number_in(data, j, "key"), static_cast<double>(j));
    EXPECT_NEAR(number_in(data, j, "place"), place[at] - mean, 1e-4 * (1 + std::abs(place[at]))) << j;
    EXPECT_NEAR(number_in(data, j, "word"), word[at] - mean, 1e-4 * (1 + std::abs(word[at]))) << j;
    EXPECT_NEAR(number_in(data, j, "mean"), mean, 1e-4 * (1 + std::abs(mean)));
    const double sum = number_in(data, j, "mean") + number_in(data, j, "place") + number_in(data, j, "word") +
                       number_in(data, j, "both");
    EXPECT_NEAR(number_in(data, j, "logit"), sum, 1e-4 * (1 + std::abs(sum))) << j;
  }
}

TEST(AddressingView, SharesOfHeadsAddUpAndThoseOfPairsAreThem) {
  ViewInput input = addressed("text-rope", "heads", 0, 3);
  const Data heads = exported("addressing", input);
  const models::ModelInfo& model = input.columns[0].trace->model();
  ASSERT_EQ(heads.shape[0], model.layers * model.heads);
  for (std::int64_t row = 0; row < heads.shape[0]; ++row) {
    EXPECT_NEAR(number_in(heads, row, "place") + number_in(heads, row, "word") + number_in(heads, row, "both"), 1,
                1e-5);
    EXPECT_LE(number_in(heads, row, "place low"), number_in(heads, row, "place"));
    EXPECT_GT(number_in(heads, row, "spread"), 0);
  }
  input.options.set("of", std::string("pairs"));
  const Data pairs = exported("addressing", input);
  ASSERT_EQ(pairs.shape[0], model.head_width / 2);
  for (const char* share : {"place", "word", "both"}) {
    double sum = 0;
    for (std::int64_t row = 0; row < pairs.shape[0]; ++row) {
      sum += number_in(pairs, row, share);
    }
    EXPECT_NEAR(sum, number_in(heads, 3, share), 1e-5) << share;
  }
  // Head 0.3 of text-rope looks at the token before.
  EXPECT_GT(number_in(heads, 3, "place"), 0.5);
}

// "90 % of place from wavelengths up to 40 tokens": of place or word, whichever is larger, counted from its own end.
TEST(AddressingView, TheSentenceSaysWhichWavelengthsTheLargerShareComesFrom) {
  for (const HeadRef head : {HeadRef{0, 3}, HeadRef{0, 0}, HeadRef{2, 1}, HeadRef{3, 2}}) {
    const ViewInput input = addressed("text-rope", "pairs", head.layer, head.head);
    const Data pairs = exported("addressing", input);
    const auto figure = view_of("addressing").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const auto sum = [&](const std::string& share, auto counts) {
      double all = 0;
      for (std::int64_t row = 0; row < pairs.shape[0]; ++row) {
        all += counts(number_in(pairs, row, "wavelength")) ? number_in(pairs, row, share) : 0;
      }
      return all;
    };
    const auto any = [](double) { return true; };
    const bool words = sum("word", any) > sum("place", any);
    std::smatch found;
    const std::regex said(words ? "90 % of word from wavelengths of ([0-9.]+) tokens and more"
                                : "90 % of place from wavelengths up to ([0-9.]+) tokens");
    ASSERT_TRUE(std::regex_search(figure->statement, found, said)) << figure->statement;
    const double edge = std::stod(found[1]);
    const std::string share = words ? "word" : "place";
    const auto within = [&](double slack) {
      return sum(share, [&](double wave) { return words ? wave >= edge / slack : wave <= edge * slack; });
    };
    EXPECT_GE(within(1.01), 0.9 * sum(share, any)) << figure->statement;
    EXPECT_LT(within(0.99), 0.9 * sum(share, any)) << figure->statement;
  }
}

TEST(AddressingView, WhatAddsToTheContentIsPlaceAndTheContentWord) {
  ViewInput input = addressed("text-alibi", "query", 1, 2);
  input.query = 33;
  const Data data = exported("addressing", input);
  const Field logit = map_of(*input.columns[0].trace, input.layer, input.head, models::Quantity::kLogit);
  const Field content = map_of(*input.columns[0].trace, input.layer, input.head, models::Quantity::kContent);
  const std::vector<double> p = half_weights(input, 33);
  double of_place = 0;
  double of_word = 0;
  for (std::int64_t key = 0; key <= 33; ++key) {
    const auto word = static_cast<double>(content.at(33, key));
    of_word += p[static_cast<std::size_t>(key)] * word;
    of_place += p[static_cast<std::size_t>(key)] * (static_cast<double>(logit.at(33, key)) - word);
  }
  for (std::int64_t key = 0; key <= 33; ++key) {
    const auto word = static_cast<double>(content.at(33, key));
    EXPECT_NEAR(number_in(data, key, "word"), word - of_word, 1e-4);
    EXPECT_NEAR(number_in(data, key, "place"), static_cast<double>(logit.at(33, key)) - word - of_place, 1e-4);
    EXPECT_NEAR(number_in(data, key, "both"), 0, 1e-5);
  }
  input.options.set("of", std::string("heads"));
  const Data heads = exported("addressing", input);
  for (std::int64_t row = 0; row < heads.shape[0]; ++row) {
    EXPECT_LE(std::abs(number_in(heads, row, "both")), 1e-12);
  }
}

TEST(AddressingView, EveryTextModelIsSplitOrSaysWhyNot) {
  for (const char* checkpoint : {"text-rope", "text-rope-nope", "text-alibi", "text-tapa", "text-tape", "text-cope",
                                 "text-relative", "text-seqpe"}) {
    ViewInput input = addressed(checkpoint, "heads", 0, 0);
    input.options.set("queries", std::int64_t{4});
    const auto figure = view_of("addressing").figure(input);
    EXPECT_TRUE(figure.ok()) << checkpoint << ": " << (figure.ok() ? "" : figure.error().describe());
  }
  const auto learned = view_of("addressing").figure(addressed("text-learned", "heads", 0, 0));
  ASSERT_FALSE(learned.ok());
  EXPECT_NE(learned.error().describe().find("no content apart from their place"), std::string::npos);
}

TEST(AddressingView, ScoresOfSwapsAreOfHeadsAlone) {
  ViewInput input = addressed("text-rope", "heads", 0, 3);
  input.options.set("score", std::string("swaps"));
  const Data data = exported("addressing", input);
  const auto scores = models::swap_scores(*input.columns[0].trace, 1e-4, {.queries = 24});
  ASSERT_TRUE(scores.ok());
  EXPECT_NEAR(number_in(data, 3, "positional"), (*scores)[0][3].positional, 1e-6);
  EXPECT_NEAR(number_in(data, 3, "symbolic"), (*scores)[0][3].symbolic, 1e-6);
  input.options.set("of", std::string("pairs"));
  EXPECT_EQ(view_of("addressing").figure(input).error().code, ErrorCode::kUsage);
  input = addressed("text-rope", "pairs", 0, kMean);
  EXPECT_EQ(view_of("addressing").figure(input).error().code, ErrorCode::kUsage);
}

TEST(AddressingView, EditedLayersAreNotSplit) {
  ViewInput input = addressed("text-rope", "pairs", 0, 3);
  const auto edited = test::bundled("text-rope")->edited({*models::parse_edit("head 0.3 pairs 0-1 off", 0)});
  ASSERT_TRUE(edited.ok());
  input.columns = {test::column_of(*edited, kText)};
  const auto refused = view_of("addressing").figure(input);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("edited logits are not split"), std::string::npos);
  input.layer = 1;
  EXPECT_TRUE(view_of("addressing").figure(input).ok());
}

TEST(AddressingView, PointsOfAnAtlasAreItsMeans) {
  ViewInput input;
  input.columns = {test::atlas_column("made-up")};
  const auto figure = view_of("addressing").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const Data data = exported("addressing", input);
  const auto& points = std::get<figure::Points>(figure->panels[0].layers[1]);
  const test::FakeAtlas atlas;
  for (std::int64_t layer = 0; layer < test::FakeAtlas::kLayers; ++layer) {
    for (std::int64_t head = 0; head < test::FakeAtlas::kHeads; ++head) {
      const std::int64_t row = layer * test::FakeAtlas::kHeads + head;
      EXPECT_NEAR(points.x[static_cast<std::size_t>(row)], atlas.mean_of("heads.place", layer, head, 0, false), 1e-9);
      EXPECT_NEAR(number_in(data, row, "word"), atlas.mean_of("heads.word", layer, head, 0, false), 1e-6);
      EXPECT_NEAR(number_in(data, row, "word low"),
                  atlas.mean_of("heads.word", layer, head, 0, false) - test::FakeAtlas::half_of(head), 1e-6);
      EXPECT_NEAR(number_in(data, row, "word shuffled"), atlas.mean_of("heads.word", layer, head, 0, true), 1e-6);
    }
  }
  input.options.set("of", std::string("pairs"));
  EXPECT_EQ(view_of("addressing").figure(input).error().code, ErrorCode::kUnsupported);
}

TEST(AddressingView, AClickChoosesTheHeadOrThePair) {
  ViewInput input = addressed("text-rope", "heads", 0, 0);
  input.cache = std::make_shared<FieldCache>(64 << 20);
  const Data data = exported("addressing", input);
  const Selection head =
      view_of("addressing").pick(input, {0, number_in(data, 3, "place"), number_in(data, 3, "word")});
  ASSERT_TRUE(head.layer && head.head);
  const std::int64_t row = *head.layer * input.columns[0].trace->model().heads + *head.head;
  EXPECT_NEAR(number_in(data, row, "place"), number_in(data, 3, "place"), 0.01);
  EXPECT_FALSE(view_of("addressing").places(input, head).empty());
  EXPECT_FALSE(
      view_of("addressing").said_of(input, {0, number_in(data, 3, "place"), number_in(data, 3, "word")}).empty());
  EXPECT_FALSE(view_of("addressing").pick(input, {0, 5, 5}).head);
  input.options.set("of", std::string("pairs"));
  exported("addressing", input);
  const Selection pair = view_of("addressing").pick(input, {0, 2.5, 0});
  ASSERT_TRUE(pair.option);
  EXPECT_EQ(pair.option->first, "band");
}

}  // namespace
}  // namespace locus::views::test_views
