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

// The first one marks a program that was started so; the others are left as they are where somebody has set them.
using Setting = std::array<char, 32>;
std::array<Setting, 3> settings{Setting{"OPENBLAS_CORETYPE=SkylakeX"},
                                Setting{"OPENBLAS_THREAD_TIMEOUT=16"},  // 2^16 cycles
                                Setting{"OMP_WAIT_POLICY=passive"}};
std::array<char*, 1024> environment;

void choose_kernels(int /*argc*/, char** argv, char** envp) {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx512 && !avx2) {
    return;
  }
  if (!avx512) {
    std::strcpy(settings[0].data(), "OPENBLAS_CORETYPE=Haswell");
  }
  std::size_t count = 0;
  std::array<bool, settings.size()> there{};
  for (; envp[count] != nullptr; ++count) {
    for (std::size_t n = 0; n < settings.size(); ++n) {
      const auto name = static_cast<std::size_t>(std::strchr(settings[n].data(), '=') - settings[n].data()) + 1;
      there[n] = there[n] || std::strncmp(envp[count], settings[n].data(), name) == 0;
    }
    if (there[0] || count + settings.size() + 1 >= environment.size()) {
      return;  // already chosen, or an environment too large to copy
    }
    environment[count] = envp[count];
  }
  for (std::size_t n = 0; n < settings.size(); ++n) {
    if (!there[n]) {
      environment[count++] = settings[n].data();
    }
  }
  environment[count] = nullptr;
  ::execve("/proc/self/exe", argv, environment.data());  // returns only if it failed: then OpenBLAS chooses itself
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const choose_kernels_first)(int, char**, char**) = choose_kernels;

}  // namespace

#endif
