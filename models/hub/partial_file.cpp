#include "models/hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace locus::hub {

namespace {

Error failed(const std::filesystem::path& path, const std::string& what) {
  return bad_input(what + ": " + std::strerror(errno), path.string());
}

}  // namespace

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      summed_(other.summed_),
      size_(other.size_),
      sum_(other.sum_) {}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<PartialFile> PartialFile::open(const std::filesystem::path& path, bool summed, std::int64_t limit,
                                      const StopToken& stop) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor < 0) {
    return errno == ELOOP ? bad_input("expected a file or nothing, found a link", path.string())
                          : failed(path, "cannot write");
  }
  PartialFile file(path, descriptor, summed);
  struct stat state {};
  if (::fstat(descriptor, &state) != 0 || !S_ISREG(state.st_mode)) {
    return bad_input("expected a file or nothing, found a device or a folder", path.string());
  }
  file.size_ = static_cast<std::int64_t>(state.st_size);
  if (file.size_ > limit) {
    LOCUS_CHECK(file.clear());
  }
  LOCUS_CHECK(file.read_sum(stop));
  return file;
}

Status PartialFile::read_sum(const StopToken& stop) {
  std::vector<char> buffer(std::size_t{1} << 20);
  std::int64_t read = 0;
  while (summed_ && read < size_) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const ssize_t count = ::pread(descriptor_, buffer.data(), buffer.size(), read);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return failed(path_, "cannot read");
    }
    sum_.add({buffer.data(), static_cast<std::size_t>(count)});
    read += count;
  }
  return {};
}

Status PartialFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), size_);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return failed(path_, "cannot write");
    }
    const auto written = static_cast<std::size_t>(count);
    if (summed_) {
      sum_.add(bytes.substr(0, written));
    }
    size_ += count;
    bytes.remove_prefix(written);
  }
  return {};
}

Status PartialFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0) {
    return failed(path_, "cannot write");
  }
  size_ = 0;
  sum_ = Sha256();
  return {};
}

std::string PartialFile::sum() const {
  Sha256 whole = sum_;
  return whole.finish();
}

Status PartialFile::finish(const std::filesystem::path& path) {
  if (::fsync(descriptor_) != 0) {
    return failed(path_, "cannot write");
  }
  return ::rename(path_.c_str(), path.c_str()) == 0 ? Status() : failed(path, "cannot replace");
}

}  // namespace locus::hub
