// download(): one file of the hub into the cache.
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

// A file as the hub describes it: its blob's name is its etag, which is the SHA-256 of a large one.
struct RemoteFile {
  std::string name;
  std::string url;
  std::string etag;
  std::int64_t bytes = 0;

  bool has_sum() const;  // whether the etag is a SHA-256
};

// What stands in headers, checked. Errors: kBadInput where the size or the etag is missing, or cannot be a size or the
// name of a file; where the file is of another commit; and as refusal() says for other answers.
Result<RemoteFile> describe_file(const std::string& name, const std::string& url, const std::string& commit,
                                 const Response& answer);

// Why the hub did not answer with what was asked for: in words for 401, 403, 404 and 429, else its status.
Error refusal(const Response& answer, const std::string& what);

// Whether the same request may be answered later: a broken line, a server that is busy.
bool may_come_back(const Response& answer);

// How long tries go on without progress: no longer than settings.patience_s, the last of them included.
class Patience {
 public:
  explicit Patience(const HubSettings& settings) : settings_(settings) {}
  void begin() { begun_ = Clock::now(); }  // there was progress
  // Whether another try, which may wait for settings.stall_s, would be too much.
  bool ends() const { return Clock::now() - begun_ > std::chrono::seconds(settings_.patience_s - settings_.stall_s); }

 private:
  using Clock = std::chrono::steady_clock;
  const HubSettings& settings_;
  Clock::time_point begun_ = Clock::now();
};

// Waits before try number `n` (1, 2, …); whether the stop came meanwhile.
bool pause(const HubSettings& settings, int n, const StopToken& stop);

using BytesThere = std::function<void(std::int64_t bytes)>;

// Fetches the missing bytes of a blob, checks its size and, where its etag is one, its SHA-256, and only then gives it
// its name. Two processes fetch it once: the second waits. A broken line is tried again from where it broke. Errors:
// kCancelled and those of the disk, after which what was fetched stays for the next time; kBadInput for a server that
// says another size than before, sends more than it said, or another content: that is removed.
Status download(Connection& connection, const HubSettings& settings, const CacheFolder& folder, const RemoteFile& file,
                const StopToken& stop, const BytesThere& there, const std::function<void()>& waiting);

}  // namespace locus::hub
