// `locus info` of an atlas, which opens without its checkpoint.
#pragma once

#include <filesystem>

#include "app/cli/command.h"

namespace locus::cli {

// The lines, or one JSON object. Errors: those of models::open_atlas().
Status print_atlas_info(const std::filesystem::path& path, bool json, Console& console);

}  // namespace locus::cli
