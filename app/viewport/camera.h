// Camera moves on the canvas: panning and zooming within the full extent of a figure, in the units of views::Camera.
#pragma once

#include "app/views/shared/parameters.h"
#include "renderers/figure/geometry.h"

namespace locus::viewport {

// Moves and shrinks each axis of `camera` until it lies within `home`. No axis becomes shorter than two units (cells),
// unless `home` is; directions are those of `home`.
views::Camera clamped(const views::Camera& camera, const views::Camera& home);
views::Camera moved(const views::Camera& camera, double dx, double dy);
// Scales both axes around a point. Zooming in stops for both axes when the shorter one has two units, so that cells
// keep their shape.
views::Camera zoomed(const views::Camera& camera, const figure::Point& around, double factor);
// The same middle, with axes of these lengths.
views::Camera with_size(const views::Camera& camera, double width, double height);

}  // namespace locus::viewport
