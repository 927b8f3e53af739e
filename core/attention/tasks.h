// Independent tasks of unequal length on all threads of ATen's pool: each thread takes the next one when it is done.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {

// work(task, scratch) for every task below `count`, in ascending order as threads become free; each thread makes one
// Scratch. Errors: kCancelled, looked for before each task.
template <class Scratch, class Work>
Status run_tasks(std::int64_t count, const StopToken& stop, const Work& work) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t threads = count > 1 ? at::get_num_threads() : 1;
  at::parallel_for(0, threads, 1, [&](std::int64_t /*begin*/, std::int64_t /*end*/) {
    Scratch scratch;
    for (std::int64_t task = next++; task < count && !stop.stop_requested(); task = next++) {
      work(task, scratch);
    }
  });
  return stop.stop_requested() ? Status(cancelled()) : Status();
}

}  // namespace locus::attention
