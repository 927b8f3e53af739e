#include "app/session/shared_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/views/view.h"

namespace locus::session {

namespace {

constexpr const char* kShared = "band";
// Pairs of options of which one alone is on: a picture per head, or one of them all.
constexpr std::array<std::pair<const char*, const char*>, 1> kEither{{{"all-heads", "rollout"}}};

// The other of two, where the view has it.
void switch_off(ViewState& state, const std::string& view, const std::string& name) {
  Settings& options = state.options[view];
  if (const auto on = options.boolean(name, false); on && *on) {
    options.set(name, false);
  }
}

}  // namespace

void set_option(ViewState& state, const std::string& view, const std::string& name, const SettingValue& value) {
  state.options[view].set(name, value);
  for (const auto& [one, other] : kEither) {
    if (value == SettingValue(true) && (name == one || name == other)) {
      switch_off(state, view, name == one ? other : one);
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
