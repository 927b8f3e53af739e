// One writer a folder: a lock file that names who holds it.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace locus {

// Held until it is destroyed, or the process ends in whatever way: the file that a killed process leaves holds nothing.
class FolderLock {
 public:
  // Takes FOLDER/NAME and writes who holds it: the process, the machine, the time and `work` ("locus train text …").
  // Errors: kBadInput with the holder's words where another process, or another lock of this one, holds it, or where
  // the folder cannot be written.
  static Result<FolderLock> take(const std::filesystem::path& folder, const std::string& name, const std::string& work);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  FolderLock(std::filesystem::path path, int descriptor);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace locus
