#include "core/position/shared/description.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus::position {

namespace {

const OptionDescription* find_option(const Description& description, std::string_view name) {
  const auto found = std::find_if(description.options.begin(), description.options.end(),
                                  [&](const OptionDescription& option) { return option.name == name; });
  return found == description.options.end() ? nullptr : &*found;
}

}  // namespace

bool can_override(const Description& description, std::string_view option, const Settings& options) {
  if (!description.has_waves || find_option(description, option) == nullptr) {
    return false;
  }
  const auto& [name, value] = description.waves_where;
  if (name.empty()) {
    return true;
  }
  const Result<std::string> found = options.text(name, find_option(description, name)->fallback);
  return found.ok() && *found == value;
}

Status check_known(const Description& description, const Settings& options) {
  for (const auto& [name, value] : options.values()) {
    if (find_option(description, name) != nullptr) {
      continue;
    }
    const std::string known = listed_known(description.options, "encodings", &OptionDescription::name);
    return bad_input("encoding " + description.name + ": unknown option " + shown(name) +
                     "; known: " + (known.empty() ? "none" : known));
  }
  return {};
}

}  // namespace locus::position
