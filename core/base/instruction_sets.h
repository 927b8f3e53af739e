// Loops that are compiled for several instruction sets: plain, AVX2, AVX-512. Which of the versions this CPU can run.
#pragma once

#include <cstdint>

// Whether this compiler makes all three versions of a file; otherwise there is the plain one alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LOCUS_VECTOR_TARGETS 1
#endif

namespace locus {

// How many, from the plain one on: 2 with AVX2, FMA, BMI2 and F16C, 3 with AVX-512 F, BW, DQ, VL and CD as well.
inline std::int64_t runnable_versions() {
#if defined(LOCUS_VECTOR_TARGETS)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  return avx512 ? 3 : avx2 ? 2 : 1;
#else
  return 1;
#endif
}

}  // namespace locus
