#include "renderers/figure/colormap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace locus::figure {
namespace {

TEST(Colormap, EndsAreThePublishedColours) {
  const auto ends = [](const char* name) {
    const Colormap& map = colormaps()[colormap_index(name)];
    return std::pair(map.colors.front(), map.colors.back());
  };
  EXPECT_EQ(ends("viridis"), std::pair(0x440154U, 0xFDE725U));
  EXPECT_EQ(ends("magma"), std::pair(0x000004U, 0xFCFDBFU));
  EXPECT_EQ(ends("cividis"), std::pair(0x00224EU, 0xFEE838U));
  EXPECT_EQ(ends("vik"), std::pair(0x001261U, 0x590008U));
  EXPECT_EQ(ends("RdBu"), std::pair(0x67001FU, 0x053061U));
  EXPECT_EQ(ends("gray"), std::pair(0x000000U, 0xFFFFFFU));
}

TEST(Colormap, NeighbouringColoursAreClose) {
  for (const Colormap& map : colormaps()) {
    for (std::size_t n = 1; n < map.colors.size(); ++n) {
      for (int shift = 0; shift <= 16; shift += 8) {
        const int step =
            static_cast<int>(map.colors[n] >> shift & 0xFF) - static_cast<int>(map.colors[n - 1] >> shift & 0xFF);
        EXPECT_LE(std::abs(step), 8) << map.name << " at " << n;
      }
    }
  }
}

TEST(Colormap, DivergingMapsAreNeutralInTheMiddle) {
  for (const Colormap& map : colormaps()) {
    if (map.diverging) {
      const Color middle = color_at(map, 0.5F);
      EXPECT_GT(middle >> 24, 0xE0U) << map.name;
      EXPECT_GT(middle >> 8 & 0xFF, 0xDAU) << map.name;
    }
  }
}

TEST(Colormap, ColourBetweenEntriesIsLinear) {
  const Colormap& gray = colormaps()[colormap_index("gray")];
  EXPECT_EQ(color_at(gray, 0.5F), 0x808080FFU);  // 127.5 rounds up
  EXPECT_EQ(color_at(gray, 2.0F), 0xFFFFFFFFU);
  EXPECT_EQ(color_at(gray, -1.0F), 0x000000FFU);
}

TEST(Colormap, ValuesMapByTransferAndNanIsMasked) {
  ColorScale scale;
  scale.colormap = "gray";
  scale.low = 0.01F;
  scale.high = 1;
  scale.transfer = Transfer::kLog;
  EXPECT_NEAR(normalised(scale, 0.1F), 0.5F, 1e-6F);
  EXPECT_EQ(normalised(scale, 0), 0);
  EXPECT_EQ(normalised(scale, -3), 0);
  scale.transfer = Transfer::kGamma;
  scale.low = 0;
  scale.gamma = 2;
  EXPECT_NEAR(normalised(scale, 0.5F), 0.25F, 1e-6F);
  scale.mask_color = 0x12345678;
  EXPECT_EQ(color_of(scale, std::numeric_limits<float>::quiet_NaN()), 0x12345678U);
}

TEST(Colormap, CentredScalesCountMagnitudesOnBothSidesOfTheMiddle) {
  ColorScale scale;
  scale.colormap = "vik";
  scale.centred = true;
  scale.low = -2;
  scale.high = 4;  // the larger end holds for both sides
  EXPECT_EQ(normalised(scale, 0), 0.5F);
  EXPECT_NEAR(normalised(scale, 2), 0.75F, 1e-6F);
  EXPECT_NEAR(normalised(scale, -2), 0.25F, 1e-6F);
  EXPECT_EQ(normalised(scale, -9), 0);
  scale.transfer = Transfer::kGamma;
  scale.gamma = 0.5F;
  EXPECT_EQ(normalised(scale, 0), 0.5F);
  EXPECT_NEAR(normalised(scale, 1), 0.75F, 1e-6F);  // √(1/4) of the upper half
  EXPECT_NEAR(normalised(scale, -1), 0.25F, 1e-6F);
  scale.transfer = Transfer::kLog;
  EXPECT_EQ(normalised(scale, 0), 0.5F);
  EXPECT_NEAR(normalised(scale, 0.04F), 0.75F, 1e-6F);  // two decades of the four below 4
  EXPECT_NEAR(normalised(scale, -0.04F), 0.25F, 1e-6F);
  EXPECT_EQ(normalised(scale, 1e-5F), 0.5F);
  scale.low = 0.04F;  // the least magnitude
  EXPECT_NEAR(normalised(scale, -0.4F), 0.25F, 1e-6F);
  scale.low = scale.high = 0;
  EXPECT_EQ(normalised(scale, 1), 0.5F);
}

TEST(Colormap, AnEmptyRangeIsItsLowEnd) {
  ColorScale scale;
  scale.low = scale.high = 3;
  EXPECT_EQ(normalised(scale, 5), 0);
  scale.transfer = Transfer::kLog;
  EXPECT_EQ(normalised(scale, 5), 0);
}

TEST(Colormap, UnknownNamesFallBackToTheFirst) {
  EXPECT_EQ(colormap_index("jet"), 0U);
}

TEST(Colormap, TextOnAColourIsReadable) {
  EXPECT_TRUE(is_light(0xFDE725FF));
  EXPECT_FALSE(is_light(0x440154FF));
  EXPECT_EQ(blended(0xFF000080, 0x0000FFFF), 0x80007FFFU);
}

}  // namespace
}  // namespace locus::figure
