// A recipe as the words of `locus figure` that draw the same, for a shell.
#pragma once

#include <string>
#include <vector>

#include "app/session/recipe.h"
#include "core/base/result.h"

namespace locus::session {

// "figure", the view, its checkpoints and what differs from the defaults; --out is left to the caller. Errors:
// kUnsupported for columns whose overrides, edits or texts differ, which only a recipe can say.
Result<std::vector<std::string>> command_words(const Recipe& recipe);

// The words behind "locus", quoted where a POSIX shell would read them otherwise.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace locus::session
