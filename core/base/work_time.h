// WorkTime: how long work takes since this was made, without the pauses in which its thread does other work.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace locus {

class WorkTime {
 public:
  using Clock = std::chrono::steady_clock;

  WorkTime() = default;
  WorkTime(const WorkTime&) = delete;
  WorkTime& operator=(const WorkTime&) = delete;

  // The same pause, whose time does not count; none for none. It must not outlive this.
  std::function<void()> not_counting(std::function<void()> pause) {
    if (!pause) {
      return {};
    }
    return [this, pause = std::move(pause)] {
      const Clock::time_point from = Clock::now();
      pause();
      paused_ += Clock::now() - from;
    };
  }
  double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - begun_ - paused_).count(); }

 private:
  const Clock::time_point begun_ = Clock::now();
  Clock::duration paused_{};
};

}  // namespace locus
