// Heartbeat: whether all processes of a job are alive, by counters that each keeps in the store they met in.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/progress.h"

namespace locus::models::group {

// What a heartbeat needs of a store; all may throw where it is gone.
struct BeatStore {
  std::function<void(const std::string& key, const std::string& value)> set;
  std::function<std::string(const std::string& key)> get;  // empty where there is none
};

class Heartbeat {
 public:
  struct Options {
    std::int64_t rank = 0;
    std::int64_t size = 1;
    std::string host;
    std::chrono::milliseconds pause{500};
    std::chrono::milliseconds limit{20'000};   // without a beat: the process is lost
    std::chrono::milliseconds suspect{3'000};  // the same once some connection broke
  };

  // Begins at once, on a thread of its own. Rank 0 watches all others and tells them whom it lost; they watch rank 0.
  Heartbeat(BeatStore store, Options options);
  // Says goodbye: the others do not miss this process.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  StopToken lost() const { return source_.get_token(); }
  // "rank 2 on node7 ended or was not heard of for 20 s"; empty while all are there.
  std::string reason() const;
  // A connection broke: look for who is silent now, not only after `limit`. Waits until someone is found, at most as
  // long as that takes.
  void suspect(const std::string& why);
  // This process cannot go on: the others are told, and stop.
  void fail(const std::string& why);
  // Waits until all others said goodbye, at most `most`.
  void wait_for_others(std::chrono::milliseconds most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Other {
    std::int64_t rank = 0;
    std::string beat;
    Clock::time_point heard;
    bool gone = false;  // said goodbye
  };

  void watch();
  // One beat and a look at the others.
  void beat();
  void look_at(Other& other);
  void lose(const std::string& reason);

  BeatStore store_;
  Options options_;
  std::vector<Other> others_;
  std::int64_t count_ = 0;
  Clock::time_point reached_;  // when the store last answered
  std::atomic<bool> suspects_{false};
  std::atomic<bool> stops_{false};
  std::atomic<bool> all_gone_{false};
  std::stop_source source_;
  mutable std::mutex mutex_;
  std::string reason_;
  std::thread thread_;
};

}  // namespace locus::models::group
