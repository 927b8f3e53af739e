#include "app/workbench/canvas/instruments/paint.h"

#include <algorithm>

namespace locus::workbench::paint {

void text(const InstrumentFrame& frame, ImDrawList& list, const figure::Point& top_left, const std::string& words,
          ImU32 color) {
  frame.imgui.need(words);
  list.AddText(at(top_left), color == 0 ? ImGui::GetColorU32(ImGuiCol_Text) : color, words.c_str());
}

figure::Point text_size(const std::string& words) {
  const ImVec2 size = ImGui::CalcTextSize(words.c_str());
  return {static_cast<double>(size.x), static_cast<double>(size.y)};
}

figure::Rect box_of(const InstrumentFrame& frame, const std::vector<std::string>& lines) {
  figure::Rect place;
  for (const std::string& line : lines) {
    place.width = std::max(place.width, text_size(line).x);
  }
  place.width += 2 * frame.pad();
  place.height = static_cast<double>(lines.size()) * frame.line() + frame.pad();
  return place;
}

void ground(ImDrawList& list, const figure::Rect& place, double opacity) {
  list.AddRectFilled(from(place), to(place), ImGui::GetColorU32(ImGuiCol_PopupBg, static_cast<float>(opacity)), 3);
  list.AddRect(from(place), to(place), ImGui::GetColorU32(ImGuiCol_Border), 3);
}

void box(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place,
         const std::vector<std::string>& lines) {
  ground(list, place);
  double top = place.y + frame.pad() / 2;
  for (const std::string& line : lines) {
    text(frame, list, {place.x + frame.pad(), top}, line);
    top += frame.line();
  }
}

void focus(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place) {
  if (frame.focused) {
    const figure::Rect around = place.grown(2);
    list.AddRect(from(around), to(around), viewport::imgui_color(viewport::kFocusColor), 3, 0,
                 static_cast<float>(2 * frame.canvas.dpr));
  }
}

}  // namespace locus::workbench::paint
