// Writing files so that a crash or a full disk never destroys what was there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unfinished.h"

namespace locus {

// A file written beside its final name, as NAME.partial, and moved into place by commit(); without commit() nothing
// changes on disk. It has the mode of the file that it replaces, a new one what the umask leaves. The partial file is
// locked while it is written: one whose writer was killed is removed by the next write to that name. A symbolic link
// stays: what it leads to is replaced.
class AtomicFile {
 public:
  // Errors: kBadInput when the folder cannot be written, or the path is a device, a folder, or a file that is
  // read-only.
  static Result<AtomicFile> create(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // Flushes to the disk, then renames over the final name.
  Status commit();
  // Where the bytes go until commit().
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  Unfinished registered_;
};

// Errors: kBadInput for a file that nobody may write. Its mode alone counts: an administrator, who could write it
// anyway, protected it too.
Status check_writable(const std::filesystem::path& path);

// Removes the partial files in a folder whose writers are gone.
void remove_abandoned(const std::filesystem::path& folder);

// The whole of a small text file at once.
Status write_file(const std::filesystem::path& path, std::string_view text);

// The whole file as bytes. Errors: kBadInput when missing, unreadable or longer than `limit_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes);

}  // namespace locus
