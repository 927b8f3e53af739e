// Draws a Scene with QPainter; the caller draws its heat maps.
#pragma once

#include <QPainter>
#include <functional>

#include "renderers/figure/scene.h"
#include "renderers/text/typeface.h"

namespace locus::paper {

// Draws a map clipped to `clip`; the painter has no clip set and is in canvas units.
using MapDrawer = std::function<void(QPainter&, const figure::MapMark&, const figure::Rect& clip)>;

void paint(const figure::Scene& scene, const text::Typeface& typeface, const MapDrawer& draw_map, QPainter& painter,
           bool emoji_as_images = false);

using text::to_qcolor;

}  // namespace locus::paper
