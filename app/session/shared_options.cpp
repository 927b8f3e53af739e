#include "app/session/shared_options.h"

#include <algorithm>

#include "app/views/view.h"

namespace locus::session {

namespace {

constexpr const char* kShared = "band";

}  // namespace

void set_option(ViewState& state, const std::string& view, const std::string& name, const SettingValue& value) {
  state.options[view].set(name, value);
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
