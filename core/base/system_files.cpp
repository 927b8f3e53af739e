#include "core/base/system_files.h"

#include <sys/stat.h>

#include <fstream>

#include "core/base/numbers.h"

namespace locus {

std::string system_value(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    const std::size_t end = line.find_last_not_of(" \t", colon == 0 || colon == std::string::npos ? 0 : colon - 1);
    if (colon == std::string::npos || end + 1 != key.size() || line.compare(0, key.size(), key) != 0) {
      continue;
    }
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

double system_bytes(const std::string& path, const std::string& key) {
  const std::string value = system_value(path, key);  // "16314480 kB"
  return 1024 * parse_number<double>(value.substr(0, value.find(' '))).value_or(0);
}

bool names_open_file(const std::filesystem::path& path, int descriptor) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace locus
