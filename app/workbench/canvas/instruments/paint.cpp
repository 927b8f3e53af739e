#include "app/workbench/canvas/instruments/paint.h"

#include <algorithm>

namespace locus::workbench::paint {

void text(const InstrumentFrame& frame, ImDrawList& list, const figure::Point& top_left, const std::string& words,
          ImU32 color) {
  frame.imgui.need(words);
  list.AddText(at(top_left), color == 0 ? ImGui::GetColorU32(ImGuiCol_Text) : color, words.c_str());
}

namespace {

// As many characters as have room.
std::string shortened(const std::string& words, double room) {
  std::string part = words;
  while (!part.empty() && text_size(part).x > room) {
    do {
      part.pop_back();
    } while (!part.empty() && (static_cast<unsigned char>(words[part.size()]) & 0xC0U) == 0x80U);
  }
  return part;
}

}  // namespace

void upright_text(const InstrumentFrame& frame, ImDrawList& list, const figure::Rect& place, const std::string& words) {
  constexpr float kFar = 1e5F;  // ImGui leaves out what it thinks is cut: the text where it is before it is turned
  frame.imgui.need(words);
  const std::string part = shortened(words, place.height);
  const int first = list.VtxBuffer.Size;
  const ImVec2 start = at(place.center_x() - text_size(part).y / 2, place.bottom());
  list.PushClipRect(ImVec2(-kFar, -kFar), ImVec2(kFar, kFar));
  list.AddText(start, ImGui::GetColorU32(ImGuiCol_Text), part.c_str());
  for (int n = first; n < list.VtxBuffer.Size; ++n) {
    ImVec2& corner = list.VtxBuffer[n].pos;
    corner = ImVec2(start.x + corner.y - start.y, start.y - (corner.x - start.x));
  }
  list.PopClipRect();
}

figure::Point text_size(const std::string& words) {
  const ImVec2 size = ImGui::CalcTextSize(words.c_str());
  return {static_cast<double>(size.x), static_cast<double>(size.y)};
}

std::vector<std::string> clauses_of(const std::string& words) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find("; ", begin), words.size());
    lines.push_back(words.substr(begin, end - begin));
    begin = end + 2;
  }
  return lines;
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
  const figure::Rect line = place.grown(-1);  // at the edge of its window half of it would be cut
  list.AddRect(from(line), to(line), ImGui::GetColorU32(ImGuiCol_Border), 3);
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
