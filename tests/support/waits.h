// Time in tests. Waits are as long as a slow machine may need, and end as soon as their condition holds; work that must be quick is
// measured by its CPU time, which other load of the machine hardly changes.
#pragma once

#include <ctime>

namespace locus::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSlower = 10;  // what is computed under a sanitizer
#else
constexpr int kSlower = 1;
#endif
// CPU time of this thread, in milliseconds.
inline double thread_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// The longest wait for one condition. It ends tests that hang: beside four busy programs, two cores may need three minutes for a figure.
constexpr int kLimitMs = 600'000 * kSlower;

}  // namespace locus::test
