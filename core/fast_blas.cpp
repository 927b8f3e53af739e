// Chooses OpenBLAS's kernels before it is loaded. An OpenBLAS older than the CPU it runs on does not know it and falls
// back to its SSE3 kernels: on an Emerald Rapids machine Debian 12's 0.3.21 runs a 1024³ product at 64 GFLOP/s, at 300
// with its AVX-512 kernels.
//
// OpenBLAS reads OPENBLAS_CORETYPE in its constructor, so main() is too late. Functions of .preinit_array run before
// the constructors of all shared libraries; there the program starts itself once more with the variable set (about 0.1
// s). Linked into every program that multiplies matrices, as an object, since no symbol of it is ever referenced.
#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <unistd.h>

#include <array>
#include <cstring>

namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE=";
std::array<char, 32> setting{"OPENBLAS_CORETYPE=SkylakeX"};
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
    std::strcpy(setting.data(), "OPENBLAS_CORETYPE=Haswell");
  }
  std::size_t count = 0;
  for (; envp[count] != nullptr; ++count) {
    if (std::strncmp(envp[count], kVariable, std::strlen(kVariable)) == 0 || count + 2 >= environment.size()) {
      return;  // already chosen, or an environment too large to copy
    }
    environment[count] = envp[count];
  }
  environment[count] = setting.data();
  environment[count + 1] = nullptr;
  ::execve("/proc/self/exe", argv, environment.data());  // returns only if it failed: then OpenBLAS chooses itself
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const choose_kernels_first)(int, char**, char**) = choose_kernels;

}  // namespace

#endif
