// Unfinished: paths that a process keeps on the disk for a while: files that are being written, temporary folders. Their owners remove
// them; where the process ends without its destructors, remove_unfinished() does.
#pragma once

#include <filesystem>

namespace locus {

// Registers a path while it lives. Safe to use from any thread.
class Unfinished {
 public:
  Unfinished() = default;  // of nothing
  explicit Unfinished(std::filesystem::path path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished();

 private:
  std::filesystem::path path_;
};

// Removes all that is registered, folders with what is in them: right before the process ends.
void remove_unfinished();

}  // namespace locus
