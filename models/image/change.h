// Changes of a picture at its own resolution, before it is preprocessed (models/api/picture_changes.h has the steps).
// Pixels come from OpenCV: warpAffine with linear interpolation, GaussianBlur, randn.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/result.h"
#include "models/api/picture_changes.h"
#include "models/image/image.h"

namespace locus::image {

// Maps points (x, y) of a picture to x' = a x + b y + c, y' = d x + e y + f; pixel centres are whole numbers.
struct Affine {
  std::array<double, 6> of{1, 0, 0, 0, 1, 0};

  std::array<double, 2> at(double x, double y) const;
  // This one, and then `next`.
  Affine then(const Affine& next) const;
  // Precondition: the determinant is not 0.
  Affine inverse() const;
};

// Where a step shift, rotate, scale or mirror moves the points of a picture of this size. Precondition: it is one.
Affine affine_of(const models::PictureChange& change, std::int64_t width, std::int64_t height, PatchSize patch);

// The changed picture; `patch` is the side of a patch in pixels behind the preprocessing, in a vision-language model of
// a cell of merged patches. Errors: kBadInput for a picture without pixels, and for a crop or a rectangle outside it;
// kTooLarge for sides that OpenCV does not take and for a blur of too many pixels;
// kUnsupported in a build without OpenCV.
Result<Picture> change_picture(const Picture& picture, const models::PictureChanges& changes,
                               const Preprocessing& options, std::int64_t patch);

}  // namespace locus::image
