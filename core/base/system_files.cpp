#include "core/base/system_files.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

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

namespace {

// A number from a control group's file; 0 when there is none or it says "max".
double number_of(const char* path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : 0;
}

// Memory that a control group may still be given; files that are merely cached make room. Infinite without a limit.
double left_in_group() {
  const double limit = number_of("/sys/fs/cgroup/memory.max");
  if (limit <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  double cached = 0;
  std::ifstream statistics("/sys/fs/cgroup/memory.stat");
  std::string name;
  for (double value = 0; statistics >> name >> value;) {
    cached += name == "inactive_file" || name == "active_file" ? value : 0;
  }
  return std::max(limit - number_of("/sys/fs/cgroup/memory.current") + cached, 1.0);
}

// Memory that a limit of this process (ulimit) leaves, given what it has in use; infinite without one.
double left_of(int resource, const char* used) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max(static_cast<double>(limit.rlim_cur) - system_bytes("/proc/self/status", used), 1.0);
}

}  // namespace

double available_bytes() {
  const double machine = system_bytes("/proc/meminfo", "MemAvailable");
  const double available = std::min({machine > 0 ? machine : std::numeric_limits<double>::infinity(), left_in_group(),
                                     left_of(RLIMIT_AS, "VmSize"), left_of(RLIMIT_DATA, "VmData")});
  return std::isfinite(available) ? available : 0;
}

}  // namespace locus
