// Options that several views share: a band of rotary pairs that is chosen in one is chosen in all.
#pragma once

#include <string>

#include "app/session/session.h"

namespace locus::session {

// Sets an option of `view`, and of every other view where it means the same.
void set_option(ViewState& state, const std::string& view, const std::string& name, const SettingValue& value);

}  // namespace locus::session
