// Loads LibTorch for the functions that cmake/lazy_torch.sh writes, the first time one of them is called.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/address_space.h"
#include "core/base/unfinished.h"

extern "C" {

// By the script: names of LibTorch's functions, and where they are, or at first what loads them.
extern const char* const locus_torch_names[];
extern void* locus_torch_functions[];
extern const std::size_t locus_torch_count;

void locus_load_torch();
bool locus_torch_is_loaded();
int locus_torch_threads();
void locus_when_torch_is_loaded(void (*call)());
}

namespace {

std::once_flag once;
std::atomic<bool> loaded{false};
std::mutex waiting_mutex;
void (*waiting)() = nullptr;

constexpr int kBadInput = 3;  // as exit statuses say (core/base/result.h)
constexpr int kTooLarge = 5;

// The caller waits for a function that is not there: the program cannot go on. Nothing unfinished stays.
[[noreturn]] void fail(const std::string& why, int status) {
  locus::remove_unfinished();
  std::fflush(stdout);
  std::fprintf(stderr, "locus: error: LibTorch cannot be loaded: %s\n", why.c_str());
  std::_Exit(status);
}

// What the loader says of it: too little memory and too many open files are limits of the process.
[[noreturn]] void fail_to_load() {
  const char* const said = dlerror();
  const std::string why = said != nullptr ? said : "no reason given";
  const auto says = [&](std::string_view part) { return why.find(part) != std::string::npos; };
  const bool limit = says("failed to map") || says("annot allocate") || says("Too many open files");
  fail(why, limit ? kTooLarge : kBadInput);
}

// ---- where addresses are limited

constexpr std::size_t kLibraries = std::size_t{700} << 20;  // LibTorch and what it needs
constexpr std::size_t kBuffer = std::size_t{136} << 20;  // of OpenBLAS: each of its threads, and of ours that multiply
std::atomic<int> fitting{0};                             // threads; 0: as many as there are cores

// How many threads there is room for: each has one of OpenBLAS's beside it. None: too little for one.
int threads_that_fit() {
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  while (threads > 0 && !locus::could_map(kLibraries + 2 * kBuffer * static_cast<std::size_t>(threads))) {
    --threads;
  }
  return threads;
}

// OpenBLAS starts its threads as it is loaded; each takes a buffer.
void limit_threads() {
  fitting = threads_that_fit();
  if (fitting == 0) {
    fail("not enough memory: it takes about " + std::to_string((kLibraries + 2 * kBuffer) >> 20) +
             " MB of addresses, which are limited (ulimit -v)",
         kTooLarge);
  }
  ::setenv("OPENBLAS_NUM_THREADS", std::to_string(fitting).c_str(), 1);
}

// Makes OpenBLAS take the buffers of our threads now, while they are there: it keeps them.
void reserve_buffers() {
  auto* const take = reinterpret_cast<void* (*)(int)>(dlsym(RTLD_DEFAULT, "blas_memory_alloc"));
  auto* const give = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "blas_memory_free"));
  if (take == nullptr || give == nullptr) {
    return;  // another library
  }
  std::vector<void*> taken;
  while (static_cast<int>(taken.size()) < fitting && locus::could_map(kBuffer)) {
    taken.push_back(take(0));
  }
  std::for_each(taken.begin(), taken.end(), give);
  fitting = static_cast<int>(taken.size());
  if (taken.empty()) {
    fail("not enough memory for the buffers of matrix products", kTooLarge);
  }
}

// Beside the program; LibTorch is what it needs. Its functions are for all, as OpenBLAS's are looked for by name.
void* open_library() {
  std::error_code code;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", code).parent_path();
  void* const library = dlopen((folder / "liblocus_gradients.so").c_str(), RTLD_LAZY | RTLD_GLOBAL);
  return library != nullptr ? library : (fail_to_load(), nullptr);
}

void load() {
  const bool limited = locus::address_space_is_limited();
  if (limited) {
    limit_threads();
  }
  void* const library = open_library();
  if (limited) {
    reserve_buffers();
  }
  for (std::size_t n = 0; n < locus_torch_count; ++n) {
    void* const function = dlsym(library, locus_torch_names[n]);
    locus_torch_functions[n] = function != nullptr ? function : (fail_to_load(), nullptr);
  }
  void (*call)() = nullptr;
  {
    const std::lock_guard lock(waiting_mutex);
    loaded = true;
    call = waiting;
  }
  if (call != nullptr) {
    call();
  }
}

}  // namespace

void locus_load_torch() {
  std::call_once(once, load);
}

bool locus_torch_is_loaded() {
  return loaded;
}

int locus_torch_threads() {
  return fitting;
}

void locus_when_torch_is_loaded(void (*call)()) {
  {
    const std::lock_guard lock(waiting_mutex);
    if (!loaded) {
      waiting = call;
      return;
    }
  }
  call();
}
