// Stored pictures: tests/FLOOR/golden/NAME.png. A picture that differs leaves NAME-actual.png and
// NAME-difference.png in the build folder's golden/.
#pragma once

#include <string>

#include "core/base/result.h"
#include "renderers/vulkan/offscreen.h"

namespace locus::golden {

// Fonts are rasterised a little differently by other FreeType versions, nothing else is: maps and lines must agree.
struct ImageTolerance {
  double mean = 0.5;        // of the absolute differences of all channels, in 1/255
  int channel = 24;         // a pixel is off when a channel differs by more, in 1/255
  double share_off = 0.01;  // of the pixels
};

// Ok when the picture is as stored; with `update` it is stored instead.
Status check_image(const vulkan::PixelImage& actual, const std::string& floor, const std::string& name,
                   bool update = false, const ImageTolerance& tolerance = {});

}  // namespace locus::golden
