// Changes of a picture before a model sees it: moved, turned, scaled, cut, covered, blurred. A list of steps, in order,
// as one line of words; the pixels are changed by models/image/change.h, at the picture's own resolution.
//
//   step        numbers                          what it does
//   shift       X Y                              moves the picture to the right and down
//   rotate      DEGREES                          turns it clockwise about its middle
//   scale       FACTOR                           makes what is seen larger or smaller about the middle
//   mirror      left-right | up-down             left-right where nothing is said
//   crop        LEFT TOP WIDTH HEIGHT            keeps that part alone, which is the picture from then on
//   occlude     LEFT TOP WIDTH HEIGHT [LEVEL]    covers it with grey of that level, 0 to 255 (128)
//   blur        DEVIATION                        Gaussian blur
//   noise       DEVIATION [SEED]                 Gaussian noise in levels of 255; deterministic in the seed (1)
//   brightness  FACTOR                           every channel times the factor
//   border      edge|black|grey|reflect|wrap     what steps behind it have beyond the picture's edge (edge)
//
// A length is in pixels, with `p` behind it in patches of the model, with `%` in percent of the picture's width (X, LEFT,
// WIDTH, a deviation) or height (Y, TOP, HEIGHT). Steps shift, rotate, scale and mirror that follow each other are one
// resampling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::models {

enum class PictureStep { kShift, kRotate, kScale, kMirror, kCrop, kOcclude, kBlur, kNoise, kBrightness, kBorder };
enum class LengthUnit { kPixels, kPatches, kPercent };

// A number of a step: a length, or a number without a unit (kPixels).
struct PictureNumber {
  double value = 0;
  LengthUnit unit = LengthUnit::kPixels;

  friend bool operator==(const PictureNumber&, const PictureNumber&) = default;
};

inline constexpr std::size_t kMaxStepNumbers = 5;

struct PictureChange {
  PictureStep step = PictureStep::kShift;
  std::array<PictureNumber, kMaxStepNumbers> numbers{};  // those that the step has; words by their index

  friend bool operator==(const PictureChange&, const PictureChange&) = default;
};
using PictureChanges = std::vector<PictureChange>;

// One number of a step, for the line and for controls.
struct PictureStepNumber {
  std::string_view name;
  bool length = false;
  double low = 0;  // in pixels, or as it is
  double high = 0;
  double initial = 0;
  bool optional = false;
  bool whole = false;
  std::span<const std::string_view> words{};  // the number is the index of one of them
};
struct PictureStepForm {
  PictureStep step;
  std::string_view name;
  std::vector<PictureStepNumber> numbers;
};
// In the order of PictureStep.
const std::vector<PictureStepForm>& picture_steps();

// The bounds of a number in a unit.
double lowest_of(const PictureStepNumber& number, LengthUnit unit);
double highest_of(const PictureStepNumber& number, LengthUnit unit);

inline constexpr std::size_t kMaxPictureSteps = 32;

// "shift 8 0; rotate 15". Errors: kUsage naming the step, what is expected and what was found.
Result<PictureChanges> parse_picture_changes(std::string_view text);
// The same text for the same changes: numbers as short as they read back, what is left out is as it is by itself.
std::string to_text(const PictureChange& change);
std::string to_text(const PictureChanges& changes);

}  // namespace locus::models
