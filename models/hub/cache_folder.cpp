#include "models/hub/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/atomic_file.h"

namespace locus::hub {

namespace {

namespace fs = std::filesystem;

// Size of the file at the end of a path's links; −1 where there is none.
std::int64_t bytes_at(const fs::path& path) {
  std::error_code code;
  const bool file = fs::is_regular_file(path, code);
  const std::uintmax_t bytes = file ? fs::file_size(path, code) : 0;
  return file && !code ? static_cast<std::int64_t>(bytes) : -1;
}

// Creates a folder below `base`, part by part: none may be a link, which could lead elsewhere. The cache itself and a
// model's folder may be links chosen by the user.
Status make_folder(const fs::path& base, const fs::path& below) {
  std::error_code code;
  fs::create_directories(base, code);
  fs::path folder = base;
  for (const fs::path& part : below) {
    folder /= part;
    if (!code && fs::is_symlink(fs::symlink_status(folder, code))) {
      return bad_input("expected a folder or nothing, found a link", folder.string());
    }
    code.clear();
    fs::create_directory(folder, code);
    if (code) {
      break;
    }
  }
  return code ? Status(bad_input("cannot make the folder: " + code.message(), folder.string())) : Status();
}

}  // namespace

CacheFolder::CacheFolder(fs::path cache, const formats::HubName& name)
    : cache_(std::move(cache)), model_(cache_ / name.folder()), locks_(fs::path(".locks") / name.folder()) {}

std::int64_t CacheFolder::present(const std::string& commit, const std::string& file, const std::string& etag,
                                  std::int64_t bytes) const {
  std::error_code code;
  const fs::path own = snapshot(commit) / file;  // the file itself, where a file system has no links
  if (bytes_at(blob(etag)) == bytes || (!fs::is_symlink(own, code) && bytes_at(own) == bytes)) {
    return bytes;
  }
  const std::int64_t kept = bytes_at(partial(etag));
  return kept > 0 && kept <= bytes ? kept : 0;
}

Status CacheFolder::make(const std::string& commit) const {
  LOCUS_CHECK(make_folder(cache_, locks_));
  LOCUS_CHECK(make_folder(model_, "blobs"));
  LOCUS_CHECK(make_folder(model_, "refs"));
  return make_folder(model_, fs::path("snapshots") / commit);
}

Status CacheFolder::link(const std::string& commit, const std::string& file, const std::string& etag,
                         std::int64_t bytes) const {
  const fs::path path = snapshot(commit) / file;
  const fs::path below = fs::path(file).parent_path();  // of a file in a folder of a module
  if (!below.empty()) {
    LOCUS_CHECK(make_folder(snapshot(commit), below));
  }
  std::error_code code;
  const fs::file_status there = fs::symlink_status(path, code);
  if (fs::exists(there) && !fs::is_symlink(there)) {
    return bytes_at(path) == bytes ? Status()
                                   : bad_input("expected a link or nothing, found something else", path.string());
  }
  // Created under another name and renamed, so that readers find the old link or the new one.
  const fs::path made = path.parent_path() / ("." + etag + "." + std::to_string(::getpid()) + ".link");
  fs::remove(made, code);
  fs::path target = "../../blobs";
  for (auto part = below.begin(); part != below.end(); ++part) {
    target = ".." / target;
  }
  fs::create_symlink(target / etag, made, code);
  if (code) {
    return bad_input("cannot make a link: " + code.message(), path.string());
  }
  fs::rename(made, path, code);
  if (code) {
    std::error_code ignored;
    fs::remove(made, ignored);
    return bad_input("cannot make a link: " + code.message(), path.string());
  }
  return {};
}

Status CacheFolder::set_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit) {
    return {};
  }
  const fs::path name = fs::path("refs") / revision;
  LOCUS_CHECK(make_folder(model_, name.parent_path()));
  const fs::path ref = model_ / name;
  std::error_code code;
  if (fs::is_symlink(fs::symlink_status(ref, code))) {
    fs::remove(ref, code);  // removes the link, never its target
  }
  return write_file(ref, commit);
}

DownloadLock::DownloadLock(DownloadLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

DownloadLock::~DownloadLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);  // the file stays: another process may wait for it
  }
}

Result<DownloadLock> DownloadLock::take(const fs::path& file, const StopToken& stop,
                                        const std::function<void()>& waiting) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor < 0) {
    return bad_input("cannot be locked: " + std::string(std::strerror(errno)), file.string());
  }
  DownloadLock lock(descriptor);
  bool told = false;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    if (!std::exchange(told, true) && waiting) {
      waiting();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lock;
}

}  // namespace locus::hub
