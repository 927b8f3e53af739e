#include "models/experiments/at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "models/engine/threads.h"

namespace locus::models {

namespace {

// State that several threads share while they take one part after the other.
class Parts {
 public:
  Parts(std::size_t count, const std::function<Status(std::size_t)>& part) : count_(count), part_(part) {}

  // Takes parts until none is left. `progress` may be empty.
  void work(const Progress& progress) {
    while (!failed_) {
      const std::size_t n = next_++;
      if (n >= count_) {
        return;
      }
      report(progress, static_cast<double>(done_) / static_cast<double>(count_), "");
      take(n);
      ++done_;
    }
  }

  Status result() {
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
    return failures_.empty() ? Status() : failures_.begin()->second;
  }

 private:
  void take(std::size_t n) {
    try {
      if (const Status status = part_(n); !status.ok()) {
        const std::lock_guard lock(mutex_);
        failures_.emplace(n, status.error());
        failed_ = true;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      thrown_ = std::current_exception();
      failed_ = true;
    }
  }

  const std::size_t count_;
  const std::function<Status(std::size_t)>& part_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::map<std::size_t, Error> failures_;
  std::exception_ptr thrown_;
};

}  // namespace

int runs_at_once(const Model& model, std::int64_t length, const RunOptions& options, std::size_t parts) {
  const int threads = product_threads();
  if (threads < 2 || parts < static_cast<std::size_t>(threads)) {
    return 1;
  }
  const Estimate one = model.estimate(length, options);
  const double fitting = one.available_mb > 0 && one.memory_mb > 0 ? one.available_mb / one.memory_mb : threads;
  const int at_once = static_cast<int>(std::min<double>(threads, fitting));
  return 2 * at_once > threads ? at_once : 1;  // half of the threads, or fewer, are better used together
}

Status each_at_once(std::size_t parts, int at_once, const std::function<Status(std::size_t)>& part,
                    const Progress& progress) {
  Parts shared(parts, part);
  if (at_once < 2) {
    shared.work(progress);
    return shared.result();
  }
  {
    std::vector<std::jthread> others;
    others.reserve(static_cast<std::size_t>(at_once));
    try {
      for (int n = 1; n < at_once; ++n) {
        others.emplace_back([&shared] {
          const OneThread one;
          shared.work({});
        });
      }
    } catch (const std::system_error&) {
      // The machine has no thread left to give: those that run take all parts.
    }
    const OneThread one;
    shared.work(progress);
  }
  return shared.result();
}

}  // namespace locus::models
