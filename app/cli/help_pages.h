// `locus help` without the rest of the command line: pages of the manual.
#pragma once

#include <string>

#include "app/cli/console.h"

namespace locus::cli {

struct HelpRequest {
  std::string topic;
  std::string search;
  bool markdown = false;
};

// A page or a part of it, what was found, or without either the list of the pages. Errors: kUsage for an unknown topic,
// and for words that no page has.
Status print_help(const HelpRequest& request, Console& console);

}  // namespace locus::cli
