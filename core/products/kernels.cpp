#include "core/products/kernels.h"

#include <cstddef>
#include <cstring>
#include <iterator>

#include "core/products/group_step.h"
#include "core/products/integer_tiles.h"
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
// By the names of kernels.inc.
#include "core/products/integer_tiles.inc"
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
// By the names of kernels.inc.
#include "core/products/integer_tiles.inc"
#undef LOCUS_ROWS
#undef LOCUS_WIDTH
#pragma GCC pop_options
}  // namespace avx512
namespace avx512_vnni {
#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni,prefer-vector-width=512")
using namespace avx512;
#define LOCUS_WIDTH 16
#define LOCUS_VNNI 1
#include "core/products/integer_tiles.inc"
#undef LOCUS_VNNI
#undef LOCUS_WIDTH
#pragma GCC pop_options
}  // namespace avx512_vnni
#endif

constexpr std::array kVersions {
  &plain::kKernels,
#if defined(LOCUS_VECTOR_TARGETS)
      &avx2::kKernels, &avx512::kKernels,
#endif
};

}  // namespace

const IntegerTiles* integer_tiles(std::int64_t version, bool pair_products) {
#if defined(LOCUS_VECTOR_TARGETS)
  return version == 2 && pair_products ? &avx512_vnni::kIntegerTiles
         : version == 2                ? &avx512::kIntegerTiles
         : version == 1                ? &avx2::kIntegerTiles
                                       : nullptr;
#else
  (void)version;
  (void)pair_products;
  return nullptr;
#endif
}

const Kernels& kernels(std::int64_t version, bool tiles) {
  // By version, and those with tiles.
  static const auto all = [] {
    std::array<Kernels, kVersions.size() + 1> made{};
    for (std::size_t n = 0; n < kVersions.size(); ++n) {
      made.at(n) = *kVersions.at(n);
      made.at(n).integers = integer_tiles(static_cast<std::int64_t>(n));
    }
    made.back() = made.at(kVersions.size() - 1);
    made.back().tiles = matrix_tiles();
    return made;
  }();
  return tiles && version + 1 == std::ssize(kVersions) ? all.back() : all[static_cast<std::size_t>(version)];
}

}  // namespace locus::products
