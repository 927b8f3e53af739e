// Drawing helpers for Dear ImGui in coordinates of the canvas.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "app/viewport/imgui_color.h"
#include "app/workbench/canvas/instruments/instrument.h"
#include "renderers/figure/geometry.h"

namespace locus::workbench::paint {

inline ImVec2 at(double x, double y) {
  return {static_cast<float>(x), static_cast<float>(y)};
}
inline ImVec2 at(const figure::Point& point) {
  return at(point.x, point.y);
}
inline ImVec2 from(const figure::Rect& rect) {
  return at(rect.x, rect.y);
}
inline ImVec2 to(const figure::Rect& rect) {
  return at(rect.right(), rect.bottom());
}
inline figure::Point pointer() {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  return {static_cast<double>(mouse.x), static_cast<double>(mouse.y)};
}

// Text with that top left corner, in the theme's colour or another. Requests its glyphs.
void text(const InstrumentFrame& frame, ImDrawList& list, const figure::Point& top_left, const std::string& words,
          ImU32 color = 0);
// Text that reads upwards from the middle of the lower edge of a rectangle, clipped to it.
void upright_text(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place, const std::string& words);
figure::Point text_size(const std::string& words);
// The parts of a sentence between "; ", a line each.
std::vector<std::string> clauses_of(const std::string& words);
// Lines in a box with a border, with that top left corner.
figure::Rect box_of(const InstrumentFrame& frame, const std::vector<std::string>& lines);
void box(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place,
         const std::vector<std::string>& lines);
// A background for an instrument over the figure.
void ground(ImDrawList& list, const figure::Rect& place, double opacity = 0.92);
// A frame around the area that has the keyboard.
void focus(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place);

}  // namespace locus::workbench::paint
