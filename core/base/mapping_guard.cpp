#include "core/base/mapping_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>

namespace locus {

namespace {

// Only atomics, since a signal handler reads them. Shards of all open checkpoints together are far fewer.
struct Mapping {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> lost{false};
};
constexpr std::size_t kMappings = 4096;
std::array<Mapping, kMappings> mappings;
std::atomic<int> lost_count{0};
std::uintptr_t page_bytes = 4096;
struct sigaction before {};

// Not for the handler.
std::mutex mutex;
std::array<std::string, kMappings> paths;

Mapping* mapping_of(std::uintptr_t address) {
  for (Mapping& mapping : mappings) {
    if (mapping.begin.load() <= address && address < mapping.end.load()) {
      return &mapping;
    }
  }
  return nullptr;
}

// Zeros instead of the file, from the page that is not there to the mapping's end.
bool replace(Mapping& mapping, std::uintptr_t address) {
  const std::uintptr_t page = address / page_bytes * page_bytes;
  void* const place = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr): as the kernel says it
  void* const zeros =
      ::mmap(place, mapping.end.load() - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (zeros == MAP_FAILED) {
    return false;
  }
  if (!mapping.lost.exchange(true)) {
    lost_count.fetch_add(1);
  }
  return true;
}

void handle(int /*signal*/, siginfo_t* what, void* /*context*/) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(what->si_addr);
  Mapping* const mapping = mapping_of(address);
  if (mapping == nullptr || !replace(*mapping, address)) {
    ::sigaction(SIGBUS, &before, nullptr);  // the access happens again, and ends as it would have
  }
  errno = error;
}

void install() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &before);
}

}  // namespace

void guard_mapping(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  static const bool installed = [] {
    install();
    return true;
  }();
  static_cast<void>(installed);
  const std::lock_guard lock(mutex);
  for (std::size_t n = 0; n < kMappings && !bytes.empty(); ++n) {
    if (mappings[n].begin.load() == 0) {
      paths[n] = path.string();
      mappings[n].lost = false;
      mappings[n].begin = reinterpret_cast<std::uintptr_t>(bytes.data());
      mappings[n].end = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size();
      return;
    }
  }
}

void unguard_mapping(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex);
  for (Mapping& mapping : mappings) {
    if (!bytes.empty() && mapping.begin.load() == reinterpret_cast<std::uintptr_t>(bytes.data())) {
      mapping.end = 0;
      mapping.begin = 0;
      lost_count -= mapping.lost.exchange(false) ? 1 : 0;
      return;
    }
  }
}

void release_mapping(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex);
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const Mapping* const mapping = mapping_of(begin);
  if (mapping == nullptr || begin + bytes.size() > mapping->end.load()) {
    return;
  }
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  const std::uintptr_t last = (begin + bytes.size()) / page_bytes * page_bytes;
  if (first < last) {
    void* const place = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr): as the kernel says it
    ::madvise(place, last - first, MADV_DONTNEED);
  }
}

std::optional<Error> lost_file() {
  if (lost_count.load() == 0) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex);
  for (std::size_t n = 0; n < kMappings; ++n) {
    if (mappings[n].lost.load()) {
      return bad_input("shrank, or could not be read, while it was in use: open it anew", paths[n]);
    }
  }
  return std::nullopt;
}

}  // namespace locus
