#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/system_files.h"

namespace locus {

namespace {

constexpr std::string_view kEnding = ".partial";

Error io_error(const std::filesystem::path& path, std::string_view what) {
  return bad_input(std::string(what) + ": " + std::strerror(errno), path.string());
}

// Removes a partial file that nobody has locked. Only the holder of its lock removes a file, so it is still that one.
void remove_unlocked(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return;
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && names_open_file(path, descriptor)) {
    ::unlink(path.c_str());
  }
  ::close(descriptor);
}

// A new file that this process has locked; −1 with errno, EEXIST where another writer has one of that name.
int open_locked(const std::filesystem::path& path) {
  remove_unlocked(path);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  // A file system without locks leaves abandoned files where they are; who cleans up may have been faster than flock().
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor);
    errno = EEXIST;
    return -1;
  }
  if (descriptor >= 0 && !names_open_file(path, descriptor)) {
    ::close(descriptor);
    errno = EEXIST;
    return -1;
  }
  return descriptor;
}

// Where a chain of symbolic links ends, whether or not there is a file.
Result<std::filesystem::path> link_target(const std::filesystem::path& path) {
  constexpr int kMaxLinks = 40;  // as the system allows
  std::filesystem::path target = path;
  std::error_code code;
  for (int n = 0; n < kMaxLinks; ++n) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(target, code))) {
      return target;
    }
    const std::filesystem::path next = std::filesystem::read_symlink(target, code);
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return bad_input("cannot write: expected a file or nothing, found links that lead to each other", path.string());
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor), registered_(temporary_) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      registered_(std::move(other.registered_)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);  // before the lock goes
    ::close(descriptor_);
  }
}

Status check_writable(const std::filesystem::path& path) {
  struct stat found {};
  const bool protects = ::stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
  return protects ? bad_input("cannot write: expected a file that may be written, found one that is read-only",
                              path.string())
                  : Status();
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& named) {
  LOCUS_TRY(const std::filesystem::path path, link_target(named));
  struct stat old {};
  const bool replaces = ::stat(path.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) {
    return bad_input("cannot write: expected a file or nothing, found " +
                         std::string(S_ISDIR(old.st_mode) ? "a folder" : "a device"),
                     path.string());
  }
  LOCUS_CHECK(check_writable(path));
  constexpr int kWriters = 100;  // of one name at a time
  int descriptor = -1;
  std::filesystem::path name;
  for (int n = 0; n < kWriters; ++n) {
    name = path;
    if (n > 0) {
      name.concat(".").concat(std::to_string(n));
    }
    name.concat(kEnding);
    descriptor = open_locked(name);
    if (descriptor >= 0 || errno != EEXIST) {
      break;
    }
  }
  if (descriptor < 0 || (replaces && ::fchmod(descriptor, old.st_mode & 07777) != 0)) {
    const Error error = io_error(path, "cannot write");
    if (descriptor >= 0) {
      ::unlink(name.c_str());
      ::close(descriptor);
    }
    return error;
  }
  return AtomicFile(path, name, descriptor);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return io_error(path_, "cannot write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text)));
}

Status AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) {
    return io_error(path_, "cannot write");
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return io_error(path_, "cannot replace");
  }
  registered_ = Unfinished();
  ::close(std::exchange(descriptor_, -1));
  return {};
}

void remove_abandoned(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().string().ends_with(kEnding)) {
      remove_unlocked(entry.path());
    }
  }
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  LOCUS_TRY(AtomicFile file, AtomicFile::create(path));
  LOCUS_CHECK(file.write(text));
  return file.commit();
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) {
    return bad_input("expected a file, found none", path.string());
  }
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code) {
    return bad_input("cannot read: " + code.message(), path.string());
  }
  if (size > limit_bytes) {
    return bad_input("expected at most " + std::to_string(limit_bytes) + " bytes, found " + std::to_string(size),
                     path.string());
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!stream) {
    return bad_input("cannot read", path.string());
  }
  return bytes;
}

}  // namespace locus
