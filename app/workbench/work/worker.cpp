#include "app/workbench/work/worker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "models/api/machine.h"

namespace locus::workbench {

namespace {

constexpr int kNiceness = 5;  // the window's thread goes first
constexpr std::chrono::milliseconds kProgressInterval{50};
constexpr std::size_t kKeptHistory = 100;
constexpr double kWorthListingMs = 300;  // of what is done

double since(Worker::Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Worker::Clock::now() - begun).count();
}

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
    stop_running([](const Running&) { return true; });
  }
  thread_.request_stop();
  thread_.join();
}

void Worker::stop_running(const std::function<bool(const Running&)>& which) {
  for (Running& each : running_) {
    if (which(each)) {
      each.stop.request_stop();
    }
  }
}

bool Worker::is_newest(const std::string& slot, std::uint64_t number) const {
  const auto newest = newest_.find(slot);
  return newest != newest_.end() && newest->second == number;
}

void Worker::forget(const std::string& slot) {
  std::erase_if(waiting_, [&](const Job& job) { return job.slot == slot; });
  std::erase_if(finished_, [&](const Finished& each) { return each.slot == slot; });
  stop_running([&](const Running& each) { return each.slot == slot; });
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
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto newest = newest_.find(slot);
    number = newest == newest_.end() ? 0 : newest->second;
  }
  cancel_job(number);
}

void Worker::cancel_job(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Job& job) { return job.number == number; });
    if (found != waiting_.end()) {
      finished_.push_back({found->number, found->slot, found->cancelled()});
      note(found->number, found->what, Listed::State::kCancelled, 0);
      waiting_.erase(found);
    }
    stop_running([&](const Running& each) { return each.number == number; });
  }
  wake_();
}

void Worker::cancel_all() {
  {
    const std::lock_guard lock(mutex_);
    for (const Job& job : waiting_) {
      finished_.push_back({job.number, job.slot, job.cancelled()});
      note(job.number, job.what, Listed::State::kCancelled, 0);
    }
    waiting_.clear();
    stop_running([](const Running&) { return true; });
  }
  wake_();
}

std::optional<Worker::Finished> Worker::take_finished(std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(finished_.begin(), finished_.end(), [&](const Finished& each) {
    return each.number <= last && is_newest(each.slot, each.number);
  });
  if (found == finished_.end()) {
    return std::nullopt;
  }
  Finished taken = std::move(*found);
  if (taken.last) {
    newest_.erase(taken.slot);
  }
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
  // The one that the others run within, which is what takes long.
  if (!running_.empty()) {
    const Running& first = running_.front();
    return {true, first.what, first.progress, since(first.started)};
  }
  const auto waiting = next();
  if (waiting == waiting_.end()) {
    return {};
  }
  return {true, waiting->what, {}, waiting->since ? since(*waiting->since) : 0};
}

std::vector<Worker::Listed> Worker::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Listed> all(history_.rbegin(), history_.rend());
  std::vector<Listed> now;
  for (const Running& each : running_) {
    now.push_back({each.number, each.what, Listed::State::kRunning, since(each.started), each.progress});
  }
  std::vector<const Job*> order;
  for (const Job& job : waiting_) {
    order.push_back(&job);
  }
  std::sort(order.begin(), order.end(), [](const Job* a, const Job* b) {
    return std::pair(a->priority, a->number) < std::pair(b->priority, b->number);
  });
  for (const Job* job : order) {
    now.push_back({job->number, job->what, Listed::State::kWaiting, 0, {}});
  }
  all.insert(all.begin(), now.begin(), now.end());
  std::erase_if(all, [](const Listed& each) { return each.what.empty(); });
  return all;
}

// Very short jobs are listed only if they failed or were stopped.
void Worker::note(std::uint64_t number, const std::string& what, Listed::State state, double elapsed_ms) {
  if (what.empty() || (state == Listed::State::kDone && elapsed_ms < kWorthListingMs)) {
    return;
  }
  history_.push_back({number, what, state, elapsed_ms, {}});
  if (history_.size() > kKeptHistory) {
    history_.erase(history_.begin());
  }
}

bool Worker::idle() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && finished_.empty() && running_.empty();
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

Worker::Job Worker::take_next() {
  const auto found = waiting_.begin() + (next() - waiting_.cbegin());
  Job job = std::move(*found);
  waiting_.erase(found);
  running_.push_back({job.number, job.priority, job.slot, job.what, {}, job.since.value_or(Clock::now()), {}});
  return job;
}

std::optional<Worker::Job> Worker::take(const StopToken& closing) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, closing, [this] { return !waiting_.empty(); }) || closing.stop_requested()) {
    return std::nullopt;
  }
  return take_next();
}

void Worker::rest() {
  while (true) {
    std::optional<Job> urgent;
    {
      const std::lock_guard lock(mutex_);
      const auto waiting = next();
      if (running_.empty() || running_.back().stop.stop_requested() || waiting == waiting_.end() ||
          waiting->priority >= running_.back().priority) {
        return;
      }
      urgent = take_next();
    }
    run(*urgent);
  }
}

void Worker::tell(std::function<void()> news) {
  {
    const std::lock_guard lock(mutex_);
    if (!running_.empty() && is_newest(running_.back().slot, running_.back().number)) {
      finished_.push_back({running_.back().number, running_.back().slot, std::move(news), false});
    }
  }
  wake_();
}

void Worker::run(const Job& job) {
  StopToken stop;
  {
    const std::lock_guard lock(mutex_);
    stop = running_.back().stop.get_token();
  }
  auto last = Clock::time_point();
  const Progress progress = [this, number = job.number, &last](const ProgressReport& news) {
    {
      const std::lock_guard lock(mutex_);
      for (Running& each : running_) {
        each.progress = each.number == number ? news : each.progress;
      }
    }
    if (const auto now = Clock::now(); now - last >= kProgressInterval) {
      last = now;
      wake_();
    }
  };
  const models::StopsWaiting stops_waiting(stop);
  finish(job, job.work(stop, progress));
}

void Worker::finish(const Job& job, Ended ended) {
  {
    const std::lock_guard lock(mutex_);
    const double elapsed_ms = since(running_.back().started);
    running_.pop_back();
    if (is_newest(job.slot, job.number)) {  // otherwise another has taken its place
      note(job.number, job.what, ended.state, elapsed_ms);
      finished_.push_back({job.number, job.slot, std::move(ended.deliver)});
    }
  }
  wake_();
}

}  // namespace locus::workbench
