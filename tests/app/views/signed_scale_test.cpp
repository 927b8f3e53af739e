// Signed maps read right under every scale: 0 has the neutral colour, v and −v are as strong.
#include <gtest/gtest.h>

#include <cmath>

#include "renderers/figure/colormap.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

using figure::Transfer;
using models::Quantity;

// A view as it draws signed values.
struct Signed {
  std::string view;
  Quantity quantity = Quantity::kWeight;
  Settings options{};
  bool difference = false;
  std::string colormap{};
};

const std::vector<Signed>& signed_views() {
  static const std::vector<Signed> kViews = {
      {"attention", Quantity::kContribution},
      {"attention", Quantity::kWeight, {}, true},
      {"attention", Quantity::kLogit, {}, false, "RdBu"},
      {"attention-grid", Quantity::kContribution},
      {"attention-text", Quantity::kContribution},
      {"pe-dot-product", Quantity::kWeight, {}, true},
      {"pe-dot-product", Quantity::kWeight, {}, false, "vik"},
      {"pair-scores"},
      {"pair-profile"},
      {"kernel", Quantity::kWeight, {{"reach", std::int64_t{64}}}},
      {"knock-out", Quantity::kWeight, {{"null", std::int64_t{0}}}},
      {"logit-attribution"},
      {"score-sources"},
      {"effect", Quantity::kWeight, {{"as", std::string("text")}}},
      {"heads", Quantity::kWeight, {{"statistic", std::string("distance-bias")}, {"as", std::string("map")}}},
  };
  return kViews;
}

// The colour scales of a figure, and whether its values go below 0.
struct Shown {
  figure::ColorScale scale;
  bool below = false;
};

std::vector<Shown> shown_in(const figure::Figure& figure) {
  std::vector<Shown> list;
  const auto below = [](const std::vector<float>& values) {
    return std::any_of(values.begin(), values.end(), [](float value) { return value < 0; });
  };
  for (const figure::Panel& panel : figure.panels) {
    for (const figure::Layer& layer : panel.layers) {
      if (const auto* map = std::get_if<figure::HeatMap>(&layer)) {
        list.push_back({map->scale, below(map->field->values)});
      } else if (const auto* strip = std::get_if<figure::TokenStrip>(&layer)) {
        list.push_back({strip->scale, below(strip->values)});
      }
    }
  }
  return list;
}

void expect_centred(const figure::ColorScale& scale) {
  const figure::Colormap& map = figure::colormaps()[figure::colormap_index(scale.colormap)];
  EXPECT_TRUE(map.diverging);
  EXPECT_EQ(figure::color_of(scale, 0.0F), figure::color_at(map, 0.5F));
  EXPECT_EQ(figure::tint_of(scale, 0.0F, 0xFFFFFFFF, 0x000000FF), 0xFFFFFFFFU);
  for (const float share : {1e-6F, 1e-3F, 0.03F, 0.2F, 0.5F, 0.9F, 1.0F, 3.0F}) {
    const float value = share * std::max(std::abs(scale.low), std::abs(scale.high));
    const float above = figure::normalised(scale, value);
    const float below = figure::normalised(scale, -value);
    EXPECT_GE(above, 0.5F);
    EXPECT_NEAR(above + below, 1, 1e-6F) << share;
  }
  EXPECT_EQ(figure::normalised(scale, std::max(std::abs(scale.low), std::abs(scale.high))), 1);
}

struct Asked {
  const char* name;
  std::function<void(ScaleOptions&)> set;
};

const std::vector<Asked>& scales() {
  static const std::vector<Asked> kScales = {
      {"linear", [](ScaleOptions&) {}},
      {"gamma", [](ScaleOptions& scale) { scale.transfer = Transfer::kGamma; }},
      {"log", [](ScaleOptions& scale) { scale.transfer = Transfer::kLog; }},
      {"gamma of the central 90 %",
       [](ScaleOptions& scale) {
         scale.transfer = Transfer::kGamma;
         scale.percentile = 90;
       }},
      {"a low end alone", [](ScaleOptions& scale) { scale.low = -0.25F; }},
      {"a high end alone", [](ScaleOptions& scale) { scale.high = 0.5F; }},
      {"ends on one side",
       [](ScaleOptions& scale) {
         scale.transfer = Transfer::kLog;
         scale.low = 0.01F;
         scale.high = 2;
       }},
  };
  return kScales;
}

TEST(SignedScale, ZeroIsNeutralAndSignsAreMirrorImagesInEveryView) {
  for (const Signed& drawn : signed_views()) {
    for (const Asked& asked : scales()) {
      SCOPED_TRACE(drawn.view + ", " + models::to_text(drawn.quantity) + ", " + asked.name);
      ViewInput input = test_views::pair_for(test_views::view_of(drawn.view));
      input.query = 9;
      input.key = 8;
      input.quantity = drawn.quantity;
      input.options = drawn.options;
      input.difference = drawn.difference;
      input.scale.colormap = drawn.colormap;
      asked.set(input.scale);
      const auto figure = test_views::view_of(drawn.view).figure(input);
      ASSERT_TRUE(figure.ok()) << figure.error().describe();
      bool any = false;
      for (const Shown& shown : shown_in(*figure)) {
        const bool diverging = figure::colormaps()[figure::colormap_index(shown.scale.colormap)].diverging;
        EXPECT_TRUE(diverging || !shown.below || drawn.difference) << "values below 0 without a neutral colour";
        if (diverging) {
          any = true;
          expect_centred(shown.scale);
        }
      }
      EXPECT_TRUE(any) << "nothing signed is drawn";
    }
  }
}

}  // namespace
}  // namespace locus::views
