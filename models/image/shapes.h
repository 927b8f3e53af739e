// Plane shapes drawn at any resolution: the pictures of the training task `shapes`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "models/image/image.h"

namespace locus::image {

// One shape on a plain ground. Lengths are fractions of the picture's side, so that a scene looks the same at every
// resolution; x runs to the right, y down.
struct ShapeScene {
  std::size_t shape = 0;  // index into shape_names()
  double x = 0.5;         // the centre
  double y = 0.5;
  double radius = 0.25;  // radius of the circle around the shape
  double turn = 0;       // radians, clockwise
  std::array<std::uint8_t, 3> colour{255, 255, 255};
  std::array<std::uint8_t, 3> ground{0, 0, 0};
};

// circle, ring, square, frame, diamond, triangle-up, triangle-down, plus, cross, star, arrow-left, arrow-right.
std::span<const std::string_view> shape_names();

// The scene with smoothed edges, side × side pixels. Errors: kUsage for a shape that does not exist or a side outside
// 1 … 16384, kUnsupported in a build without OpenCV.
Result<Picture> draw_shape(const ShapeScene& scene, std::int64_t side);
// The same with several shapes on the ground of the first, later ones over earlier ones; at least one.
Result<Picture> draw_shapes(std::span<const ShapeScene> scenes, std::int64_t side);

}  // namespace locus::image
