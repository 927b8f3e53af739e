#include "core/base/address_space.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <fstream>

namespace locus {

bool address_space_is_limited() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return true;
  }
  constexpr int kStrict = 2;
  int overcommit = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  return overcommit == kStrict;
}

bool could_map(std::size_t bytes) {
  void* const map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    return false;
  }
  ::munmap(map, bytes);
  return true;
}

}  // namespace locus
