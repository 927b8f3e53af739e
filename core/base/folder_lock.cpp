#include "core/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/base/system_files.h"

namespace locus {

namespace {

Error cannot_lock(const std::filesystem::path& path) {
  return bad_input("cannot be locked: " + std::string(std::strerror(errno)), path.string());
}

Error not_a_file(const std::filesystem::path& path, const std::string& found) {
  return bad_input("expected a lock file or nothing, found " + found, path.string());
}

// "process 4711 on HOST since 2024-05-01 12:00:00 UTC: locus train text"
std::string holder(const std::string& work) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> since{};
  std::strftime(since.data(), since.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return "process " + std::to_string(::getpid()) + " on " + host.data() + " since " + since.data() + ": " + work;
}

std::string read_holder(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string words(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return words.empty() ? "a process that has just started" : words;
}

bool write_holder(int descriptor, const std::string& words) {
  return ::ftruncate(descriptor, 0) == 0 &&
         ::pwrite(descriptor, words.data(), words.size(), 0) == static_cast<ssize_t>(words.size());
}

}  // namespace

FolderLock::FolderLock(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) {
    ::unlink(path_.c_str());  // before the lock goes
    ::close(descriptor_);
  }
}

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder, const std::string& name,
                                    const std::string& work) {
  const std::filesystem::path path = folder / name;
  constexpr int kTries = 100;  // of a file that others keep removing
  for (int n = 0; n < kTries; ++n) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor < 0) {
      return errno == ELOOP ? not_a_file(path, "a symbolic link") : cannot_lock(path);
    }
    struct stat state {};
    if (::fstat(descriptor, &state) == 0 && !S_ISREG(state.st_mode)) {
      ::close(descriptor);
      return not_a_file(path, "a device or a pipe");
    }
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const Error error =
          errno != EWOULDBLOCK
              ? cannot_lock(path)
              : bad_input("expected a folder that nobody else writes, found it held by " + read_holder(descriptor),
                          folder.string());
      ::close(descriptor);
      return error;
    }
    if (names_open_file(path, descriptor)) {
      FolderLock lock(path, descriptor);
      if (!write_holder(descriptor, holder(work))) {
        return cannot_lock(path);
      }
      return lock;
    }
    ::close(descriptor);
  }
  return bad_input("cannot be locked: it is replaced all the time", path.string());
}

}  // namespace locus
