// FrameTimes: durations of the latest frames.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace locus::workbench {

class FrameTimes {
 public:
  static constexpr std::size_t kMost = 120;

  void add(double ms);
  std::size_t size() const { return count_; }
  // Oldest first.
  std::vector<float> list() const;
  double latest() const;
  double median() const;
  double longest() const;

 private:
  std::array<float, kMost> times_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

}  // namespace locus::workbench
