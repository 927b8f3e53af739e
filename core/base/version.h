// The version of the program, which CMakeLists.txt's project() states.
#pragma once

#include <string_view>

namespace locus {

// "0.3.0"
std::string_view program_version();

}  // namespace locus
