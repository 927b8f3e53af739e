// One model's folder of Hugging Face's cache, as it is written: models--ORG--NAME with blobs/ETAG (content),
// snapshots/COMMIT/FILE (links to blobs) and refs/REVISION (a commit); locks in .locks/models--ORG--NAME/ETAG.lock, as
// Hugging Face's own tools take them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/formats/hub_name.h"

namespace locus::hub {

class CacheFolder {
 public:
  // No folder is made yet.
  CacheFolder(std::filesystem::path cache, const formats::HubName& name);

  std::filesystem::path blob(const std::string& etag) const { return model_ / "blobs" / etag; }
  std::filesystem::path partial(const std::string& etag) const { return model_ / "blobs" / (etag + ".incomplete"); }
  std::filesystem::path snapshot(const std::string& commit) const { return model_ / "snapshots" / commit; }
  std::filesystem::path lock(const std::string& etag) const { return cache_ / locks_ / (etag + ".lock"); }
  const std::filesystem::path& model() const { return model_; }

  // Bytes of a file of a snapshot that are there: all of them where its blob, or a file in place of its link, has
  // `bytes`; else those of its unfinished blob.
  std::int64_t present(const std::string& commit, const std::string& file, const std::string& etag,
                       std::int64_t bytes) const;

  // The folders that a download writes into. Errors: kBadInput where one cannot be made, or is a link.
  Status make(const std::string& commit) const;
  // snapshots/COMMIT/FILE → ../../blobs/ETAG, in place of a link that is there. Errors: kBadInput where the file system
  // has no links, or something else than a link to a whole file has that name.
  Status link(const std::string& commit, const std::string& file, const std::string& etag, std::int64_t bytes) const;
  // refs/REVISION, in place of a link that is there, unless the revision is the commit itself.
  Status set_ref(const std::string& revision, const std::string& commit) const;

 private:
  std::filesystem::path cache_;
  std::filesystem::path model_;
  std::filesystem::path locks_;  // below the cache
};

// Holds a lock file, among the processes of this machine that take the same one; on file systems without locks,
// nothing.
class DownloadLock {
 public:
  // Waits for other holders; `waiting` is called once before it does. Errors: kCancelled; kBadInput where the file
  // cannot be opened.
  static Result<DownloadLock> take(const std::filesystem::path& file, const StopToken& stop,
                                   const std::function<void()>& waiting);

  DownloadLock(DownloadLock&& other) noexcept;
  DownloadLock& operator=(DownloadLock&&) = delete;
  ~DownloadLock();

 private:
  explicit DownloadLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace locus::hub
