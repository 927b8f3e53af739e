// A folder of an unpredictable name among the system's temporary files, readable and writable by its user alone, and
// removed by its destructor.
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
