#include "app/workbench/worker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace locus::workbench {

namespace {

constexpr int kNiceness = 5;  // the window's thread goes first
constexpr std::chrono::milliseconds kProgressInterval{50};

}  // namespace

Error error_of_current_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory");
  } catch (const std::exception& error) {
    return internal(error.what());
  } catch (...) {
    return internal("an unknown exception");
  }
}

Worker::Worker(std::function<void()> wake)
    : wake_(std::move(wake)), thread_([this](const StopToken& closing) { loop(closing); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    running_stop_.request_stop();
  }
  thread_.request_stop();
  thread_.join();
}

void Worker::forget(const std::string& slot) {
  std::erase_if(waiting_, [&](const Job& job) { return job.slot == slot; });
  std::erase_if(finished_, [&](const Finished& each) { return each.slot == slot; });
  if (running_number_ != 0 && running_slot_ == slot) {
    running_stop_.request_stop();
  }
}

void Worker::enqueue(Job job) {
  {
    const std::lock_guard lock(mutex_);
    forget(job.slot);
    job.number = ++count_;
    newest_[job.slot] = job.number;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Worker::drop(const std::string& slot) {
  const std::lock_guard lock(mutex_);
  forget(slot);
  newest_.erase(slot);
}

void Worker::cancel(const std::string& slot) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Job& job) { return job.slot == slot; });
    if (found != waiting_.end()) {
      finished_.push_back({found->number, found->slot, found->cancelled()});
      waiting_.erase(found);
    }
    if (running_number_ != 0 && running_slot_ == slot) {
      running_stop_.request_stop();
    }
  }
  wake_();
}

void Worker::cancel_all() {
  {
    const std::lock_guard lock(mutex_);
    for (const Job& job : waiting_) {
      finished_.push_back({job.number, job.slot, job.cancelled()});
    }
    waiting_.clear();
    running_stop_.request_stop();
  }
  wake_();
}

std::optional<Worker::Finished> Worker::take_finished(std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(finished_.begin(), finished_.end(), [&](const Finished& each) {
    const auto newest = newest_.find(each.slot);
    return each.number <= last && newest != newest_.end() && newest->second == each.number;
  });
  if (found == finished_.end()) {
    return std::nullopt;
  }
  Finished taken = std::move(*found);
  newest_.erase(taken.slot);
  finished_.erase(found);
  return taken;
}

int Worker::drain() {
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    last = count_;
  }
  // One at a time: what a delivery submits or drops makes results that wait behind it stale.
  int delivered = 0;
  while (const auto finished = take_finished(last)) {
    finished->deliver();
    ++delivered;
  }
  return delivered;
}

Worker::State Worker::state() const {
  const std::lock_guard lock(mutex_);
  State state = state_;
  std::optional<Clock::time_point> began = state.busy ? std::optional(started_) : std::nullopt;
  if (const auto waiting = next(); !state.busy && waiting != waiting_.end()) {
    state = {true, waiting->what, {}, 0};
    began = waiting->since;
  }
  if (began) {
    state.elapsed_ms = std::chrono::duration<double, std::milli>(Clock::now() - *began).count();
  }
  return state;
}

bool Worker::idle() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && finished_.empty() && running_number_ == 0;
}

void Worker::loop(const StopToken& closing) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  while (auto job = take(closing)) {
    run(*job);
  }
}

std::vector<Worker::Job>::const_iterator Worker::next() const {
  return std::min_element(waiting_.begin(), waiting_.end(), [](const Job& a, const Job& b) {
    return std::pair(a.priority, a.number) < std::pair(b.priority, b.number);
  });
}

std::optional<Worker::Job> Worker::take(const StopToken& closing) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, closing, [this] { return !waiting_.empty(); }) || closing.stop_requested()) {
    return std::nullopt;
  }
  const auto found = waiting_.begin() + (next() - waiting_.cbegin());
  Job job = std::move(*found);
  waiting_.erase(found);
  running_slot_ = job.slot;
  running_number_ = job.number;
  running_stop_ = std::stop_source();
  started_ = job.since.value_or(Clock::now());
  state_ = {true, job.what, {}, 0};
  return job;
}

void Worker::run(const Job& job) {
  StopToken stop;
  {
    const std::lock_guard lock(mutex_);
    stop = running_stop_.get_token();
  }
  auto last = Clock::time_point();
  const Progress progress = [this, &last](const ProgressReport& news) {
    {
      const std::lock_guard lock(mutex_);
      state_.progress = news;
    }
    if (const auto now = Clock::now(); now - last >= kProgressInterval) {
      last = now;
      wake_();
    }
  };
  Deliver deliver = job.work(stop, progress);
  finish(job, std::move(deliver));
}

void Worker::finish(const Job& job, Deliver deliver) {
  {
    const std::lock_guard lock(mutex_);
    running_number_ = 0;
    running_slot_.clear();
    state_ = {};
    const auto newest = newest_.find(job.slot);
    if (newest != newest_.end() && newest->second == job.number) {
      finished_.push_back({job.number, job.slot, std::move(deliver)});
    }
  }
  wake_();
}

}  // namespace locus::workbench
