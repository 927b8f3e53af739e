// `locus info` of a trace: what it holds, and of which run.
#pragma once

#include <filesystem>

#include "app/cli/command.h"

namespace locus::cli {

// The lines, or one JSON object. Errors: those of models::open_trace().
Status print_trace_info(const std::filesystem::path& path, bool json, Console& console);

}  // namespace locus::cli
