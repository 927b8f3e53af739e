// Where this installation keeps what comes with it.
#pragma once

#include <filesystem>

namespace locus::figures {

// assets/ of this installation, wherever it was put, or of the tree that it was built in. Empty when there is none.
std::filesystem::path assets_folder();
std::filesystem::path bundled_session();

}  // namespace locus::figures
