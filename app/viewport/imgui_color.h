// Colours for Dear ImGui.
#pragma once

#include <imgui.h>

#include <cstdint>

namespace locus::viewport {

// Focus frame and tooltip bars; RRGGBBAA.
inline constexpr std::uint32_t kFocusColor = 0x3D7EC2FF;

// Converts RRGGBBAA to ImGui's packed colours.
inline ImU32 imgui_color(std::uint32_t rrggbbaa) {
  return IM_COL32(rrggbbaa >> 24, rrggbbaa >> 16 & 0xFF, rrggbbaa >> 8 & 0xFF, rrggbbaa & 0xFF);
}

}  // namespace locus::viewport
