// Memory in pages of 2 MiB, for numbers that are read once for every token. Files are mapped in pages of 4 KiB, and a
// product that reads each number once waits while the processor looks up where these pages lie.
#pragma once

#include <cstddef>
#include <memory>

namespace locus {

class LargePages {
 public:
  // Whether the system gives large pages to those who ask (Linux: transparent huge pages that are not off).
  static bool are_offered();

  // So many bytes at a multiple of 64, not yet written, which live as long as the pointer. They lie behind those given
  // before, where these leave room. Null where the system has no memory left.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  std::shared_ptr<std::byte> chunk_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

}  // namespace locus
