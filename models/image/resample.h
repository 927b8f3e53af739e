// Resizing as in Pillow, which defines "bilinear" and "bicubic" of published preprocessing: when an image shrinks, the
// kernel widens with it, so that every pixel counts (OpenCV's kernels keep their width and alias).
#pragma once

#include <cstdint>

#include "models/image/image.h"

namespace locus::image {

// The picture at another size: along each axis, output pixel i averages the inputs within `support`·scale of (i +
// ½)·scale, scale = input / output, weighted by the normalised kernel; rounded to 8 bits between the axes.
Picture resample(const Picture& picture, std::int64_t width, std::int64_t height, Interpolation interpolation);

}  // namespace locus::image
