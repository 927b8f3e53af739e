// `reading`: sums of exported maps over the keys that a test sorts into parts by itself.
#include <gtest/gtest.h>

#include "app/views/shared/view.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/pictured_text.h"

namespace locus::views {
namespace {

using test_views::map_of;
using test_views::view_of;

constexpr double kSumTolerance = 2e-6;  // of float32 weights that are summed

// The share of the keys [begin, end) in that row.
double share_of(const Field& map, std::int64_t query, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (std::int64_t key = begin; key < end; ++key) {
    sum += static_cast<double>(map.at(query, key));
  }
  return sum;
}

TEST(Reading, OfATextIsTheFirstTheTokenItselfAndTheRest) {
  ViewInput input = test_views::input_of();
  input.query = 40;
  const auto data = view_of("reading").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  ASSERT_EQ(data->columns, (std::vector<std::string>{"layer", "head", "other tokens", "first token", "itself"}));
  const models::Trace& trace = *input.columns.front().trace;
  const std::int64_t heads = trace.model().heads;
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{trace.model().layers * heads, 5}));
  for (std::int64_t n = 0; n < trace.model().layers * heads; ++n) {
    const std::int64_t layer = n / heads;
    const Field map = map_of(trace, layer, n % heads);
    const float* const row = data->values.data() + 5 * n;
    EXPECT_EQ(row[0], static_cast<float>(layer));
    EXPECT_EQ(row[1], static_cast<float>(n % heads));
    EXPECT_NEAR(row[2], share_of(map, 40, 1, 40), kSumTolerance);
    EXPECT_NEAR(row[3], share_of(map, 40, 0, 1), kSumTolerance);
    EXPECT_NEAR(row[4], share_of(map, 40, 40, 41), kSumTolerance);
  }
}

TEST(Reading, OfATextWithPicturesHasAPartForEach) {
  const auto model = models::open(test::pictured_folder("qwen3_vl"));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto given = test::pictured_input("qwen3_vl");
  ASSERT_TRUE(given.ok()) << given.error().describe();
  ViewInput input;
  input.columns.push_back(test::column_of(*model, *given));
  const models::Trace& trace = *input.columns.front().trace;
  const std::vector<models::ImageSpan>& images = trace.images();
  ASSERT_GE(images.size(), 2U);
  const auto data = view_of("reading").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  ASSERT_EQ(data->columns.size(), images.size() + 5);
  EXPECT_EQ(data->columns[2], "image 1");
  EXPECT_EQ(data->columns[2 + images.size()], "words");
  const std::int64_t last = trace.length() - 1;
  const auto width = static_cast<std::int64_t>(data->columns.size());
  for (std::int64_t n = 0; n < data->shape.front(); ++n) {
    const Field map = map_of(trace, n / trace.model().heads, n % trace.model().heads);
    const float* const row = data->values.data() + width * n;
    double sum = 0;
    for (std::size_t part = 2; part < data->columns.size(); ++part) {
      sum += static_cast<double>(row[part]);
    }
    EXPECT_NEAR(sum, 1, kSumTolerance);
    for (std::size_t image = 0; image < images.size(); ++image) {
      EXPECT_NEAR(row[2 + image], share_of(map, last, images[image].first, images[image].first + images[image].count),
                  kSumTolerance);
    }
    EXPECT_NEAR(row[width - 1], share_of(map, last, last, last + 1), kSumTolerance);
  }
}

// What stands in the figure is the mean over the heads, and its parts stand on each other.
TEST(Reading, TheAreasStandOnEachOther) {
  const ViewInput input = test_views::input_of();
  const auto figure = view_of("reading").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  ASSERT_EQ(panel.layers.size(), 3U);
  const auto& top = std::get<figure::Curve>(panel.layers.back());
  for (std::size_t layer = 0; layer < top.y.size(); ++layer) {
    EXPECT_NEAR(top.drawn_y(layer), 1, kSumTolerance);
  }
  EXPECT_EQ(view_of("reading").pick(input, {0, 2.5, 0.5, -1}).layer, 2);
  EXPECT_FALSE(view_of("reading").pick(input, {0, 99.5, 0.5, -1}).layer);
}

}  // namespace
}  // namespace locus::views
