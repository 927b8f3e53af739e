// `key=value` options as typed on the command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus::cli {

// Errors: kUsage naming `option` for a text without '=' or with an empty key.
Result<std::vector<std::pair<std::string, std::string>>> split_pairs(const std::string& option,
                                                                     const std::vector<std::string>& typed);

// Values by their form: true, false, whole numbers, numbers, lists of numbers (in brackets, or several with commas
// between them), anything else is text.
Result<Settings> parse_settings(const std::string& option, const std::vector<std::string>& typed);

}  // namespace locus::cli
