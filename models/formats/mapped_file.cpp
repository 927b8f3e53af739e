#include "models/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

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
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED) {
    return bad_input(std::string("cannot map: ") + strerror(errno), path.string());
  }
  const std::span bytes{static_cast<const std::byte*>(address), size};
  guard_mapping(bytes, path);
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    unguard_mapping(bytes_);
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace locus::formats
