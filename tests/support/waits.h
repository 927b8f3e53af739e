// How long tests wait: as long as a slow machine may need; waits end as soon as what they wait for is there.
#pragma once

namespace locus::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSlower = 10;  // what is computed under a sanitizer
#else
constexpr int kSlower = 1;
#endif
constexpr int kLimitMs = 150'000 * kSlower;  // of any one wait: plain kernels beside other work take 60 s for a figure

}  // namespace locus::test
