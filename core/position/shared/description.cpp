#include "core/position/shared/description.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus::position {

Status check_known(const Description& description, const Settings& options) {
  for (const auto& [name, value] : options.values()) {
    const auto same = [&name = name](const OptionDescription& option) { return option.name == name; };
    if (std::any_of(description.options.begin(), description.options.end(), same)) {
      continue;
    }
    const std::string known = listed_known(description.options, "encodings", &OptionDescription::name);
    return bad_input("encoding " + description.name + ": unknown option " + shown(name) +
                     "; known: " + (known.empty() ? "none" : known));
  }
  return {};
}

}  // namespace locus::position
