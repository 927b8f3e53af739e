#include "core/base/large_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace locus {

namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kChunk = std::size_t{64} << 20;  // only what is written takes memory
constexpr std::size_t kLine = 64;

std::size_t up_to(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// A mapping that begins at a large page. Null where there is no memory.
std::shared_ptr<std::byte> map_pages(std::size_t size) {
  const std::size_t whole = size + kPage;
  void* const address = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return nullptr;
  }
  auto* const begin = static_cast<std::byte*>(address);
  const std::shared_ptr<std::byte> owner(begin, [whole](std::byte* mapped) { ::munmap(mapped, whole); });
  std::byte* const first = begin + (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
#ifdef MADV_HUGEPAGE
  ::madvise(first, size, MADV_HUGEPAGE);  // where it fails, pages are small
#endif
  return {owner, first};
}

}  // namespace

bool LargePages::are_offered() {
  static const bool offered = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string choices;  // "always [madvise] never"
    return std::getline(file, choices) && choices.find("[never]") == std::string::npos;
  }();
  return offered;
}

std::shared_ptr<std::byte> LargePages::take(std::size_t bytes) {
  const std::size_t wanted = up_to(bytes, kLine);
  if (wanted > size_ - used_) {
    const std::size_t size = std::max(up_to(wanted, kPage), kChunk);
    std::shared_ptr<std::byte> chunk = map_pages(size);
    if (!chunk) {
      return nullptr;
    }
    chunk_ = std::move(chunk);
    size_ = size;
    used_ = 0;
  }
  std::byte* const place = chunk_.get() + used_;
  used_ += wanted;
  return {chunk_, place};
}

}  // namespace locus
