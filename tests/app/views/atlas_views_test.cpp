// The views of atlases: their exported numbers against the atlas they are of, made-up and bundled, and what they
// refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "app/views/heads/atlas_points.h"
#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/statement.h"
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

TEST(AtlasViews, ViewsOfRunsRefuseAnAtlasAndViewsOfAtlasesARunInOneLine) {
  const std::set<std::string> both{"addressing", "distance-profile", "heads", "kernel"};
  const std::set<std::string> alone{"atlas", "mean-map", "loss-by-position", "training", "needle", "examples"};
  const Column run = test::column_of(test::bundled("text-rope"), test_views::kText);
  for (const View* view : views()) {
    const std::string& name = view->info().name;
    EXPECT_EQ(view->info().of_atlases, both.contains(name) || alone.contains(name)) << name;
    EXPECT_EQ(view->info().of_runs, !alone.contains(name)) << name;
    const Status refused = view->info().of_atlases ? Status() : view->available(made_up_input().columns.front());
    if (!view->info().of_atlases) {
      ASSERT_FALSE(refused.ok()) << name;
      EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(refused.error().message.find("mean-map"), std::string::npos) << refused.error().message;
      EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
    }
    if (!view->info().of_runs) {
      const Status none = view->available(run);
      ASSERT_FALSE(none.ok()) << name;
      EXPECT_NE(none.error().message.find("locus atlas"), std::string::npos) << none.error().message;
    }
  }
}

TEST(AtlasViews, AtlasDrawsHeadsWithCrossesAndRings) {
  const FakeAtlas atlas;
  ViewInput input = made_up_input();
  input.options.set("size", std::string("distance"));
  const Data data = exported("atlas", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{12, 14}));
  const auto figure = view_of("atlas").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& points = std::get<figure::Points>(figure->panels[0].layers[0]);
  ASSERT_EQ(points.x.size(), 12U);
  int previous = 0;  // heads whose interval holds the mean of shuffled tokens, by each statistic
  int induction = 0;
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    for (std::int64_t head = 0; head < 4; ++head) {
      const auto n = static_cast<std::size_t>(layer * 4 + head);
      expect_near(points.x[n], atlas.mean_of("heads.previous", layer, head, 0, false), 1e-9);
      expect_near(points.y[n], atlas.mean_of("heads.induction", layer, head, 0, false), 1e-9);
      expect_near(points.x_low[n], points.x[n] - FakeAtlas::half_of(head), 1e-9);
      expect_near(points.y_high[n], points.y[n] + FakeAtlas::half_of(head), 1e-9);
      EXPECT_EQ(points.values[n], static_cast<float>(layer));
      const bool left = head != 2;
      const bool lower = head != 1 || layer == 0;
      EXPECT_EQ(points.hollow[n], left && lower ? figure::Points::kRing
                                  : left        ? figure::Points::kLeftEmpty
                                                : figure::Points::kLowerEmpty)
          << layer << "." << head;
      previous += left ? 1 : 0;
      induction += lower ? 1 : 0;
      const auto row = static_cast<std::int64_t>(n);
      expect_near(at(data, row, column_named(data, "x previous shuffled")), 0.05, 1e-6);
      expect_near(at(data, row, column_named(data, "y induction low")), points.y_low[n], 1e-6);
      expect_near(at(data, row, column_named(data, "size distance")),
                  atlas.mean_of("heads.distance", layer, head, 0, false), 1e-6);
    }
  }
  EXPECT_NE(figure->panels[0].note.find("as with shuffled tokens: " + std::to_string(previous) +
                                        " of 12 heads by weight on the previous token (left half empty), " +
                                        std::to_string(induction) + " of 12 by induction score (lower half empty)"),
            std::string::npos)
      << figure->panels[0].note;
  EXPECT_FLOAT_EQ(points.sizes_px.front(), 5);
  EXPECT_FLOAT_EQ(points.sizes_px.back(), 20);
  EXPECT_EQ(figure->statement,
            "largest induction score: head 1.1, 0.850 [0.830, 0.870], of shuffled tokens 0.050; as with shuffled "
            "tokens: 9 of 12 heads by weight on the previous token, 10 of 12 by induction score");
  // A head that does the same with shuffled tokens is not named for it.
  input.columns = {test::atlas_column("untrained", 0, 0)};
  EXPECT_TRUE(view_of("atlas").figure(input)->statement.starts_with(
      "no head's induction score is other than with shuffled tokens; as with shuffled tokens: 12 of 12 heads by "))
      << view_of("atlas").figure(input)->statement;
}

// The sentence's counts are of each statistic by itself, of a bundled atlas as its exported intervals have them.
TEST(AtlasViews, TheSentenceCountsByEachStatistic) {
  ViewInput input = bundled_atlas_input("text-rope-800", 0, 0);
  const Data data = exported("atlas", input);
  const auto alike = [&](const std::string& name) {
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      const double null = at(data, row, column_named(data, name + " shuffled"));
      count += at(data, row, column_named(data, name + " low")) <= null &&
                       null <= at(data, row, column_named(data, name + " high"))
                   ? 1
                   : 0;
    }
    return std::to_string(count) + " of 16";
  };
  EXPECT_EQ(alike("y induction"), "14 of 16");
  const auto figure = view_of("atlas").figure(input);
  EXPECT_TRUE(figure->statement.ends_with("; as with shuffled tokens: " + alike("x previous") +
                                          " heads by weight on the previous token, " + alike("y induction") +
                                          " by induction score"))
      << figure->statement;
}

// Words name heads of every file, of models of other shapes too.
TEST(AtlasViews, HeadsAreNamedInEveryFile) {
  ViewInput input = made_up_input();
  const ViewInput real = bundled_atlas_input("text-rope-800", 0, 0);  // four layers of four heads; the other has three
  input.columns.push_back(real.columns.front());
  const View& view = view_of("atlas");
  const auto points_of = [&](std::size_t n) {
    const auto figure = view.figure(input);
    EXPECT_TRUE(figure.ok()) << (figure.ok() ? "" : figure.error().describe());
    return std::get<figure::Points>(figure->panels[n].layers[0]);
  };
  for (const bool swapped : {false, true}) {
    input.options.set("heads", std::string("3.1 1.2"));
    const std::size_t larger = swapped ? 0 : 1;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
      const figure::Points points = points_of(n);
      for (std::size_t head = 0; head < points.x.size(); ++head) {
        const bool named = head == 6 || (n == larger && head == 13);
        EXPECT_EQ(points.names[head], named ? head_name_at(head, 4) : "") << n << ": " << head;
        EXPECT_EQ(points.faint[head], named ? 0 : 1) << n << ": " << head;
      }
    }
    input.options.set("heads", std::string("3.1"));  // which the smaller model does not have
    EXPECT_EQ(std::ranges::count(points_of(1 - larger).faint, 1), 12);
    input.options.set("heads", std::string("4.0"));
    EXPECT_EQ(view.figure(input).error().code, ErrorCode::kUsage);
    std::swap(input.columns[0], input.columns[1]);
  }
  // A loop adds to names of either model.
  input.options.set("heads", std::string("3.1"));
  const figure::Points points = points_of(0);
  std::vector<Hit> loop;
  for (const auto& [x, y] : {std::pair(-1e-4, -1e-4), std::pair(1e-4, -1e-4), std::pair(0.0, 1e-4)}) {
    loop.push_back({0, points.x[6] + x, points.y[6] + y, -1});
  }
  EXPECT_EQ(std::get<std::string>(view.lasso(input, loop, true).option->second), "1.2 3.1");
}

TEST(AtlasViews, AtlasOfABundledModelHasItsMeans) {
  const ViewInput input = bundled_atlas_input("text-rope-800", 0, 0);
  const Data data = exported("atlas", input);
  ASSERT_EQ(data.shape[0], 16);
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    const auto text = atlas_in(input).values("heads.previous", layer);
    const auto null = atlas_in(input).values("heads.previous", layer, models::AtlasNull::kShuffled);
    ASSERT_TRUE(text.ok() && null.ok());
    for (std::int64_t head = 0; head < 4; ++head) {
      const auto n = static_cast<std::size_t>(head);
      expect_near(at(data, layer * 4 + head, column_named(data, "x previous")), text->mean[n], 1e-6);
      expect_near(at(data, layer * 4 + head, column_named(data, "x previous low")), text->low[n], 1e-6);
      expect_near(at(data, layer * 4 + head, column_named(data, "x previous shuffled")), null->mean[n], 1e-6);
    }
  }
}

TEST(AtlasViews, AClickChoosesAHeadAndWordsNameThem) {
  ViewInput input = made_up_input();
  const View& view = view_of("atlas");
  const auto figure = view.figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& points = std::get<figure::Points>(figure->panels[0].layers[0]);
  const Selection picked = view.pick(input, {0, points.x[5], points.y[5], -1});
  ASSERT_TRUE(picked.layer && picked.head);
  EXPECT_EQ(*picked.layer, 1);
  EXPECT_EQ(*picked.head, 1);
  EXPECT_EQ(view.said_of(input, {0, points.x[5], points.y[5], -1}).at(2), "induction score 0.850 [0.830, 0.870]");
  const std::vector<Place> places = view.places(input, picked);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_LT(places[0].x.low, points.x[5]);
  EXPECT_GT(places[0].x.high, points.x[5]);
  EXPECT_FALSE(view.pick(input, {0, 0.4, 0.4, -1}).layer);
  EXPECT_TRUE(view.said_of(input, {0, 0.4, 0.4, -1}).empty());
  input.options.set("heads", std::string("1.1 2.1"));
  const auto named = view.figure(input);
  ASSERT_TRUE(named.ok());
  const auto& chosen = std::get<figure::Points>(named->panels[0].layers[0]);
  EXPECT_EQ(chosen.names[5], "1.1");
  EXPECT_EQ(chosen.names[6], "");
  EXPECT_EQ(chosen.faint[5], 0);
  EXPECT_EQ(chosen.faint[6], 1);
  input.options.set("heads", std::string("3.0"));
  EXPECT_EQ(view.figure(input).error().code, ErrorCode::kUsage);
}

TEST(AtlasViews, ALoopNamesWhatIsInside) {
  ViewInput input = made_up_input();
  input.options.set("x", std::string("self"));
  input.options.set("y", std::string("entropy"));
  const View& view = view_of("atlas");
  ASSERT_TRUE(view.figure(input).ok());
  using Loop = std::vector<Hit>;
  const auto named = [&](const Loop& loop, bool add = false) {
    const Selection chosen = view.lasso(input, loop, add);
    return chosen.option && chosen.option->first == "heads" ? std::get<std::string>(chosen.option->second) : "nothing";
  };
  // The heads lie on a line, 0.02 apart both ways from (0.05, 3) on.
  const auto loop_of = [](const std::vector<std::pair<double, double>>& places) {
    Loop loop;
    for (const auto& [x, y] : places) {
      loop.push_back({0, 0.05 + 0.02 * x, 3 + 0.02 * y, -1});
    }
    return loop;
  };
  const Loop first_two = loop_of({{-1, -1}, {1.5, -1}, {1.5, 1.5}, {-1, 1.5}});
  EXPECT_EQ(named(first_two), "0.0 0.1");
  EXPECT_EQ(named({first_two.rbegin(), first_two.rend()}), "0.0 0.1");
  // From the second head below the others to the last but two: what lies between them is in its bounds alone.
  const Loop bent =
      loop_of({{0.5, -15}, {0.5, 1.5}, {1.5, 1.5}, {1.5, -10}, {8.5, -10}, {8.5, 9.5}, {9.5, 9.5}, {9.5, -15}});
  EXPECT_EQ(named(bent), "0.1 2.1");
  // Twice around is inside too; a loop around nothing, and none, take the names away.
  Loop twice = first_two;
  twice.insert(twice.end(), first_two.begin(), first_two.end());
  EXPECT_EQ(named(twice), "0.0 0.1");
  EXPECT_EQ(named(loop_of({{20, 0}, {30, 0}, {30, 30}})), "");
  EXPECT_EQ(named({}), "");
  input.options.set("heads", std::string("0.1 2.3"));
  EXPECT_EQ(named(first_two), "0.0 0.1");
  EXPECT_EQ(named(first_two, true), "0.0 0.1 2.3");
  EXPECT_EQ(named({}, true), "0.1 2.3");
  Loop elsewhere = first_two;
  elsewhere.front().panel = 7;
  EXPECT_EQ(named(elsewhere), "nothing");
}

TEST(AtlasViews, HeadsAreNamedByLayerAndHead) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(*heads_named("", 3, 4), Places{});
  EXPECT_EQ(*heads_named("2.1  0.3 2.1", 3, 4), (Places{3, 9}));
  EXPECT_EQ(*heads_named("1", 3, 4), (Places{4, 5, 6, 7}));
  EXPECT_EQ(heads_named("all", 3, 4)->size(), 12U);
  for (const char* const wrong : {"3.0", "0.4", "-1.0", "a", "1.", ".1", "1.2.3", "1,2"}) {
    const auto refused = heads_named(wrong, 3, 4);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  }
}

TEST(AtlasViews, TrainingSortsStepsAndChoosesWhatChanges) {
  ViewInput input = made_up_input();
  input.columns = {atlas_column("late", 1000, 1.0), atlas_column("early", 0, 0.0), atlas_column("middle", 300, 0.5)};
  input.options.set("statistic", std::string("induction"));
  input.options.set("count", std::int64_t{2});
  const auto figure = view_of("training").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels[0].layers.size(), 2U);
  const auto& curve = std::get<figure::Curve>(figure->panels[0].layers[0]);
  EXPECT_EQ(curve.name, "1.1");
  EXPECT_EQ(curve.x, (std::vector<double>{0, 300, 1000}));
  EXPECT_EQ(curve.hollow, (std::vector<std::uint8_t>{1, 0, 0}));  // at first as with shuffled tokens
  for (std::size_t n = 0; n < 3; ++n) {
    expect_near(curve.y[n], (std::vector<double>{0.05, 0.45, 0.85})[n], 1e-9);
    expect_near(curve.low[n], curve.y[n] - 0.02, 1e-9);
  }
  EXPECT_TRUE(figure->statement.starts_with(
      "head 1.1: 0.050 [0.030, 0.070] as with shuffled tokens at step 0, 0.850 [0.830, 0.870] at "
      "step 1000; head 2.1: "))
      << figure->statement;
  const Data data = exported("training", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{36, 7}));
  EXPECT_EQ(at(data, 12 + 5, 0), 300);
  expect_near(at(data, 12 + 5, 3), 0.45, 1e-6);
  input.options.set("heads", std::string("1.1"));
  input.options.set("log-steps", true);
  const auto chosen = view_of("training").figure(input);
  ASSERT_TRUE(chosen.ok());
  const auto& null = std::get<figure::Curve>(chosen->panels[0].layers[1]);
  EXPECT_EQ(null.name, "shuffled tokens");
  EXPECT_EQ(null.x, (std::vector<double>{300, 1000}));  // a logarithmic axis has no 0
}

// The heads of the previous token form between steps 50 and 75, and no head of induction does.
TEST(AtlasViews, TrainingOfTheBundledSteps) {
  ViewInput input = made_up_input();
  input.columns.clear();
  for (const int step : {700, 25, 75, 50}) {
    const auto trace = models::open_atlas_trace(test::source_dir() + "/assets/atlases/text-rope-steps/step" +
                                                std::to_string(step) + ".safetensors");
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    input.columns.push_back({"step" + std::to_string(step), nullptr, *trace});
  }
  input.options.set("statistic", std::string("previous"));
  input.options.set("heads", std::string("0.3 3.2"));
  const auto figure = view_of("training").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  for (std::size_t n = 0; n < 2; ++n) {
    const auto& curve = std::get<figure::Curve>(figure->panels[0].layers[n]);
    EXPECT_EQ(curve.x, (std::vector<double>{25, 50, 75, 700}));
    EXPECT_LT(curve.high[1], 0.1) << curve.name;
    EXPECT_GT(curve.low[2], 0.3) << curve.name;
    EXPECT_GT(curve.low[3], curve.high[2]) << curve.name;
  }
  input.options.set("statistic", std::string("induction"));
  const Data induction = exported("training", input);
  for (std::int64_t row = 0; row < induction.shape[0]; ++row) {
    EXPECT_LT(at(induction, row, column_named(induction, "high")), 0.1);
  }
}

TEST(AtlasViews, TrainingRefusesAtlasesWithoutStepsAndTwoOfOne) {
  EXPECT_EQ(view_of("training").available(made_up_input().columns.front()).error().code, ErrorCode::kUnsupported);
  ViewInput input = made_up_input();
  input.columns = {atlas_column("one", 5), atlas_column("two", 5)};
  EXPECT_EQ(view_of("training").figure(input).error().code, ErrorCode::kUsage);
  input.columns = {atlas_column("first", 0)};
  input.options.set("log-steps", true);
  EXPECT_EQ(view_of("training").figure(input).error().code, ErrorCode::kUsage);
}

TEST(AtlasViews, NeedleShowsTheModelOrAHeadByDepthAndLength) {
  const FakeAtlas atlas;
  ViewInput input = made_up_input(1, 1);
  const Data answers = exported("needle", input);
  ASSERT_EQ(answers.shape, (std::vector<std::int64_t>{6, 6}));
  EXPECT_EQ(at(answers, 3, column_named(answers, "depth")), 0.5);
  EXPECT_EQ(at(answers, 3, column_named(answers, "length")), 64);
  expect_near(at(answers, 3, column_named(answers, "mean")), atlas.mean_of("retrieval.answer", -1, 0, 3, false), 1e-6);
  input.options.set("of", std::string("score"));
  const Data score = exported("needle", input);
  expect_near(at(score, 4, column_named(score, "mean")), atlas.mean_of("retrieval.score", 1, 1, 4, false), 1e-6);
  expect_near(at(score, 4, column_named(score, "high")), atlas.mean_of("retrieval.score", 1, 1, 4, false) + 0.02, 1e-6);
  expect_near(at(score, 4, column_named(score, "shuffled")), 0.1, 1e-6);
  const auto figure = view_of("needle").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& map = std::get<figure::HeatMap>(figure->panels[0].layers[0]);
  EXPECT_EQ((*map.texts)[0], "0.50 ± 0.02");
  EXPECT_EQ(view_of("needle").said_of(input, {0, 0.5, 0.5, -1}).front(), "depth 0 % of 32 tokens");
  input.head = 0;  // which finds nothing at the beginning
  const auto other = view_of("needle").figure(input);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*std::get<figure::HeatMap>(other->panels[0].layers[0]).texts)[0], "(0.10 ± 0.01)");
  input.head = kMean;
  EXPECT_EQ(view_of("needle").figure(input).error().code, ErrorCode::kUsage);
}

TEST(AtlasViews, NeedlesOfABundledAtlas) {
  ViewInput input = bundled_atlas_input("text-rope-800", 0, 3);
  input.options.set("of", std::string("needle"));
  const Data data = exported("needle", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{10, 6}));
  const auto spans = atlas_in(input).values("spans.needle", 0);
  ASSERT_TRUE(spans.ok());
  for (std::int64_t cell = 0; cell < 10; ++cell) {
    const auto n = static_cast<std::size_t>(30 + cell);
    expect_near(at(data, cell, column_named(data, "mean")), spans->mean[n], 1e-6);
    expect_near(at(data, cell, column_named(data, "low")), spans->low[n], 1e-6);
  }
  input.options.set("of", std::string("answer"));
  const Data answers = exported("needle", input);
  for (std::int64_t cell = 0; cell < 10; ++cell) {
    EXPECT_EQ(at(answers, cell, column_named(answers, "mean")), 0);  // none is answered
  }
}

// Decays of four heads in a layer, halvings a token: the last one has none.
class DecayingAtlas : public FakeAtlas {
 public:
  bool has(const std::string& statistic, models::AtlasNull null) const override {
    return statistic == "heads.decay" || FakeAtlas::has(statistic, null);
  }
  Result<models::AtlasValues> values(const std::string& statistic, std::int64_t layer,
                                     models::AtlasNull null) const override {
    if (statistic != "heads.decay") {
      return FakeAtlas::values(statistic, layer, null);
    }
    models::AtlasValues values;
    values.shape = {kHeads};
    values.mean = {0.5, 0.25, 0, std::nan("")};
    values.low = {0.4, 0.2, 0, std::nan("")};
    values.high = {0.625, 0.5, 0, std::nan("")};
    return values;
  }
};

TEST(AtlasViews, HalfLivesAreThoseOfTheMeanDecay) {
  const auto list = head_intervals(DecayingAtlas(), "half-life");
  ASSERT_TRUE(list.ok()) << list.error().describe();
  EXPECT_EQ((*list)[0].mean, 2);
  EXPECT_EQ((*list)[0].low, 1.6);
  EXPECT_EQ((*list)[0].high, 2.5);
  EXPECT_EQ((*list)[0].null, 2);
  EXPECT_EQ((*list)[1].mean, 4);
  EXPECT_TRUE(std::isinf((*list)[2].mean));
  EXPECT_TRUE(std::isnan((*list)[3].mean));
  // What has no number is not counted.
  const AtlasPoints points{*list, *list, {}};
  EXPECT_EQ(like_null_text(points, "half-life", "half-life", false).find("9 of 9 heads by half-life"), 0U)
      << like_null_text(points, "half-life", "half-life", false);
}

TEST(AtlasViews, WhatAnAtlasWasMadeWithoutIsRefusedByName) {
  ViewInput input = made_up_input();
  input.options.set("of", std::string("loss"));
  const auto refused = view_of("needle").figure(input);  // retrieval.loss
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().describe().find("retrieval.loss"), std::string::npos) << refused.error().describe();
  input = made_up_input();
  input.options.set("x", std::string("sink-value"));
  const auto other = view_of("atlas").figure(input);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().describe().find("sink-value"), std::string::npos);
}

}  // namespace
}  // namespace locus::views
