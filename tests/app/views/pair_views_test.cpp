// The views of rotary pairs on a bundled model: what they export against the logits of its maps, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/series.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"

namespace locus::views::test_views {
namespace {

ViewInput head_of(const std::string& checkpoint, std::int64_t layer, std::int64_t head) {
  ViewInput input;
  input.columns = {test::column_of(test::bundled(checkpoint), kText)};
  input.layer = layer;
  input.head = head;
  return input;
}

Field logits(const ViewInput& input) {
  models::MapRequest request;
  request.layer = input.layer;
  request.head = input.head;
  request.quantity = models::Quantity::kLogit;
  const auto map = input.columns[0].trace->map(request);
  EXPECT_TRUE(map.ok());
  return *map;
}

TEST(PairViews, PartsOfACellSumToItsLogit) {
  for (const char* checkpoint : {"text-rope", "text-tape", "text-tapa"}) {
    ViewInput input = head_of(checkpoint, 1, 2);
    const Field map = logits(input);
    for (const auto& [query, key] : {std::pair(40, 3), std::pair(17, 16), std::pair(9, 9)}) {
      input.query = query;
      input.key = key;
      const Data data = exported("pair-scores", input);
      double sum = 0;
      for (const float part : data.values) {
        sum += static_cast<double>(part);
      }
      const auto logit = static_cast<double>(map.at(query, key));
      EXPECT_LE(std::abs(sum - logit), 1e-4 * (1 + std::abs(logit))) << checkpoint << " " << query << " " << key;
      const auto most = std::ranges::max_element(data.values, {}, [](float part) { return std::abs(part); });
      const std::string said = view_of("pair-scores").figure(input)->statement;
      EXPECT_TRUE(said.starts_with("logit " + short_number(logit) + ", of it " +
                                   short_number(static_cast<double>(*most)) + " from "))
          << said;
    }
  }
}

TEST(PairViews, ProfilesSumToTheMeanLogitOfADistance) {
  for (const char* checkpoint : {"text-rope", "text-tape", "text-tapa"}) {
    const ViewInput input = head_of(checkpoint, 2, 1);
    const Field map = logits(input);
    const Data data = exported("pair-profile", input);
    ASSERT_EQ(data.shape.size(), 2U);
    ASSERT_EQ(data.shape[1], map.rows);
    for (std::int64_t distance = 0; distance < map.rows; ++distance) {
      double sum = 0;
      for (std::int64_t pair = 0; pair < data.shape[0]; ++pair) {
        sum += static_cast<double>(data.values[static_cast<std::size_t>(pair * map.rows + distance)]);
      }
      double mean = 0;
      for (std::int64_t i = distance; i < map.rows; ++i) {
        mean += static_cast<double>(map.at(i, i - distance)) / static_cast<double>(map.rows - distance);
      }
      EXPECT_LE(std::abs(sum - mean), 1e-4 * (1 + std::abs(mean))) << checkpoint << " at " << distance;
    }
  }
}

// Distances that fewer than sixteen queries have are neither in the map nor in the curves, and the note says so; data
// have all.
TEST(PairViews, AProfileLeavesOutDistancesOfFewQueries) {
  const ViewInput input = head_of("text-rope", 2, 1);
  const std::int64_t length = input.columns[0].trace->length();
  ASSERT_GE(length, 32);
  const auto figure = view_of("pair-profile").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const Field& parts = *std::get<figure::HeatMap>(figure->panels[0].layers.front()).field;
  const figure::Panel& curves = figure->panels[1];
  const auto& logit = std::get<figure::Curve>(curves.layers.front());
  for (std::int64_t distance = 0; distance < length; ++distance) {
    const bool few = length - distance < 16;
    EXPECT_EQ(std::isnan(logit.y[static_cast<std::size_t>(distance)]), few) << distance;
    EXPECT_EQ(std::isnan(parts.at(0, distance)), few) << distance;
  }
  EXPECT_NE(curves.note.find("distances of fewer than 16 queries left out"), std::string::npos) << curves.note;
}

TEST(PairViews, EnergiesHaveAnEntryAPairOfEveryHeadAndLayer) {
  ViewInput input = head_of("text-rope", 2, 1);
  const models::ModelInfo& model = input.columns[0].trace->model();
  const std::int64_t pairs = model.head_width / 2;
  const Data one = exported("pair-energy", input);
  EXPECT_EQ(one.shape, std::vector<std::int64_t>({pairs}));
  input.head = kAll;
  const auto heads = view_of("pair-energy").data(input);
  ASSERT_TRUE(heads.ok());
  EXPECT_EQ(heads->shape, std::vector<std::int64_t>({model.heads, pairs}));
  input.layer = kAll;
  const auto all = view_of("pair-energy").data(input);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->shape, std::vector<std::int64_t>({model.layers, model.heads, pairs}));
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const auto n = static_cast<std::size_t>(pair);
    EXPECT_EQ(one.values[n], heads->values[static_cast<std::size_t>(pairs) + n]);
    EXPECT_EQ(one.values[n], all->values[static_cast<std::size_t>((2 * model.heads + 1) * pairs) + n]);
  }
}

TEST(PairViews, LayersWithoutPairsAreLeftOutOfThePictureOfAll) {
  ViewInput input = head_of("text-rope-nope", 1, 0);
  EXPECT_EQ(view_of("pair-energy").figure(input).error().code, ErrorCode::kUnsupported);
  input.options.set("over", std::string("layers"));
  const auto figure = view_of("pair-energy").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const Field& rows = *std::get<figure::HeatMap>(figure->panels[0].layers[0]).field;
  EXPECT_EQ(rows.rows, input.columns[0].trace->model().layers);
  EXPECT_FALSE(std::isnan(rows.at(0, 0)));
  EXPECT_TRUE(std::isnan(rows.at(1, 0)));
}

TEST(PairViews, APlaneIsATableOfUnrotatedPoints) {
  ViewInput input = head_of("text-rope", 2, 1);
  input.options.set("pair", std::int64_t{3});
  const Data data = exported("pair-plane", input);
  EXPECT_EQ(data.columns, std::vector<std::string>({"q_re", "q_im", "k_re", "k_im"}));
  const std::int64_t length = input.columns[0].trace->length();
  EXPECT_EQ(data.shape, std::vector<std::int64_t>({length, 4}));
  input.options.set("band", std::string("3:5"));
  input.options.set("pair", std::int64_t{-1});
  EXPECT_EQ(exported("pair-plane", input).values, data.values);
  EXPECT_TRUE(view_of("pair-plane").figure(input)->statement.starts_with("pair 3, wavelength "));
  // Norms of the points are the energy.
  double sum = 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(length); ++t) {
    sum += std::hypot(static_cast<double>(data.values[4 * t]), static_cast<double>(data.values[4 * t + 1]));
  }
  ViewInput energy = head_of("text-rope", 2, 1);
  EXPECT_NEAR(sum / static_cast<double>(length), static_cast<double>(exported("pair-energy", energy).values[3]), 1e-5);
}

TEST(PairViews, AttentionOfAllPairsIsAttentionAndBandsAddUp) {
  ViewInput input = head_of("text-rope", 1, 2);
  input.quantity = models::Quantity::kLogit;
  const Data whole = exported("attention", input);
  const auto with = [&](const char* pairs) {
    ViewInput own = input;
    own.options.set("pairs", std::string(pairs));
    return exported("attention", own);
  };
  const std::int64_t pairs = input.columns[0].trace->model().head_width / 2;
  const Data all = with(("0:" + std::to_string(pairs)).c_str());
  const Data fast = with("0:5");
  const Data slow = with(("5:" + std::to_string(pairs)).c_str());
  ASSERT_EQ(all.values.size(), whole.values.size());
  for (std::size_t n = 0; n < whole.values.size(); ++n) {
    if (std::isnan(whole.values[n])) {
      EXPECT_TRUE(std::isnan(fast.values[n]));
      continue;
    }
    EXPECT_NEAR(all.values[n], whole.values[n], 1e-4 * (1 + std::abs(whole.values[n])));
    EXPECT_NEAR(fast.values[n] + slow.values[n], whole.values[n], 1e-4 * (1 + std::abs(whole.values[n])));
  }
  input.quantity = models::Quantity::kWeight;
  const Data weights = with("0:5");
  const std::int64_t length = input.columns[0].trace->length();
  for (std::int64_t i = 0; i < length; ++i) {
    double sum = 0;
    double exponentials = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      sum += static_cast<double>(weights.values[static_cast<std::size_t>(i * length + j)]);
      exponentials += std::exp(static_cast<double>(fast.values[static_cast<std::size_t>(i * length + j)]));
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    const auto self = static_cast<std::size_t>(i * length + i);
    EXPECT_NEAR(weights.values[self], std::exp(static_cast<double>(fast.values[self])) / exponentials, 1e-5);
  }
}

TEST(PairViews, EncodingsWithoutPairsAreRefusedWithTheReason) {
  for (const char* view : {"pair-energy", "pair-scores", "pair-profile", "pair-plane"}) {
    const ViewInput input = head_of("text-alibi", 0, 0);
    const auto figure = view_of(view).figure(input);
    ASSERT_FALSE(figure.ok()) << view;
    EXPECT_EQ(figure.error().code, ErrorCode::kUnsupported) << view;
    EXPECT_NE(figure.error().message.find("changes the logit by the distance"), std::string::npos)
        << figure.error().message;
  }
  ViewInput input = head_of("text-tapa", 0, 0);
  EXPECT_EQ(view_of("pair-plane").figure(input).error().code, ErrorCode::kUnsupported);
  input.options.set("pairs", std::string("0"));
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUnsupported);
}

TEST(PairViews, WrongPairsAreRefused) {
  for (const char* typed : {"a", "3:2", "3:3", "-1", ":", "1:2:3", "4:", "99999999999999999999"}) {
    ViewInput input = head_of("text-rope", 0, 0);
    input.options.set("band", std::string(typed));
    const auto figure = view_of("pair-profile").figure(input);
    ASSERT_FALSE(figure.ok()) << typed;
    EXPECT_EQ(figure.error().code, ErrorCode::kUsage) << typed;
    for (const char* view : {"pair-energy", "pair-scores", "pair-profile", "pair-plane"}) {
      EXPECT_FALSE(view_of(view).data(input).ok()) << view << " " << typed;
    }
  }
  ViewInput input = head_of("text-rope", 0, 0);
  input.quantity = models::Quantity::kLogit;
  input.options.set("pairs", std::string("10:400"));
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kBadInput);
  input.options.set("pairs", std::string("0:2"));
  input.quantity = models::Quantity::kContent;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
  input = head_of("text-rope", 0, kMean);
  EXPECT_EQ(view_of("pair-profile").figure(input).error().code, ErrorCode::kUsage);
}

TEST(PairViews, AClickChoosesThePair) {
  ViewInput input = head_of("text-rope", 2, 1);
  const auto cache = std::make_shared<FieldCache>(std::size_t{1} << 26);
  input.cache = cache;
  ASSERT_TRUE(view_of("pair-profile").figure(input).ok());
  const Selection picked = view_of("pair-profile").pick(input, {0, 12.5, 4.5, -1});
  ASSERT_TRUE(picked.option.has_value());
  EXPECT_EQ(*picked.option, (std::pair<std::string, SettingValue>("band", std::string("4"))));
  EXPECT_FALSE(view_of("pair-profile").pick(input, {1, 12.5, 0.5, -1}).option.has_value());
  const Selection pulled = view_of("pair-profile").drag(input, {0, 12.5, 6.5, -1}, {0, 14.5, 4.5, -1});
  ASSERT_TRUE(pulled.option.has_value());
  EXPECT_EQ(pulled.option->second, SettingValue(std::string("4:7")));
  EXPECT_FALSE(view_of("pair-profile").drag(input, {0, 12.5, 6.5, -1}, {1, 14.5, 0.5, -1}).option.has_value());
  ASSERT_TRUE(view_of("pair-energy").figure(input).ok());
  const Selection energy = view_of("pair-energy").pick(input, {0, 6.2, 3.1, -1});
  EXPECT_EQ(energy.head, 3);
  EXPECT_EQ(energy.option->second, SettingValue(std::string("6")));
}

}  // namespace
}  // namespace locus::views::test_views
