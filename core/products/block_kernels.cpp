#include "core/products/block_kernels.h"

#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace locus::products {

namespace block_kernels {

namespace plain {
#define LOCUS_WIDTH 4
#include "core/products/block_kernels.inc"
#undef LOCUS_WIDTH
}  // namespace plain

#if defined(LOCUS_VECTOR_TARGETS)
namespace avx2 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#define LOCUS_WIDTH 8
#include "core/products/block_kernels.inc"
#undef LOCUS_WIDTH
#pragma GCC pop_options
}  // namespace avx2
namespace avx512 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512")
#define LOCUS_WIDTH 16
#include "core/products/block_kernels.inc"
#undef LOCUS_WIDTH
#pragma GCC pop_options
}  // namespace avx512
#endif

}  // namespace block_kernels

BlockDot block_dot(const blocks::Format& format, std::int64_t version) {
#if defined(LOCUS_VECTOR_TARGETS)
  return version == 2   ? block_kernels::avx512::dot_of(format.name)
         : version == 1 ? block_kernels::avx2::dot_of(format.name)
                        : block_kernels::plain::dot_of(format.name);
#else
  return version == 0 ? block_kernels::plain::dot_of(format.name) : nullptr;
#endif
}

void sum_groups(const float* x, std::int64_t inputs, float* sums) {
  for (std::int64_t group = 0; group < inputs / 16; ++group) {
    float sum = 0;
    for (std::int64_t n = 0; n < 16; ++n) {
      sum += x[16 * group + n];
    }
    sums[group] = sum;
  }
}

}  // namespace locus::products
