#include "app/session/shared_options.h"

#include <algorithm>
#include <utility>

#include "app/views/shared/view.h"

namespace locus::session {

void set_option(ViewState& state, const std::string& view, const std::string& name, const SettingValue& value) {
  constexpr const char* kShared = "band";
  Settings& options = state.options[view];
  options.set(name, value);
  // A picture per head and one of all heads exclude each other.
  for (const auto& [one, other] : {std::pair("all-heads", "rollout"), std::pair("rollout", "all-heads")}) {
    const auto on = options.boolean(other, false);
    if (name == one && value == SettingValue(true) && on && *on) {
      options.set(other, false);
    }
  }
  if (name != kShared) {
    return;
  }
  for (const views::View* other : views::views()) {
    const auto& controls = other->info().controls;
    if (std::any_of(controls.begin(), controls.end(), [](const auto& each) { return each.name == kShared; })) {
      state.options[other->info().name].set(name, value);
    }
  }
}

}  // namespace locus::session
