// Independent tasks of unequal length on all threads of ATen's pool: each thread takes the next one when it is done.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {

// work(task, scratch) for every task below `count`, in ascending order as threads become free; each thread makes one
// Scratch. Errors: kCancelled, looked for before each task.
template <class Scratch, class Work>
Status run_tasks(std::int64_t count, const StopToken& stop, const Work& work) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t threads = count > 1 ? at::get_num_threads() : 1;
  const auto take_tasks = [&] {
    Scratch scratch;
    for (std::int64_t task = next++; task < count && !stop.stop_requested(); task = next++) {
      work(task, scratch);
    }
  };
#if defined(__SANITIZE_THREAD__)
  // Threads that the sanitizer sees begin and end; those of GNU's OpenMP it does not.
  std::vector<std::jthread> others;
  for (std::int64_t n = 1; n < threads; ++n) {
    others.emplace_back(take_tasks);
  }
  take_tasks();
  others.clear();
#else
  at::parallel_for(0, threads, 1, [&](std::int64_t /*begin*/, std::int64_t /*end*/) { take_tasks(); });
#endif
  return stop.stop_requested() ? Status(cancelled()) : Status();
}

}  // namespace locus::attention
