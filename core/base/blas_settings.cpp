#include "core/base/blas_settings.h"

#include <cstdlib>

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

bool set_blas_defaults() {
  const char* const kernels = fastest_kernels();
  bool any = kernels != nullptr && set_default("OPENBLAS_CORETYPE", kernels);
  return set_default("OPENBLAS_THREAD_TIMEOUT", "16") || any;  // 2^16 cycles
}

}  // namespace locus
