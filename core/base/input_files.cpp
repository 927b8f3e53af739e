#include "core/base/input_files.h"

#include <sys/stat.h>

namespace locus {

namespace {

// Device and inode of a regular file; false where there is none.
bool identify(const std::filesystem::path& file, std::pair<std::uint64_t, std::uint64_t>& identity) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return false;
  }
  identity = {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
  return true;
}

}  // namespace

void InputFiles::add(const std::filesystem::path& file) {
  std::pair<std::uint64_t, std::uint64_t> identity;
  if (identify(file, identity)) {
    files_.insert(identity);
  }
}

bool InputFiles::has(const std::filesystem::path& file) const {
  std::pair<std::uint64_t, std::uint64_t> identity;
  return identify(file, identity) && files_.count(identity) > 0;
}

Status InputFiles::check(const std::filesystem::path& output, const std::string& what) const {
  if (!has(output)) {
    return {};
  }
  return usage(what + ": expected a file that is not read as well, found " + output.string() +
               ", which would be overwritten");
}

}  // namespace locus
