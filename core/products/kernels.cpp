#include "core/products/kernels.h"

#include <cstddef>
#include <cstring>
#include <iterator>

#include "core/products/matrix_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace locus::products {

namespace {

namespace plain {
#define LOCUS_WIDTH 4
#define LOCUS_ROWS 4
#include "core/products/kernels.inc"
#undef LOCUS_ROWS
#undef LOCUS_WIDTH
}  // namespace plain

#if defined(LOCUS_VECTOR_TARGETS)
namespace avx2 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#define LOCUS_WIDTH 8
#define LOCUS_ROWS 6
#include "core/products/kernels.inc"
#undef LOCUS_ROWS
#undef LOCUS_WIDTH
#pragma GCC pop_options
}  // namespace avx2
namespace avx512 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512")
#define LOCUS_WIDTH 16
#define LOCUS_ROWS 12
#include "core/products/kernels.inc"
#undef LOCUS_ROWS
#undef LOCUS_WIDTH
#pragma GCC pop_options
}  // namespace avx512
#endif

constexpr std::array kVersions {
  &plain::kKernels,
#if defined(LOCUS_VECTOR_TARGETS)
      &avx2::kKernels, &avx512::kKernels,
#endif
};

}  // namespace

const Kernels& kernels(std::int64_t version, bool tiles) {
  static const Kernels with_tiles = [] {
    Kernels made = *kVersions.back();
    made.tiles = matrix_tiles();
    return made;
  }();
  return tiles && version + 1 == std::ssize(kVersions) ? with_tiles : *kVersions[static_cast<std::size_t>(version)];
}

}  // namespace locus::products
