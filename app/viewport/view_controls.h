// The controls of a view as Dear ImGui widgets.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/views/view.h"

namespace locus::viewport {

// Draws one widget a control, side by side, in the current ImGui window; the change the user made in this frame.
std::optional<std::pair<std::string, SettingValue>> draw_controls(const std::vector<views::Control>& controls,
                                                                  const Settings& options);

}  // namespace locus::viewport
