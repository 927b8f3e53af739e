#include "core/base/library_settings.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace locus {

namespace {

bool set_default(const char* name, const char* value) {
  return std::getenv(name) == nullptr && ::setenv(name, value, 0) == 0;
}

// Name of the kernels; null where OpenBLAS's own choice is as good.
const char* fastest_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return "Haswell";
  }
#endif
  return nullptr;
}

}  // namespace

bool set_library_defaults() {
  const char* const kernels = fastest_kernels();
  bool any = kernels != nullptr && set_default("OPENBLAS_CORETYPE", kernels);
  any = set_default("OPENBLAS_THREAD_TIMEOUT", "16") || any;  // 2^16 cycles
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    any = set_default("GOMP_SPINCOUNT", "1000") || any;  // pauses of 40 to 140 cycles each
  }
  return any;
}

void restart(char** argv) {
  std::error_code code;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", code);
  if (!code) {
    ::execv(program.c_str(), argv);
  }
}

}  // namespace locus
