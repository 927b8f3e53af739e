#include "core/base/unfinished.h"

#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace locus {

namespace {

struct Registered {
  std::mutex mutex;
  std::multiset<std::filesystem::path> paths;
};

// Never destroyed: threads may outlive static objects.
Registered& registered() {
  static auto* const all = new Registered;
  return *all;
}

}  // namespace

Unfinished::Unfinished(std::filesystem::path path) : path_(std::move(path)) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  all.paths.insert(path_);
}

Unfinished::Unfinished(Unfinished&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Unfinished& Unfinished::operator=(Unfinished&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

Unfinished::~Unfinished() {
  if (path_.empty()) {
    return;
  }
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.paths.find(path_); found != all.paths.end()) {
    all.paths.erase(found);
  }
}

void remove_unfinished() {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const std::filesystem::path& path : all.paths) {
    std::error_code failed;
    if (!std::filesystem::remove(path, failed) && failed) {  // alone, it needs no open file
      std::filesystem::remove_all(path, failed);
    }
  }
  all.paths.clear();
}

}  // namespace locus
