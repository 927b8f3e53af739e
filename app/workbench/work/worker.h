// Worker: the one thread that opens checkpoints, runs models and computes figures, so that the window never waits.
//
// Vocabulary: a *job* belongs to a *slot* ("run text-rope", "figure"); a newer job of a slot replaces the older one,
// whether that waits, runs or has finished without being delivered. Waiting jobs run by priority, then in the order of
// their submission. Work sees only what was moved into it; drain() delivers its result as a value, on the calling
// thread.
//
// A long job pauses between its parts: waiting jobs of a more urgent priority run there, inside its call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::workbench {

// Most urgent first: hovering, the visible figure, a forward pass, exact computation.
enum class Priority { kPreview, kTile, kForward, kExact };

class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  // `wake` is called from any thread when drain() or state() have news; it must not call back.
  explicit Worker(std::function<void()> wake);
  ~Worker();  // stops the running job and waits for it
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs `work` on the worker; `done` receives its result on the thread that calls drain(), unless a newer job of the
  // slot was submitted. Exceptions of `work` become errors: out of memory kTooLarge, others kInternal. `since`:
  // beginning of the work that this job is a step of.
  template <class T>
  void submit(Priority priority, std::string slot, std::string what,
              std::function<Result<T>(StopToken, const Progress&)> work, std::function<void(Result<T>)> done,
              std::optional<Clock::time_point> since = std::nullopt);

  // Ends the slot's job with kCancelled, delivered like any result.
  void cancel(const std::string& slot);
  void cancel_all();
  // Stops the slot's job without delivering anything.
  void drop(const std::string& slot);

  // Runs waiting jobs that are more urgent than the calling one. Call it from work, on the worker.
  void rest();

  // Delivers `news` before the result of the calling job, unless that is replaced. Call it from work, on the worker.
  void tell(std::function<void()> news);

  // Delivers finished results in order, except those replaced or dropped by an earlier delivery. Returns their number.
  // Call it from one thread only.
  int drain();

  // The running or next job, for the status bar.
  struct State {
    bool busy = false;
    std::string what;
    ProgressReport progress;
    double elapsed_ms = 0;
  };
  State state() const;

  // The running job, the waiting ones in the order of their execution, and the last hundred that ended. Jobs without a
  // name ("") are not listed.
  struct Listed {
    enum class State { kWaiting, kRunning, kDone, kFailed, kCancelled };
    std::uint64_t number = 0;
    std::string what;
    State state = State::kWaiting;
    double elapsed_ms = 0;  // since the beginning of the work that it is a step of; 0: it waits
    ProgressReport progress;
  };
  std::vector<Listed> list() const;
  // Like cancel(slot), for that job alone.
  void cancel_job(std::uint64_t number);
  // Whether nothing waits, runs, or is finished and undelivered.
  bool idle() const;

 private:
  using Deliver = std::function<void()>;
  struct Ended {
    Deliver deliver;
    Listed::State state = Listed::State::kDone;
  };
  struct Job {
    Priority priority = Priority::kForward;
    std::uint64_t number = 0;
    std::string slot;
    std::string what;
    std::function<Ended(StopToken, const Progress&)> work;
    std::function<Deliver()> cancelled;
    std::optional<Clock::time_point> since;
  };
  struct Finished {
    std::uint64_t number = 0;
    std::string slot;
    Deliver deliver;
    bool last = true;  // of the job
  };
  // A running job; those after it in the list run inside it, while it pauses.
  struct Running {
    std::uint64_t number = 0;
    Priority priority = Priority::kForward;
    std::string slot;
    std::string what;
    ProgressReport progress;
    Clock::time_point started;
    std::stop_source stop;
  };
  void enqueue(Job job);
  void loop(const StopToken& closing);
  std::optional<Job> take(const StopToken& closing);
  Job take_next();                                // with mutex_ held; one waits
  std::vector<Job>::const_iterator next() const;  // with mutex_ held
  void run(const Job& job);
  void finish(const Job& job, Ended ended);
  void note(std::uint64_t number, const std::string& what, Listed::State state, double elapsed_ms);  // with mutex_ held
  // The next result to deliver, of jobs up to number `last`.
  std::optional<Finished> take_finished(std::uint64_t last);
  // With mutex_ held:
  void forget(const std::string& slot);
  void stop_running(const std::function<bool(const Running&)>& which);
  bool is_newest(const std::string& slot, std::uint64_t number) const;

  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Job> waiting_;
  std::vector<Finished> finished_;
  std::map<std::string, std::uint64_t> newest_;  // slot → number of its newest job
  std::uint64_t count_ = 0;
  std::vector<Running> running_;
  std::vector<Listed> history_;  // oldest first
  std::jthread thread_;          // last: started when everything above exists
};

// Converts the exception of a job into an error; call it in a catch block.
Error error_of_current_exception();

template <class T>
void Worker::submit(Priority priority, std::string slot, std::string what,
                    std::function<Result<T>(StopToken, const Progress&)> work, std::function<void(Result<T>)> done,
                    std::optional<Clock::time_point> since) {
  auto handler = std::make_shared<std::function<void(Result<T>)>>(std::move(done));
  Job job;
  job.priority = priority;
  job.slot = std::move(slot);
  job.what = std::move(what);
  job.since = since;
  job.work = [work = std::move(work), handler](StopToken stop, const Progress& progress) -> Ended {
    auto result = std::make_shared<std::optional<Result<T>>>();
    try {
      result->emplace(work(std::move(stop), progress));
    } catch (...) {
      result->emplace(error_of_current_exception());
    }
    const Result<T>& made = **result;
    const auto state = made.ok()                                    ? Listed::State::kDone
                       : made.error().code == ErrorCode::kCancelled ? Listed::State::kCancelled
                                                                    : Listed::State::kFailed;
    return {[result, handler] { (*handler)(std::move(**result)); }, state};
  };
  job.cancelled = [handler]() -> Deliver { return [handler] { (*handler)(Result<T>(locus::cancelled())); }; };
  enqueue(std::move(job));
}

}  // namespace locus::workbench
