#include "models/image/shapes.h"

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#if LOCUS_IMAGES
#include <opencv2/imgproc.hpp>
#endif

namespace locus::image {
namespace {

constexpr std::array<std::string_view, 12> kNames{"circle",  "ring",        "square",        "frame",
                                                  "diamond", "triangle-up", "triangle-down", "plus",
                                                  "cross",   "star",        "arrow-left",    "arrow-right"};
constexpr std::int64_t kLargestDrawing = 16384;

#if LOCUS_IMAGES

using Corner = std::array<double, 2>;
using Outline = std::vector<Corner>;

constexpr double kTurn = 2 * std::numbers::pi;
constexpr int kRound = 64;                           // corners of a circle
constexpr double kSquare = 1 / std::numbers::sqrt2;  // half a side of the square in the unit circle
constexpr double kInner = 0.6;                       // relative radius of the hole of ring and frame
constexpr double kArm = 0.32;                        // half the width of the plus's arms
constexpr double kStarInner = 0.42;                  // radius of the star's inner corners

// `count` corners around the centre, starting at the top, with these radii in turn.
Outline regular(int count, std::initializer_list<double> radii) {
  Outline outline;
  for (int n = 0; n < count; ++n) {
    const double radius = radii.begin()[static_cast<std::size_t>(n) % radii.size()];
    const double angle = kTurn * n / count;
    outline.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return outline;
}

Outline turned(const Outline& outline, double angle) {
  Outline result;
  for (const auto& [x, y] : outline) {
    result.push_back({x * std::cos(angle) - y * std::sin(angle), x * std::sin(angle) + y * std::cos(angle)});
  }
  return result;
}

Outline box(double half_width, double half_height) {
  return {
      {-half_width, -half_height}, {half_width, -half_height}, {half_width, half_height}, {-half_width, half_height}};
}

Outline plus() {
  const double far = std::sqrt(1 - kArm * kArm);
  return {{-kArm, -far}, {kArm, -far}, {kArm, -kArm}, {far, -kArm}, {far, kArm},   {kArm, kArm},
          {kArm, far},   {-kArm, far}, {-kArm, kArm}, {-far, kArm}, {-far, -kArm}, {-kArm, -kArm}};
}

// An arrow to the right.
Outline arrow() {
  return {{1, 0}, {0.2, -0.8}, {0.2, -0.25}, {-0.95, -0.25}, {-0.95, 0.25}, {0.2, 0.25}, {0.2, 0.8}};
}

// Outlines in the unit circle; a second one is a hole.
const std::vector<Outline>& outlines(std::string_view name) {
  static const std::map<std::string_view, std::vector<Outline>> kOutlines{
      {"circle", {regular(kRound, {1})}},
      {"ring", {regular(kRound, {1}), regular(kRound, {kInner})}},
      {"square", {box(kSquare, kSquare)}},
      {"frame", {box(kSquare, kSquare), box(kSquare * kInner, kSquare * kInner)}},
      {"diamond", {regular(4, {1})}},
      {"triangle-up", {regular(3, {1})}},
      {"triangle-down", {turned(regular(3, {1}), kTurn / 2)}},
      {"plus", {plus()}},
      {"cross", {turned(plus(), kTurn / 8)}},
      {"star", {regular(10, {1, kStarInner})}},
      {"arrow-left", {turned(arrow(), kTurn / 2)}},
      {"arrow-right", {arrow()}}};
  return kOutlines.at(name);
}

cv::Scalar scalar(const std::array<std::uint8_t, 3>& c) {
  return {double(c[0]), double(c[1]), double(c[2]), 255};
}

void fill(const ShapeScene& scene, cv::Mat& canvas) {
  constexpr int kFractionBits = 8;
  const double unit = static_cast<double>(canvas.rows) * (1 << kFractionBits);
  std::vector<std::vector<cv::Point>> corners;
  for (const Outline& outline : outlines(kNames[scene.shape])) {
    corners.emplace_back();
    for (const auto& [x, y] : turned(outline, scene.turn)) {
      // OpenCV's pixel centres are whole numbers; here they are offset by half a pixel.
      const double half = 0.5 * (1 << kFractionBits);
      corners.back().emplace_back(static_cast<int>(std::lround((scene.x + scene.radius * x) * unit - half)),
                                  static_cast<int>(std::lround((scene.y + scene.radius * y) * unit - half)));
    }
  }
  cv::fillPoly(canvas, corners, scalar(scene.colour), cv::LINE_AA, kFractionBits);
}

#endif

}  // namespace

std::span<const std::string_view> shape_names() {
  return kNames;
}

Result<Picture> draw_shape(const ShapeScene& scene, std::int64_t side) {
  return draw_shapes({&scene, 1}, side);
}

Result<Picture> draw_shapes(std::span<const ShapeScene> scenes, std::int64_t side) {
  for (const ShapeScene& scene : scenes) {
    if (scene.shape >= kNames.size() || side < 1 || side > kLargestDrawing) {
      return usage("shape: expected one of " + std::to_string(kNames.size()) + " and a side of 1 to " +
                   std::to_string(kLargestDrawing) + " pixels, found shape " + std::to_string(scene.shape) +
                   " and side " + std::to_string(side));
    }
  }
#if LOCUS_IMAGES
  const auto pixels = static_cast<int>(side);
  cv::Mat canvas(pixels, pixels, CV_8UC4, scalar(scenes.front().ground));
  for (const ShapeScene& scene : scenes) {
    fill(scene, canvas);
  }
  return Picture{side, side, {canvas.data, canvas.data + canvas.total() * 4}};
#else
  return unsupported("this build draws no images (it was made without OpenCV)");
#endif
}

}  // namespace locus::image
