// `perceived-distance`: the numbers of the runs, by distance, in one panel or in one for each, and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/views/shared/view.h"
#include "models/api/perceived_distance.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

using test_views::at;
using test_views::exported;
using test_views::view_of;

ViewInput several() {
  ViewInput input;
  for (const char* name : {"text-rope", "text-cope", "text-tape", "text-tapa", "text-seqpe"}) {
    input.columns.push_back(test::column_of(test::bundled(name), test_views::kText, name));
  }
  input.layer = 1;
  input.head = 2;
  input.query = 50;
  return input;
}

TEST(PerceivedDistance, ExportsWhatIsMeasuredByDistance) {
  const ViewInput input = several();
  const Data data = exported("perceived-distance", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{51, 6}));
  EXPECT_EQ(data.columns.front(), "distance");
  EXPECT_EQ(data.columns[1], "text-rope i − j");
  EXPECT_EQ(data.columns[2], "text-cope p_ij");
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const auto found = models::perceived_distances(*input.columns[n].trace, 1, 2, 50);
    ASSERT_TRUE(found.ok()) << found.error().describe();
    for (std::int64_t distance = 0; distance <= 50; ++distance) {
      EXPECT_EQ(at(data, distance, 0), static_cast<double>(distance));
      test_views::expect_near(at(data, distance, static_cast<std::int64_t>(n) + 1),
                              found->distance[static_cast<std::size_t>(50 - distance)]);
    }
  }
}

// Each curve ends or peaks at 1, beside the distance in tokens.
TEST(PerceivedDistance, DrawsSharesInOnePanelOrOneForEach) {
  ViewInput input = several();
  const auto shared = view_of("perceived-distance").figure(input);
  ASSERT_TRUE(shared.ok()) << shared.error().describe();
  ASSERT_EQ(shared->panels.size(), 1U);
  std::size_t curves = 0;
  for (const figure::Layer& layer : shared->panels.front().layers) {
    if (const auto* const curve = std::get_if<figure::Curve>(&layer)) {
      double largest = 0;
      for (const auto& y : curve->y) {
        largest = std::max(largest, std::abs(static_cast<double>(y)));
      }
      EXPECT_NEAR(largest, 1, 1e-6) << curve->name;
      ++curves;
    }
  }
  EXPECT_EQ(curves, 6U);
  input.options.set("shares", false);
  const auto apart = view_of("perceived-distance").figure(input);
  ASSERT_TRUE(apart.ok());
  ASSERT_EQ(apart->panels.size(), 5U);
  EXPECT_EQ(apart->panels[1].y.label, "p_ij");
  EXPECT_NE(apart->statement.find("i − j is 50.0 at a distance of 50 tokens; R² with the distance in tokens 1.00"),
            std::string::npos)
      << apart->statement;
}

// Twelve columns and eight colours: no two curves have both colour and dashes in common.
TEST(PerceivedDistance, ColumnsBeyondThePaletteHaveDashes) {
  ViewInput input = several();
  while (input.columns.size() < 12) {
    input.columns.push_back(input.columns[input.columns.size() % 5]);
  }
  const auto figure = view_of("perceived-distance").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const std::vector<figure::Layer>& layers = figure->panels.front().layers;
  ASSERT_GE(layers.size(), 13U);
  for (std::size_t n = 0; n < 12; ++n) {
    const auto* const curve = std::get_if<figure::Curve>(&layers[n]);
    ASSERT_NE(curve, nullptr);
    EXPECT_EQ(curve->color, 0U);
    EXPECT_EQ(curve->dashed, n >= 8) << n;
    EXPECT_EQ(curve->dash, 1) << n;
  }
}

TEST(PerceivedDistance, BeginsWithTheLastQueryAndNeedsOneHead) {
  ViewInput input = test_views::input_of();
  const std::int64_t length = input.columns.front().trace->length();
  EXPECT_EQ(exported("perceived-distance", input).shape, (std::vector<std::int64_t>{length, 2}));
  input.query = 0;
  EXPECT_NE(view_of("perceived-distance").figure(input)->statement.find("no key before this query"), std::string::npos);
  input.head = kMean;
  EXPECT_EQ(view_of("perceived-distance").figure(input).error().code, ErrorCode::kUsage);
}

TEST(PerceivedDistance, SaysWhyAnEncodingHasNone) {
  const Column fox = test::column_of(test::bundled("text-fox"), test_views::kText, "text-fox");
  EXPECT_EQ(view_of("perceived-distance").available(fox).error().message,
            "no distance between tokens is defined in text-fox (fox): its gates say how much of a key is kept");
  const Column none = test::column_of(test::bundled("text-none"), test_views::kText, "text-none");
  EXPECT_EQ(view_of("perceived-distance").available(none).error().message,
            "no distance between tokens is defined in text-none (none): it sees no positions");
}

}  // namespace
}  // namespace locus::views
