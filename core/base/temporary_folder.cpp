#include "core/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace locus {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code code;
  const fs::path where = fs::temp_directory_path(code);
  if (code) {
    return bad_input("expected a folder for temporary files, found none: " + code.message());
  }
  std::string name = (where / "locus-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return bad_input(std::string("cannot make a temporary folder: ") + std::strerror(errno), where.string());
  }
  return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(fs::path path) : path_(std::move(path)), registered_(path_) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), registered_(std::move(other.registered_)) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) {
    fs::remove_all(path_, ignored);
  }
}

}  // namespace locus
