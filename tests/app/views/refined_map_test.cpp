// Large maps: sampled at once, then exact band by band, against the sample and the whole exact reduction.
#include "app/views/shared/score_maps/refined_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <stop_token>

#include "app/views/shared/score_maps/score_map.h"
#include "tests/support/fake_model.h"
#include "tests/support/long_head.h"

namespace locus::views {
namespace {

constexpr double kOneBand = 1e-9;  // milliseconds: a step ends after its first band

Column column_of(const std::string& name, std::int64_t length, unsigned seed = 7) {
  const std::filesystem::path path =
      testing::TempDir() + "locus_refined_" + std::to_string(::getpid()) + name + ".safetensors";
  EXPECT_TRUE(test::write_long_head(path, length, seed).ok());
  const auto trace = models::open_trace(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(trace.ok()) << trace.error().describe();
  return {name, nullptr, *trace};
}

// 100 × 100 pixels of maps of 25 × 25 cells each: bands of 41, 41 and 18 rows.
ViewInput input_of(std::vector<Column> columns) {
  ViewInput input;
  input.width_px = 100 * static_cast<int>(columns.size());
  input.height_px = 100;
  input.columns = std::move(columns);
  input.cache = std::make_shared<FieldCache>(std::size_t{1} << 24);
  return input;
}

figure::Figure draw(const ViewInput& input, const char* view = "attention") {
  auto figure = (*find_view(view))->figure(input);
  EXPECT_TRUE(figure.ok()) << figure.error().describe();
  return figure.ok() ? *std::move(figure) : figure::Figure();
}

const figure::HeatMap& map_of(const figure::Figure& figure, std::size_t panel = 0) {
  return std::get<figure::HeatMap>(figure.panels.at(panel).layers.front());
}

figure::Figure draw_step(ViewInput input, double step_ms, const char* view = "attention") {
  input.step_ms = step_ms;
  return draw(input, view);
}

figure::Figure draw_exact(ViewInput input, const char* view = "attention") {
  input.step_ms.reset();
  input.cache.reset();
  return draw(input, view);
}

// |a − b| ≤ 1e-5·(1 + |b|), or both NaN.
bool close(float a, float b) {
  return std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= 1e-5F * (1 + std::abs(b));
}

// Rows `exact` of the one field, the others of the other.
void expect_rows(const Field& field, Range exact, const Field& is_exact, const Field& is_sampled) {
  ASSERT_EQ(field.values.size(), is_exact.values.size());
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c) {
      ASSERT_TRUE(close(field.at(r, c), (exact.contains(r) ? is_exact : is_sampled).at(r, c))) << r << ", " << c;
    }
  }
}

TEST(RefinedMap, BecomesExactBandByBandAndSaysHowFarItIs) {
  const ViewInput input = input_of({column_of("head", 2500)});
  const figure::Figure whole = draw_exact(input);
  const figure::Figure first = draw_step(input, 0);
  const Field sample = *map_of(first).field;
  EXPECT_EQ(first.panels[0].color_bar_label, "attention weight, sampled");
  EXPECT_EQ(first.panels[0].note, "sampled: one of up to 25×25 cells");
  EXPECT_EQ(rows_to_refine(first), 100);
  // A sample is one of the pixel's cells, of its last query and first key.
  models::MapRequest request;
  request.rows = {1899, 1900};   // the last row of pixel 75, of 25 rows each
  request.columns = {775, 776};  // the first column of pixel 31
  EXPECT_TRUE(close(sample.at(75, 31), input.columns[0].trace->map(request)->at(0, 0)));

  const std::vector<Range> exact{{0, 41}, {0, 82}, {0, 100}};
  const std::vector<std::string> said{"41 % exact", "82 % exact", ""};
  for (std::size_t step = 0; step < exact.size(); ++step) {
    const figure::Figure figure = draw_step(input, kOneBand);
    const figure::HeatMap& map = map_of(figure);
    EXPECT_EQ(map.refined, exact[step]);
    expect_rows(*map.field, exact[step], *map_of(whole).field, sample);
    EXPECT_EQ(rows_to_refine(figure), 100 - exact[step].size());
    // What a renderer knows it by stays; the colours change once, at the end.
    EXPECT_EQ(map.base, map_of(first).field);
    const bool done = step + 1 == exact.size();
    EXPECT_EQ(map.scale.high, map_of(done ? whole : first).scale.high);
    EXPECT_EQ(figure.panels[0].color_bar_label, "attention weight" + (done ? "" : ", " + said[step]));
    EXPECT_EQ(figure.panels[0].note,
              done ? "max of up to 25×25 cells" : said[step] + ": max of up to 25×25 cells; elsewhere one of them");
  }
  EXPECT_NE(map_of(first).scale.high, map_of(whole).scale.high);
  EXPECT_EQ(map_of(draw_step(input, kOneBand)).field, map_of(draw_step(input, 0)).field);  // nothing is left to do
}

TEST(RefinedMap, WhatIsExactAlreadyNeedsNoSample) {
  const ViewInput input = input_of({column_of("head", 2500)});
  const figure::Figure whole = draw(input);
  const figure::Figure again = draw_step(input, 0);
  EXPECT_EQ(map_of(again).field, map_of(whole).field);
  EXPECT_EQ(rows_to_refine(again), 0);
}

TEST(RefinedMap, BeginsWhereTheUserLooks) {
  ViewInput input = input_of({column_of("head", 6000)});
  input.camera = Camera{{1500, 4500}, {4500, 1500}};  // 200 rows with its margins, 50 … 150 of them seen
  std::vector<Range> exact;
  while (exact.empty() || exact.back().size() < 200) {
    exact.push_back(map_of(draw_step(input, kOneBand)).refined);
    ASSERT_LT(exact.size(), 7U);
  }
  EXPECT_EQ(exact, (std::vector<Range>{{35, 70}, {35, 105}, {35, 140}, {35, 175}, {35, 200}, {0, 200}}));

  input.cache = std::make_shared<FieldCache>(std::size_t{1} << 24);
  input.query = 3000;  // pinned
  EXPECT_EQ(map_of(draw_step(input, kOneBand)).refined, (Range{70, 105}));
}

TEST(RefinedMap, BandsCoverEveryRowOnceWhereverTheyBegin) {
  for (const std::int64_t band : {1, 3, 7, 50}) {
    for (const Range first : {Range{}, Range{0, 20}, Range{13, 14}, Range{5, 17}, Range{19, 20}, Range{-9, 40}}) {
      Refinement how;
      how.rows = 20;
      how.band = band;
      how.first = first;
      Range exact;
      while (exact.size() < how.rows) {
        const Range next = next_band(how, exact);
        ASSERT_FALSE(next.empty());
        ASSERT_LE(next.size(), band);
        ASSERT_EQ(next.begin % band, 0);
        ASSERT_TRUE(exact.empty() || next.begin == exact.end || next.end == exact.begin);
        exact = exact.empty() ? next : Range{std::min(exact.begin, next.begin), std::max(exact.end, next.end)};
      }
      EXPECT_EQ(exact, (Range{0, 20}));
    }
  }
}

TEST(RefinedMap, StoppedInTheMiddleItKeepsWhatIsFinished) {
  ViewInput input = input_of({column_of("head", 2500)});
  const figure::Figure whole = draw_exact(input);
  const Field sample = *map_of(draw_step(input, 0)).field;
  std::stop_source stop;
  ViewInput stopped = input;
  stopped.step_ms = std::numeric_limits<double>::infinity();
  stopped.stop = stop.get_token();
  std::vector<std::string> said;
  stopped.progress = [&](const ProgressReport& news) {
    said.push_back(news.what);
    stop.request_stop();  // after the first band
  };
  const auto cancelled = (*find_view("attention"))->figure(stopped);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(said, std::vector<std::string>{"41 % exact"});
  const figure::Figure kept = draw_step(input, 0);
  EXPECT_EQ(map_of(kept).refined, (Range{0, 41}));
  expect_rows(*map_of(kept).field, {0, 41}, *map_of(whole).field, sample);
  expect_rows(*map_of(draw_step(input, stopped.step_ms.value())).field, {0, 100}, *map_of(whole).field, sample);
}

TEST(RefinedMap, AnotherPlaceAndBackLosesNothing) {
  ViewInput input = input_of({column_of("head", 6000)});
  EXPECT_EQ(map_of(draw_step(input, kOneBand)).refined, (Range{0, 18}));
  ViewInput elsewhere = input;
  elsewhere.camera = Camera{{1500, 4500}, {4500, 1500}};
  EXPECT_EQ(map_of(draw_step(elsewhere, kOneBand)).refined, (Range{35, 70}));
  EXPECT_EQ(map_of(draw_step(input, kOneBand)).refined, (Range{0, 36}));
}

TEST(RefinedMap, ACacheTooSmallStillEndsExact) {
  ViewInput input = input_of({column_of("head", 2500), column_of("twin", 2500, 8)});
  const figure::Figure whole = draw_exact(input);
  for (const bool cached : {true, false}) {
    input.cache = cached ? std::make_shared<FieldCache>(1) : nullptr;
    const figure::Figure figure = draw_step(input, std::numeric_limits<double>::infinity());
    EXPECT_EQ(rows_to_refine(figure), 0);
    for (const std::size_t panel : {0U, 1U}) {
      expect_rows(*map_of(figure, panel).field, {0, 100}, *map_of(whole, panel).field, *map_of(whole, panel).field);
    }
  }
}

TEST(RefinedMap, ADifferenceIsExactWhereBothMapsAre) {
  ViewInput input = input_of({column_of("head", 2500), column_of("twin", 2500, 8)});
  input.difference = true;
  input.width_px = 300;
  const figure::Figure whole = draw_exact(input);
  const figure::Figure first = draw_step(input, 0);
  ASSERT_EQ(first.panels.size(), 3U);
  const Field sample = *map_of(first, 2).field;
  for (std::int64_t n = 0; n < 100; ++n) {
    EXPECT_TRUE(close(sample.at(n, n), map_of(first, 0).field->at(n, n) - map_of(first, 1).field->at(n, n)));
  }
  EXPECT_EQ(first.panels[2].color_bar_label, "difference of attention weight, sampled");
  // The first column alone goes on: the difference does not mix its maxima with the other's samples.
  ViewInput one = input;
  one.columns.pop_back();
  one.width_px = 100;
  EXPECT_EQ(map_of(draw_step(one, kOneBand)).refined, (Range{0, 41}));
  const figure::Figure ahead = draw_step(input, 0);
  EXPECT_EQ(map_of(ahead, 0).refined, (Range{0, 41}));
  EXPECT_TRUE(map_of(ahead, 2).refined.empty());
  expect_rows(*map_of(ahead, 2).field, {}, sample, sample);

  const figure::Figure next = draw_step(input, kOneBand);
  EXPECT_EQ(map_of(next, 0).refined, (Range{0, 82}));
  EXPECT_EQ(map_of(next, 1).refined, (Range{0, 41}));
  EXPECT_EQ(map_of(next, 2).refined, (Range{0, 41}));
  expect_rows(*map_of(next, 2).field, {0, 41}, *map_of(whole, 2).field, sample);
  EXPECT_EQ(next.panels[2].color_bar_label, "difference of attention weight, 41 % exact");
  EXPECT_EQ(map_of(next, 2).base, map_of(first, 2).base);
  EXPECT_EQ(map_of(next, 2).scale.high, map_of(first, 2).scale.high);
  EXPECT_EQ(next.panels[1].color_bar_label, "attention weight, 61 % exact");  // of both columns' rows

  const figure::Figure last = draw_step(input, std::numeric_limits<double>::infinity());
  EXPECT_EQ(rows_to_refine(last), 0);
  expect_rows(*map_of(last, 2).field, {0, 100}, *map_of(whole, 2).field, sample);
  EXPECT_EQ(map_of(last, 2).scale.high, map_of(whole, 2).scale.high);
  EXPECT_EQ(last.panels[2].color_bar_label, "difference of attention weight");
}

TEST(RefinedMap, ThumbnailsAreRefinedToo) {
  ViewInput input = input_of({column_of("head", 2500)});
  const figure::Figure whole = draw_exact(input, "attention-grid");
  const figure::Figure first = draw_step(input, 0, "attention-grid");
  EXPECT_EQ(first.panels[0].color_bar_label, "attention weight, sampled");
  EXPECT_NE(map_of(first).field->values, map_of(whole).field->values);
  const figure::Figure second = draw_step(input, kOneBand, "attention-grid");
  EXPECT_EQ(rows_to_refine(second), 0);
  EXPECT_EQ(second.panels[0].color_bar_label, "attention weight");
  expect_rows(*map_of(second).field, {0, 100}, *map_of(whole).field, *map_of(whole).field);
}

// Runs that cannot be sampled are exact at once, whatever the step.
TEST(RefinedMap, WhatCannotBeSampledIsExactAtOnce) {
  ViewInput input;
  input.columns.push_back(
      {"fake", nullptr, std::make_shared<test::FakeTrace>(test::FakeShape{}, std::string(60, 'x'))});
  input.width_px = input.height_px = 40;
  input.step_ms = 0;
  EXPECT_EQ(rows_to_refine(draw(input)), 0);
}

}  // namespace
}  // namespace locus::views
