// What changes inside a model when its picture is moved; no ATen type appears here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// How the picture is moved; the amounts are patches (of a vision-language model: cells of merged ones) to the right,
// the same down, degrees clockwise, a factor.
enum class PictureMove { kRight, kDown, kRotate, kScale };

inline constexpr std::size_t kMaxPictureMoves = 129;

struct PictureSweep {
  PictureMove move = PictureMove::kRight;
  std::vector<double> by;  // 1 to kMaxPictureMoves amounts
  bool undo = true;        // false: patches are compared where they are, whatever moved
};

// What core/analysis/patch_stability.h measures of a layer.
struct PictureStabilityRow {
  double attention = kNaN;  // 0 to 1; NaN for a layer without maps
  double states = kNaN;     // of the states entering the layer
};
struct PictureStabilityPoint {
  double by = 0;
  std::int64_t patches = 0;  // that are compared
  std::vector<PictureStabilityRow> layers;
  double prediction = kNaN;  // ½ Σ |p' − p| over the classes, or the next tokens; NaN without a head
};

// Runs the input of `trace`, which came from `model`, once more as it is and once for each amount, moved by a further
// step of its picture changes. Of a vision-language model the layers are those of its image tower. Errors: kUnsupported
// for traces of files, and for inputs of no or several pictures, of videos, of `pixels`, and of pictures that are cut
// into tiles; kBadInput for no or too many amounts, and for more than 4,096 patches; run()'s.
Result<std::vector<PictureStabilityPoint>> picture_stability(const Model& model, const Trace& trace,
                                                             const PictureSweep& sweep, StopToken stop = {},
                                                             const Progress& progress = {});

}  // namespace locus::models
