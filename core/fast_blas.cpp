// Chooses OpenBLAS's kernels, and how threads wait for work, before OpenBLAS and OpenMP are loaded. An OpenBLAS older
// than the CPU it runs on does not know it and falls back to its SSE3 kernels: on an Emerald Rapids machine Debian 12's
// 0.3.21 runs a 1024³ product at 64 GFLOP/s, at 300 with its AVX-512 kernels. ATen's threads are OpenMP's, OpenBLAS has
// its own: by default both spin for milliseconds after their work on the cores that the other needs next, and a forward
// pass of GPT-2 small takes 1.5 times as long on two cores.
//
// Both read the environment in their constructors, so main() is too late. Functions of .preinit_array run before the
// constructors of all shared libraries; there the program starts itself once more with the variables set (about 0.1
// s). Linked into every program that multiplies matrices, as an object, since no symbol of it is ever referenced.
#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <unistd.h>

#include <array>
#include <cstring>

namespace {

// What is set unless somebody has set it.
using Setting = std::array<char, 32>;
std::array<Setting, 3> settings{Setting{"OPENBLAS_CORETYPE=SkylakeX"},
                                Setting{"OPENBLAS_THREAD_TIMEOUT=16"},  // 2^16 cycles
                                Setting{"OMP_WAIT_POLICY=passive"}};
std::array<char*, 1024> environment;

// The first setting, by what this CPU has; empty where OpenBLAS's own choice is as good.
void choose_kernels() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx512) {
    std::strcpy(settings[0].data(), avx2 ? "OPENBLAS_CORETYPE=Haswell" : "");
  }
}

bool is_set(const Setting& setting, char** envp) {
  const char* const equals = std::strchr(setting.data(), '=');
  const auto name = equals == nullptr ? 0 : static_cast<std::size_t>(equals - setting.data()) + 1;
  for (; name > 0 && *envp != nullptr; ++envp) {
    if (std::strncmp(*envp, setting.data(), name) == 0) {
      return true;
    }
  }
  return name == 0;
}

// Starts the program once more, unless everything is set already: then it is that second start, or needs none.
void start_with_settings(int /*argc*/, char** argv, char** envp) {
  choose_kernels();
  std::size_t count = 0;
  for (; envp[count] != nullptr; ++count) {
    if (count + settings.size() + 1 >= environment.size()) {
      return;  // too large to copy
    }
    environment[count] = envp[count];
  }
  const std::size_t before = count;
  for (Setting& setting : settings) {
    if (!is_set(setting, envp)) {
      environment[count++] = setting.data();
    }
  }
  if (count == before) {
    return;
  }
  environment[count] = nullptr;
  ::execve("/proc/self/exe", argv, environment.data());  // returns only if it failed: then the libraries choose
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const start_first)(int, char**, char**) = start_with_settings;

}  // namespace

#endif
