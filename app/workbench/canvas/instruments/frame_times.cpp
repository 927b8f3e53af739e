#include "app/workbench/canvas/instruments/frame_times.h"

#include <algorithm>

namespace locus::workbench {

void FrameTimes::add(double ms) {
  times_[next_] = static_cast<float>(ms);
  next_ = (next_ + 1) % kMost;
  count_ = std::min(count_ + 1, kMost);
}

std::vector<float> FrameTimes::list() const {
  std::vector<float> all;
  all.reserve(count_);
  const std::size_t first = count_ < kMost ? 0 : next_;
  for (std::size_t n = 0; n < count_; ++n) {
    all.push_back(times_[(first + n) % kMost]);
  }
  return all;
}

double FrameTimes::latest() const {
  return count_ == 0 ? 0 : static_cast<double>(times_[(next_ + kMost - 1) % kMost]);
}

double FrameTimes::median() const {
  std::vector<float> all = list();
  if (all.empty()) {
    return 0;
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return static_cast<double>(*middle);
}

double FrameTimes::longest() const {
  const std::vector<float> all = list();
  return all.empty() ? 0 : static_cast<double>(*std::max_element(all.begin(), all.end()));
}

}  // namespace locus::workbench
