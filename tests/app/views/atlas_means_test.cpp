// What an atlas has a mean of at every position: the views mean-map and loss-by-position, against the atlas they are
// of.
#include <gtest/gtest.h>

#include <cmath>

#include "app/views/shared/view.h"
#include "tests/support/atlas_inputs.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

using test::atlas_column;
using test::atlas_in;
using test::bundled_atlas_input;
using test::FakeAtlas;
using test::made_up_input;
using test_views::at;
using test_views::column_named;
using test_views::expect_near;
using test_views::exported;
using test_views::view_of;

TEST(AtlasMeans, MeanMapExportsTheMeansOfAHead) {
  const FakeAtlas atlas;
  ViewInput input = made_up_input();
  const Data data = exported("mean-map", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{FakeAtlas::kSide, FakeAtlas::kSide}));
  for (std::int64_t row = 0; row < FakeAtlas::kSide; ++row) {
    for (std::int64_t column = 0; column < FakeAtlas::kSide; ++column) {
      const double mean = atlas.mean_of("mean-map", 1, 2, row * FakeAtlas::kSide + column, false);
      if (column > row) {
        EXPECT_TRUE(std::isnan(at(data, row, column)));
      } else {
        expect_near(at(data, row, column), mean, 1e-6);
      }
    }
  }
  input.options.set("of", std::string("high"));
  expect_near(at(exported("mean-map", input), 5, 3), atlas.mean_of("mean-map", 1, 2, 5 * 16 + 3, false) + 0.03, 1e-6);
  input.options.set("of", std::string("low"));
  expect_near(at(exported("mean-map", input), 5, 3), atlas.mean_of("mean-map", 1, 2, 5 * 16 + 3, false) - 0.03, 1e-6);
  input.head = kMean;
  EXPECT_EQ(view_of("mean-map").figure(input).error().code, ErrorCode::kUnsupported);  // no interval
  input.options.set("of", std::string("mean"));
  double sum = 0;
  for (std::int64_t head = 0; head < 4; ++head) {
    sum += atlas.mean_of("mean-map", 1, head, 5 * 16 + 3, false) / 4;
  }
  expect_near(at(exported("mean-map", input), 5, 3), sum, 1e-6);
}

TEST(AtlasMeans, MeanMapShowsWhatTheTextAdds) {
  const FakeAtlas atlas;
  ViewInput input = made_up_input();
  const auto null = [&](std::int64_t head) { return atlas.mean_of("mean-map", 1, head, 5 * 16 + 3, true); };
  const auto text = [&](std::int64_t head) { return atlas.mean_of("mean-map", 1, head, 5 * 16 + 3, false); };
  input.options.set("of", std::string("shuffled"));
  expect_near(at(exported("mean-map", input), 5, 3), null(2), 1e-6);
  input.options.set("of", std::string("difference"));
  expect_near(at(exported("mean-map", input), 5, 3), text(2) - null(2), 1e-6);
  EXPECT_TRUE(std::isnan(at(exported("mean-map", input), 3, 5)));
  const auto figure = view_of("mean-map").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& scale = std::get<figure::HeatMap>(figure->panels[0].layers[0]).scale;
  EXPECT_FLOAT_EQ(scale.low, -scale.high);
  EXPECT_EQ(figure->panels[0].note, "40 windows of 64 tokens, 40 of them shuffled too; 16 × 16 cells");
  input.head = kMean;
  double sum = 0;
  for (std::int64_t head = 0; head < 4; ++head) {
    sum += (text(head) - null(head)) / 4;
  }
  expect_near(at(exported("mean-map", input), 5, 3), sum, 1e-6);
  input.columns = {atlas_column("without", {}, 1, false)};
  const auto refused = view_of("mean-map").figure(input);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("of shuffled tokens"), std::string::npos);
  input.options.set("of", std::string("mean"));
  EXPECT_TRUE(view_of("mean-map").figure(input).ok());
}

TEST(AtlasMeans, MeanMapSaysItsIntervalsUnderThePointer) {
  const ViewInput input = made_up_input();
  const auto figure = view_of("mean-map").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& map = std::get<figure::HeatMap>(figure->panels[0].layers[0]);
  ASSERT_NE(map.texts, nullptr);
  EXPECT_EQ((*map.texts)[0], "0.250 [0.220, 0.280]");
  EXPECT_EQ((*map.texts)[1], "");
  EXPECT_EQ(map.field->row_axis.step, 4);
  const auto lines = view_of("mean-map").said_of(input, {0, 2.5, 3.5, -1});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "query 0 to 3");
  EXPECT_EQ(lines[2], "mean weight 0.250 [0.220, 0.280]");
  EXPECT_EQ(lines[3], "  of shuffled tokens 0.250 [0.220, 0.280]");
  EXPECT_EQ(view_of("mean-map").said_of(input, {0, 60, 3.5, -1}).back(), "no query sees a key there");
  EXPECT_TRUE(view_of("mean-map").said_of(input, {0, 60, 70, -1}).empty());
  EXPECT_NE(figure->statement.find("queries 60 to 63 give each of the keys 60 to 63 "), std::string::npos)
      << figure->statement;
  // The sentence has the numbers of what is shown, not of the mean.
  for (const auto& [of, words] :
       {std::pair("low", "at least "), std::pair("high", "at most "), std::pair("shuffled", "of shuffled tokens "),
        std::pair("difference", "beyond shuffled tokens ")}) {
    ViewInput other = input;
    other.options.set("of", std::string(of));
    const Data data = exported("mean-map", other);
    const std::string said = view_of("mean-map").figure(other)->statement;
    const double last = at(data, data.shape[0] - 1, data.shape[1] - 1);
    EXPECT_NE(said.find("keys 60 to 63 " + (words + short_number(last))), std::string::npos) << said;
  }
}

// Its interval is the mean ± 1.96 · deviation / √windows: there are no replicates of a mean map.
TEST(AtlasMeans, MeanMapsOfBundledAtlasesHaveNormalIntervals) {
  ViewInput input = bundled_atlas_input("text-rope-800", 0, 3);
  const auto values = atlas_in(input).values("mean-map", 0);
  ASSERT_TRUE(values.ok());
  const std::int64_t side = values->shape.back();
  const Data mean = exported("mean-map", input);
  input.options.set("of", std::string("high"));
  const Data high = exported("mean-map", input);
  for (const auto& [row, column] : {std::pair<std::int64_t, std::int64_t>{31, 31}, {31, 0}, {20, 19}}) {
    const auto n = static_cast<std::size_t>((3 * side + row) * side + column);
    expect_near(at(mean, row, column), values->mean[n], 1e-6);
    const double wanted = values->mean[n] + 1.96 * values->deviation[n] / std::sqrt(values->samples);
    expect_near(at(high, row, column), wanted, 1e-5);
  }
  EXPECT_TRUE(std::isnan(at(mean, 0, 31)));
}

// Maps of five cells a side over 64 tokens.
class UnevenAtlas : public FakeAtlas {
 public:
  Result<models::AtlasValues> values(const std::string& statistic, std::int64_t layer,
                                     models::AtlasNull null) const override {
    if (statistic != "mean-map") {
      return FakeAtlas::values(statistic, layer, null);
    }
    models::AtlasValues values;
    values.samples = 40;
    values.shape = {kHeads, 5, 5};
    values.mean.assign(static_cast<std::size_t>(kHeads * 25), 0.1);
    values.low = values.high = values.deviation = values.mean;
    return values;
  }
};

// The fifth cell has the positions 51 to 63, the one before it 38 to 50, the first 0 to 11.
TEST(AtlasMeans, CellsOfMapsHavePositionsAsTheFileCutsThem) {
  ViewInput input = made_up_input();
  input.columns = {{"uneven", nullptr, models::trace_of(std::make_shared<const UnevenAtlas>(), "uneven.safetensors")}};
  ASSERT_TRUE(view_of("mean-map").figure(input).ok());
  EXPECT_EQ(view_of("mean-map").said_of(input, {0, 63.5, 63.5, -1}).front(), "query 51 to 63");
  EXPECT_EQ(view_of("mean-map").said_of(input, {0, 45.0, 45.0, -1}).front(), "query 38 to 50");
  EXPECT_EQ(view_of("mean-map").said_of(input, {0, 1.0, 1.0, -1}).front(), "query 0 to 11");
}

TEST(AtlasMeans, LossByPositionExportsTheMeansWithIntervals) {
  const FakeAtlas atlas;
  ViewInput input = made_up_input();
  const Data data = exported("loss-by-position", input);
  ASSERT_EQ(data.shape[0], FakeAtlas::kLength - 1);
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{8}, std::int64_t{62}}) {
    const double mean = atlas.mean_of("loss", 0, 0, n, false);
    EXPECT_EQ(at(data, n, column_named(data, "position")), static_cast<double>(n + 1));
    expect_near(at(data, n, column_named(data, "made-up loss")), mean, 1e-6);
    expect_near(at(data, n, column_named(data, "made-up low")), mean - 0.01, 1e-6);
    expect_near(at(data, n, column_named(data, "made-up high")), mean + 0.01, 1e-6);
  }
  input.options.set("smooth", std::int64_t{4});
  const auto figure = view_of("loss-by-position").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& curve = std::get<figure::Curve>(figure->panels[0].layers[0]);
  double sum = 0;
  for (std::int64_t n = 5; n <= 8; ++n) {
    sum += atlas.mean_of("loss", 0, 0, n, false) / 4;
  }
  expect_near(curve.y[8], sum, 1e-9);
  expect_near(curve.high[8], sum + 0.01, 1e-9);
  EXPECT_EQ(figure->statement, "loss 5.00 [4.99, 5.01] at position 1, 2.38 [2.37, 2.39] at 63");
}

TEST(AtlasMeans, LossOfShuffledTokensIsADashedCurve) {
  ViewInput input = made_up_input();
  const auto data = exported("loss-by-position", input);
  EXPECT_EQ(at(data, 7, column_named(data, "made-up shuffled")), 5.5F);
  expect_near(at(data, 7, column_named(data, "made-up shuffled low")), 5.49, 1e-6);
  EXPECT_EQ(view_of("loss-by-position").figure(input)->panels[0].layers.size(), 1U);
  input.options.set("shuffled", true);
  input.columns.push_back(atlas_column("other"));
  const auto figure = view_of("loss-by-position").figure(input);
  ASSERT_TRUE(figure.ok());
  ASSERT_EQ(figure->panels[0].layers.size(), 4U);
  const auto& null = std::get<figure::Curve>(figure->panels[0].layers[3]);
  EXPECT_EQ(null.name, "other, shuffled");
  EXPECT_TRUE(null.dashed);
  EXPECT_EQ(null.color, 0U);  // the palette's: two atlases are told apart
  EXPECT_EQ(null.y.back(), 5.5);
  EXPECT_EQ(null.high.back(), 5.51);
  EXPECT_GT(figure->panels[0].y.view.high, 5.51);
  EXPECT_TRUE(figure->panels[0].note.ends_with("; of shuffled tokens over 40 windows")) << figure->panels[0].note;
  input.columns.push_back(atlas_column("without", {}, 1, false));
  const auto refused = view_of("loss-by-position").figure(input);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("without"), std::string::npos);
  input.options.set("shuffled", false);
  EXPECT_TRUE(view_of("loss-by-position").figure(input).ok());
}

TEST(AtlasMeans, LossByPositionOfBundledAtlases) {
  ViewInput input = bundled_atlas_input("text-rope-800", 0, 0);
  input.columns.push_back(bundled_atlas_input("text-tapa", 0, 0).columns.front());
  const Data data = exported("loss-by-position", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{255, 13}));
  const auto loss = models::atlas_of(*input.columns[1].trace)->values("loss", models::kAtlasOfModel);
  ASSERT_TRUE(loss.ok());
  for (std::int64_t n = 0; n < 255; n += 50) {
    expect_near(at(data, n, column_named(data, "text-tapa loss")), loss->mean[static_cast<std::size_t>(n)], 1e-6);
    expect_near(at(data, n, column_named(data, "text-tapa low")), loss->low[static_cast<std::size_t>(n)], 1e-6);
    EXPECT_LT(at(data, n, column_named(data, "text-tapa low")), at(data, n, column_named(data, "text-tapa loss")));
    EXPECT_LT(at(data, n, column_named(data, "text-rope-800 high")),
              at(data, n, column_named(data, "text-rope-800 shuffled low")));
  }
}

}  // namespace
}  // namespace locus::views
