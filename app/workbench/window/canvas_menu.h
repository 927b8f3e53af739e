// The menu of a place on the canvas: what can be done with its cell, its head and its column.
#pragma once

#include <QPoint>

#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/window/window_parts.h"

namespace locus::workbench {

void show_canvas_menu(const WindowParts& parts, const CanvasPlace& place, const QPoint& at);

}  // namespace locus::workbench
