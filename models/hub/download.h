// download(): one file from the hub into the cache.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/hub/cache_folder.h"
#include "models/hub/http.h"
#include "models/hub/settings.h"

namespace locus::hub {

// A file as the hub describes it: the name of its blob is its etag, which is the SHA-256 of a large file.
struct RemoteFile {
  std::string name;
  std::string url;
  std::string etag;
  std::int64_t bytes = 0;

  bool has_sum() const;  // the etag is a SHA-256
};

// Parses and checks the headers. Errors: kBadInput where the size or the etag is missing or invalid, or where the file
// belongs to another commit; refusal() for other answers.
Result<RemoteFile> describe_file(const std::string& name, const std::string& url, const std::string& commit,
                                 const Response& answer);

// The reason of a refused request: in words for 401, 403, 404 and 429, else its status.
Error refusal(const Response& answer, const std::string& what);

// True where the same request may succeed later: a broken connection, a server that is busy.
bool may_come_back(const Response& answer);

// Limit for repeated attempts without progress: at most settings.patience_s, the last attempt included.
class Patience {
 public:
  explicit Patience(const HubSettings& settings) : settings_(settings) {}
  void begin() { begun_ = Clock::now(); }  // there was progress
  // True if another attempt, which may wait for settings.stall_s, would exceed the limit.
  bool ends() const { return Clock::now() - begun_ > std::chrono::seconds(settings_.patience_s - settings_.stall_s); }

 private:
  using Clock = std::chrono::steady_clock;
  const HubSettings& settings_;
  Clock::time_point begun_ = Clock::now();
};

// Waits before attempt `n` (1, 2, …); true if the stop was requested meanwhile.
bool pause(const HubSettings& settings, int n, const StopToken& stop);

using BytesThere = std::function<void(std::int64_t bytes)>;

// Fetches the missing bytes of a blob, checks its size and, where its etag is one, its SHA-256, and only then gives it
// its name. If two processes fetch it, the second waits. A broken transfer continues where it broke. Errors: kCancelled
// and errors of the disk, after which the fetched part is kept for the next time; kBadInput for a server that reports
// another size than before, sends more than announced, or other content, which is removed.
Status download(Connection& connection, const HubSettings& settings, const CacheFolder& folder, const RemoteFile& file,
                const StopToken& stop, const BytesThere& there, const std::function<void()>& waiting);

}  // namespace locus::hub
