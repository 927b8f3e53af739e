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
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 9);
  const bool changed = ImGui::SliderInt(control.label.c_str(), &number, static_cast<int>(control.low),
                                        static_cast<int>(control.high), "%d", flags_of(control));
  return changed ? Change(static_cast<std::int64_t>(number)) : std::nullopt;
}

Change number(const views::Control& control, const SettingValue& value) {
  auto number = static_cast<float>(number_of(value));
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 9);
  const bool changed = ImGui::SliderFloat(control.label.c_str(), &number, static_cast<float>(control.low),
                                          static_cast<float>(control.high), "%.4g", flags_of(control));
  return changed ? Change(static_cast<double>(number)) : std::nullopt;
}

Change choice(const views::Control& control, const SettingValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  const std::string current = word != nullptr ? *word : control.choices.front();
  Change change;
  std::size_t longest = 4;
  for (const std::string& each : control.choices) {
    longest = std::max(longest, each.size());
  }
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * (static_cast<float>(longest) * 0.6F + 2.2F));
  if (ImGui::BeginCombo(control.label.c_str(), current.c_str())) {
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
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 9);
  const bool changed = ImGui::InputText(control.label.c_str(), buffer.data(), buffer.size());
  return changed ? Change(std::string(buffer.data())) : std::nullopt;
}

// About the room a control takes with its label.
float width_of(const views::Control& control) {
  const float text = ImGui::GetFontSize();
  float box = text * 9;
  if (control.kind == views::Control::Kind::kToggle) {
    box = ImGui::GetFrameHeight();
  } else if (control.kind == views::Control::Kind::kChoice) {
    std::size_t longest = 4;
    for (const std::string& each : control.choices) {
      longest = std::max(longest, each.size());
    }
    box = text * (static_cast<float>(longest) * 0.6F + 2.2F);
  }
  return box + ImGui::GetStyle().ItemInnerSpacing.x + ImGui::CalcTextSize(control.label.c_str()).x;
}

Change draw(const views::Control& control, const SettingValue& value) {
  switch (control.kind) {
    case views::Control::Kind::kToggle:
      return toggle(control, value);
    case views::Control::Kind::kWhole:
      return whole(control, value);
    case views::Control::Kind::kNumber:
      return number(control, value);
    case views::Control::Kind::kChoice:
      return choice(control, value);
    case views::Control::Kind::kText:
      return words(control, value);
  }
  return std::nullopt;
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
    if (const Change change = draw(control, value_of(control, options))) {
      changed = {control.name, *change};
    }
    if (ImGui::IsItemHovered() && !control.help.empty()) {
      ImGui::SetTooltip("%s", control.help.c_str());
    }
  }
  return changed;
}

}  // namespace locus::viewport
