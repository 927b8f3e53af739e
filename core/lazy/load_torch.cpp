// Loads LibTorch for the functions that cmake/lazy_torch.sh writes, the first time one of them is called.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>

extern "C" {

// By the script: names of LibTorch's functions, and where they are, or at first what loads them.
extern const char* const locus_torch_names[];
extern void* locus_torch_functions[];
extern const std::size_t locus_torch_count;

void locus_load_torch();
bool locus_torch_is_loaded();
void locus_when_torch_is_loaded(void (*call)());
}

namespace {

std::once_flag once;
std::atomic<bool> loaded{false};
std::mutex waiting_mutex;
void (*waiting)() = nullptr;

// The caller waits for a function that is not there: the program cannot go on.
[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "locus: error: LibTorch cannot be loaded: %s\n", why != nullptr ? why : "no reason given");
  std::_Exit(1);
}

// Beside the program; LibTorch is what it needs. Its functions are for all, as OpenBLAS's are looked for by name.
void* open_library() {
  std::error_code code;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", code).parent_path();
  void* const library = dlopen((folder / "liblocus_gradients.so").c_str(), RTLD_LAZY | RTLD_GLOBAL);
  return library != nullptr ? library : (fail(dlerror()), nullptr);
}

void load() {
  void* const library = open_library();
  for (std::size_t n = 0; n < locus_torch_count; ++n) {
    void* const function = dlsym(library, locus_torch_names[n]);
    locus_torch_functions[n] = function != nullptr ? function : (fail(dlerror()), nullptr);
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
