#include "core/attention/lane_kernels.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace locus::attention {

namespace {

namespace plain {
#define LOCUS_LANE_WIDTH 4
#include "core/attention/lane_kernels.inc"
#undef LOCUS_LANE_WIDTH
}  // namespace plain

#if defined(LOCUS_VECTOR_TARGETS)
namespace avx2 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#define LOCUS_LANE_WIDTH 8
#include "core/attention/lane_kernels.inc"
#undef LOCUS_LANE_WIDTH
#pragma GCC pop_options
}  // namespace avx2
namespace avx512 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512")
#define LOCUS_LANE_WIDTH 16
#include "core/attention/lane_kernels.inc"
#undef LOCUS_LANE_WIDTH
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

const LaneKernels& lane_kernels(std::int64_t version) {
  return *kVersions[static_cast<std::size_t>(version)];
}

}  // namespace locus::attention
