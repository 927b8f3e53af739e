// InputFiles: the files that a command reads, none of which it may write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace locus {

// Files by device and inode, links followed, so that no other name of a file hides it.
class InputFiles {
 public:
  // A file; nothing where there is none, and for what is no regular file.
  void add(const std::filesystem::path& file);

  bool has(const std::filesystem::path& file) const;
  // Errors: kUsage for a file among them; `what` begins the message: "--out".
  Status check(const std::filesystem::path& output, const std::string& what) const;

 private:
  std::set<std::pair<std::uint64_t, std::uint64_t>> files_;
};

}  // namespace locus
