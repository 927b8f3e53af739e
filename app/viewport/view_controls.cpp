#include "app/viewport/view_controls.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace locus::viewport {

namespace {

using Change = std::optional<SettingValue>;

SettingValue value_of(const views::Control& control, const Settings& options) {
  const auto found = options.values().find(control.name);
  return found == options.values().end() ? control.fallback : found->second;
}

double number_of(const SettingValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*whole);
  }
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : 0;
}

// The widgets' names are hidden: their labels stand before them, as in the rest of the window.
std::string id_of(const views::Control& control) {
  return "##" + control.name;
}

// What a slider shows: its number, or the word for its lowest value.
std::string format_of(const views::Control& control, double value, const char* number) {
  return value == control.low && !control.lowest.empty() ? control.lowest : number;
}

Change toggle(const views::Control& control, const SettingValue& value) {
  const bool* stored = std::get_if<bool>(&value);
  bool on = stored != nullptr && *stored;
  return ImGui::Checkbox(control.label.c_str(), &on) ? Change(on) : std::nullopt;
}

// Sliders that move by factors end at 0, which stands for "as it is".
ImGuiSliderFlags flags_of(const views::Control& control) {
  return ImGuiSliderFlags_AlwaysClamp |
         (control.logarithmic ? ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_NoRoundToFormat : 0);
}

Change whole(const views::Control& control, const SettingValue& value) {
  int number = static_cast<int>(number_of(value));
  const bool changed =
      ImGui::SliderInt(id_of(control).c_str(), &number, static_cast<int>(control.low), static_cast<int>(control.high),
                       format_of(control, number, "%d").c_str(), flags_of(control));
  return changed ? Change(static_cast<std::int64_t>(number)) : std::nullopt;
}

Change number(const views::Control& control, const SettingValue& value) {
  auto number = static_cast<float>(number_of(value));
  const bool changed = ImGui::SliderFloat(
      id_of(control).c_str(), &number, static_cast<float>(control.low), static_cast<float>(control.high),
      format_of(control, static_cast<double>(number), "%.4g").c_str(), flags_of(control));
  return changed ? Change(static_cast<double>(number)) : std::nullopt;
}

Change choice(const views::Control& control, const SettingValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  const std::string current = word != nullptr ? *word : control.choices.front();
  Change change;
  if (ImGui::BeginCombo(id_of(control).c_str(), current.c_str())) {
    for (const std::string& each : control.choices) {
      if (ImGui::Selectable(each.c_str(), each == current) && each != current) {
        change = each;
      }
    }
    ImGui::EndCombo();
  }
  return change;
}

Change words(const views::Control& control, const SettingValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  std::array<char, 256> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%s", word != nullptr ? word->c_str() : "");
  const bool changed = ImGui::InputText(id_of(control).c_str(), buffer.data(), buffer.size());
  return changed ? Change(std::string(buffer.data())) : std::nullopt;
}

// Of the widget without its label.
float box_width(const views::Control& control) {
  const float text = ImGui::GetFontSize();
  if (control.kind == views::Control::Kind::kToggle) {
    return ImGui::GetFrameHeight();
  }
  if (control.kind == views::Control::Kind::kText) {
    return text * 9;
  }
  float longest = ImGui::CalcTextSize("0000000").x;
  for (const std::string& each : control.choices) {
    longest = std::max(longest, ImGui::CalcTextSize(each.c_str()).x);
  }
  if (control.kind == views::Control::Kind::kChoice) {
    return longest + ImGui::GetFrameHeight() + 2 * ImGui::GetStyle().FramePadding.x;
  }
  return std::max(longest, ImGui::CalcTextSize(control.lowest.c_str()).x) + text;
}

float width_of(const views::Control& control) {
  return box_width(control) + ImGui::GetStyle().ItemInnerSpacing.x + ImGui::CalcTextSize(control.label.c_str()).x;
}

Change draw(const views::Control& control, const SettingValue& value) {
  if (control.kind == views::Control::Kind::kToggle) {
    return toggle(control, value);
  }
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(control.label.c_str());
  ImGui::SameLine(0, ImGui::GetStyle().ItemInnerSpacing.x);
  ImGui::SetNextItemWidth(box_width(control));
  switch (control.kind) {
    case views::Control::Kind::kWhole:
      return whole(control, value);
    case views::Control::Kind::kNumber:
      return number(control, value);
    case views::Control::Kind::kChoice:
      return choice(control, value);
    default:
      return words(control, value);
  }
}

}  // namespace

std::optional<std::pair<std::string, SettingValue>> draw_controls(const std::vector<views::Control>& controls,
                                                                  const Settings& options) {
  std::optional<std::pair<std::string, SettingValue>> changed;
  bool first = true;
  for (const views::Control& control : controls) {
    const float gap = ImGui::GetFontSize() * 1.2F;
    const float right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
    if (!first && ImGui::GetItemRectMax().x + gap + width_of(control) < right) {
      ImGui::SameLine(0, gap);
    }
    first = false;
    ImGui::BeginGroup();
    if (const Change change = draw(control, value_of(control, options))) {
      changed = {control.name, *change};
    }
    ImGui::EndGroup();
    if (ImGui::IsItemHovered() && !control.help.empty()) {
      ImGui::SetTooltip("%s", control.help.c_str());
    }
  }
  return changed;
}

}  // namespace locus::viewport
