// Loads the engine's library.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/address_space.h"
#include "core/base/unfinished.h"
#include "models/api/engine.h"

namespace locus::models {

namespace {

constexpr int kBadInput = 3;  // exit statuses (core/base/result.h)
constexpr int kTooLarge = 5;

// Ends the program: the caller waits for a function that does not exist. No unfinished file stays.
[[noreturn]] void fail(const std::string& why, int status) {
  remove_unfinished();
  std::fflush(stdout);
  std::fprintf(stderr, "locus: error: LibTorch cannot be loaded: %s\n", why.c_str());
  std::_Exit(status);
}

[[noreturn]] void fail_to_load() {
  const char* const message = dlerror();
  const std::string why = message != nullptr ? message : "no reason given";
  const auto contains = [&](std::string_view part) { return why.find(part) != std::string::npos; };
  const bool limit = contains("failed to map") || contains("annot allocate") || contains("Too many open files");
  fail(why, limit ? kTooLarge : kBadInput);
}

// ---- a limited address space

constexpr std::size_t kLibraries = std::size_t{700} << 20;  // LibTorch and what it needs
constexpr std::size_t kBuffer = std::size_t{136} << 20;     // OpenBLAS: one for each of its threads and of the callers'

// Number of threads that there is room for, each with one of OpenBLAS's beside it; 0: too little for one.
int threads_that_fit() {
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  while (threads > 0 && !could_map(kLibraries + 2 * kBuffer * static_cast<std::size_t>(threads))) {
    --threads;
  }
  return threads;
}

// Bounds OpenBLAS's threads before it is loaded, when it starts them; each takes a buffer.
int limit_threads() {
  const int threads = threads_that_fit();
  if (threads == 0) {
    fail("not enough memory: it takes about " + std::to_string((kLibraries + 2 * kBuffer) >> 20) +
             " MB of addresses, which are limited (ulimit -v)",
         kTooLarge);
  }
  ::setenv("OPENBLAS_NUM_THREADS", std::to_string(threads).c_str(), 1);
  return threads;
}

// Makes OpenBLAS take the buffers of `threads` callers now, while there is room: it keeps them. Returns how many it
// took.
int reserve_buffers(void* library, int threads) {
  auto* const take = reinterpret_cast<void* (*)(int)>(dlsym(library, "blas_memory_alloc"));
  auto* const give = reinterpret_cast<void (*)(void*)>(dlsym(library, "blas_memory_free"));
  if (take == nullptr || give == nullptr) {
    return threads;  // another library
  }
  std::vector<void*> taken;
  while (static_cast<int>(taken.size()) < threads && could_map(kBuffer)) {
    taken.push_back(take(0));
  }
  std::for_each(taken.begin(), taken.end(), give);
  if (taken.empty()) {
    fail("not enough memory for the buffers of matrix products", kTooLarge);
  }
  return static_cast<int>(taken.size());
}

// ---- the library

struct State {
  std::mutex mutex;  // of what follows
  int threads = 0;   // asked for by set_threads(); 0: not yet
  int fitting = 0;   // the most that a limited address space has room for; 0: any number
  std::once_flag once;
  std::atomic<const Engine*> engine{nullptr};
};

State& state() {
  static State state;
  return state;
}

void apply_threads(State& all, const Engine& engine) {
  if (all.threads > 0) {
    engine.set_threads(all.fitting > 0 ? std::min(all.threads, all.fitting) : all.threads);
  } else if (all.fitting > 0) {
    engine.set_threads(all.fitting);
  }
}

// The library beside this one.
std::string engine_path() {
  Dl_info own{};
  const bool known = dladdr(reinterpret_cast<const void*>(&engine_path), &own) != 0 && own.dli_fname != nullptr;
  const std::string path = known ? own.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1) + "liblocus_engine.so";
}

// Loads the library by its path, as sanitizers' dlopen() passes over this library's run path. Its symbols and LibTorch's
// stay its own: those of LibTorch would replace functions of the same names in graphics drivers.
void load() {
  State& all = state();
  const bool limited = address_space_is_limited();
  int fitting = limited ? limit_threads() : 0;
  ::setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0);  // FFmpeg's reports on damaged videos become errors, not output
  void* const library = dlopen(engine_path().c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    fail_to_load();
  }
  if (limited) {
    fitting = reserve_buffers(library, fitting);
  }
  auto* const table = reinterpret_cast<const Engine* (*)()>(dlsym(library, "locus_engine"));
  if (table == nullptr) {
    fail_to_load();
  }
  const Engine* const engine = table();
  const std::lock_guard lock(all.mutex);
  all.fitting = fitting;
  apply_threads(all, *engine);
  all.engine = engine;
}

}  // namespace

const Engine& engine() {
  State& all = state();
  std::call_once(all.once, load);
  return *all.engine;
}

bool engine_is_loaded() {
  return state().engine != nullptr;
}

void set_threads(int threads) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.threads = bounded_threads(threads);
  if (const Engine* const engine = all.engine; engine != nullptr) {
    apply_threads(all, *engine);
  }
}

}  // namespace locus::models
