// Heartbeat: detects lost processes of a job by counters that each process keeps in the job's shared store.
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

namespace locus::models::processes {

// The operations on the store; all may throw when it is gone.
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
    std::chrono::milliseconds limit{20'000};   // time without a beat after which a process counts as lost
    std::chrono::milliseconds suspect{3'000};  // the same after a connection broke
  };

  // Starts at once, on its own thread. Rank 0 watches all others and publishes a lost rank; the others watch rank 0.
  Heartbeat(BeatStore store, Options options);
  // Signs off, so that the others do not report this process as lost.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  StopToken lost() const { return source_.get_token(); }
  // "rank 2 on node7 ended or was not heard of for 20 s"; empty while all processes are alive.
  std::string reason() const;
  // Called after a connection broke: looks for silent processes now instead of after `limit`. Waits until one is found,
  // at most as long as that takes.
  void suspect(const std::string& why);
  // Reports that this process cannot continue; the others stop.
  void fail(const std::string& why);
  // Waits until all others have signed off, at most `most`.
  void wait_for_others(std::chrono::milliseconds most);

 private:
  using Clock = std::chrono::steady_clock;
  struct Other {
    std::int64_t rank = 0;
    std::string beat;
    Clock::time_point heard;
    bool gone = false;  // signed off
  };

  void watch();
  // Sends one beat and checks the others.
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

}  // namespace locus::models::processes
