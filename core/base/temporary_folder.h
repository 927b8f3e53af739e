// A folder of an unpredictable name among the system's temporary files, which nobody else reads or writes, and which
// goes with its owner.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/base/unfinished.h"

namespace locus {

class TemporaryFolder {
 public:
  // Errors: kBadInput where none can be made.
  static Result<TemporaryFolder> make();

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path);

  std::filesystem::path path_;
  Unfinished registered_;
};

}  // namespace locus
