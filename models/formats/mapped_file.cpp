#include "models/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "core/base/mapping_guard.h"

namespace locus::formats {

namespace {

// Closes a descriptor at the end of the scope: a mapping outlives it.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) {
      ::close(number);
    }
  }
};

// What tells a file from others, and from itself after a change: device, number, size, time of the last change.
using Identity = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;
Identity identity_of(const struct stat& state) {
  return {state.st_dev, state.st_ino, state.st_size, state.st_mtim.tv_sec, state.st_mtim.tv_nsec};
}

struct OpenFiles {
  std::mutex mutex;
  std::map<Identity, std::weak_ptr<const MappedFile>> files;
};
OpenFiles& open_files() {
  static OpenFiles open;
  return open;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer; it is refused below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) {
    return bad_input(errno == ENOENT ? "expected a file, found none" : std::string("cannot read: ") + strerror(errno),
                     path.string());
  }
  struct stat state {};
  if (::fstat(file.number, &state) != 0) {
    return bad_input(std::string("cannot read: ") + strerror(errno), path.string());
  }
  if (!S_ISREG(state.st_mode)) {
    return bad_input("expected a file, found a folder or a device", path.string());
  }
  const auto size = static_cast<std::size_t>(state.st_size);
  if (size == 0) {
    return std::shared_ptr<const MappedFile>(new MappedFile({}));
  }
  OpenFiles& open = open_files();
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.files, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<const MappedFile>& known = open.files[identity_of(state)];
  if (std::shared_ptr<const MappedFile> same = known.lock()) {
    return same;
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED) {
    return bad_input(std::string("cannot map: ") + strerror(errno), path.string());
  }
  const std::span bytes{static_cast<const std::byte*>(address), size};
  guard_mapping(bytes, path);
  std::shared_ptr<const MappedFile> mapped(new MappedFile(bytes));
  known = mapped;
  return mapped;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    unguard_mapping(bytes_);
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace locus::formats
