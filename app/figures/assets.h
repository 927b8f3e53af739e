// Where this installation keeps what comes with it.
#pragma once

#include <filesystem>

namespace locus::figures {

// assets/ of this installation: beside the program, above it, or where it was built. Empty when there is none.
std::filesystem::path assets_folder();
std::filesystem::path bundled_session();

}  // namespace locus::figures
