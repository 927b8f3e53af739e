// Arithmetic of the minimap: the visible part of a map within the whole.
#pragma once

#include "app/views/shared/parameters.h"
#include "renderers/figure/geometry.h"

namespace locus::workbench {

// Whether less than the whole is visible.
bool is_zoomed(const views::Camera& home, const views::Camera& camera);
// The visible part as a rectangle of a picture of the whole; within it, and at least two units large.
figure::Rect visible_part(const views::Camera& home, const views::Camera& camera, const figure::Rect& picture);
// The camera of the same size centred at a place of the picture, kept within the whole.
views::Camera centred_at(const views::Camera& home, const views::Camera& camera, const figure::Rect& picture,
                         const figure::Point& place);
// The camera moved by fractions of its own size.
views::Camera shifted(const views::Camera& home, const views::Camera& camera, double across, double down);

}  // namespace locus::workbench
