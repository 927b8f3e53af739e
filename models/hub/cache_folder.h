// One model's folder of Hugging Face's cache: models--ORG--NAME with blobs/ETAG (content), snapshots/COMMIT/FILE (links
// to blobs) and refs/REVISION (a commit); locks in .locks/models--ORG--NAME/ETAG.lock, compatible with Hugging Face's
// own tools.
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
  // Does not create the folder.
  CacheFolder(std::filesystem::path cache, const formats::HubName& name);

  std::filesystem::path blob(const std::string& etag) const { return model_ / "blobs" / etag; }
  std::filesystem::path partial(const std::string& etag) const { return model_ / "blobs" / (etag + ".incomplete"); }
  std::filesystem::path snapshot(const std::string& commit) const { return model_ / "snapshots" / commit; }
  std::filesystem::path lock(const std::string& etag) const { return cache_ / locks_ / (etag + ".lock"); }
  const std::filesystem::path& model() const { return model_; }

  // Bytes present of a file of a snapshot: all of them where its blob, or a file in place of its link, has `bytes`;
  // else those of its unfinished blob.
  std::int64_t present(const std::string& commit, const std::string& file, const std::string& etag,
                       std::int64_t bytes) const;

  // Creates the folders for a download. Errors: kBadInput where one cannot be created, or is a link.
  Status make(const std::string& commit) const;
  // Creates snapshots/COMMIT/FILE → ../../blobs/ETAG, replacing an existing link. Errors: kBadInput where the file
  // system has no links, or where something else than a link or a complete file has that name.
  Status link(const std::string& commit, const std::string& file, const std::string& etag, std::int64_t bytes) const;
  // Writes refs/REVISION, replacing an existing link, unless the revision is the commit itself.
  Status set_ref(const std::string& revision, const std::string& commit) const;

 private:
  std::filesystem::path cache_;
  std::filesystem::path model_;
  std::filesystem::path locks_;  // below the cache
};

// Holds a lock file among the processes of this machine; without effect on file systems without locks.
class DownloadLock {
 public:
  // Waits for other holders; `waiting` is called once before. Errors: kCancelled; kBadInput where the file cannot be
  // opened.
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
