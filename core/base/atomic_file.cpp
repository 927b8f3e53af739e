#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace locus {

namespace {

Error io_error(const std::filesystem::path& path, std::string_view what) {
  return bad_input(std::string(what) + ": " + std::strerror(errno), path.string());
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  std::string name = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return io_error(path, "cannot write");
  }
  ::fchmod(descriptor, 0644);
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
  ::close(std::exchange(descriptor_, -1));
  return {};
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
