// Loops that are compiled for several instruction sets: plain, AVX2, AVX-512. Which of the versions this CPU can run,
// and which one the program uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

// Whether this compiler makes all three versions of a file; otherwise there is the plain one alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LOCUS_VECTOR_TARGETS 1
#endif

namespace locus {

// How many, from the plain one on: 2 with AVX2, FMA, BMI2 and F16C, 3 with AVX-512 F, BW, DQ, VL and CD as well.
std::int64_t runnable_versions();

// "plain", "avx2", "avx512".
std::string_view version_name(std::int64_t version);

// The version that a wish names, of the first `runnable` ones; the widest of them for an empty wish. Errors: kUsage for
// a name that is none, and for a version that this CPU cannot run.
Result<std::int64_t> wished_version(const std::string& wish, std::int64_t runnable);

// The value of the environment variable LOCUS_KERNELS, read once.
Result<std::int64_t> chosen_version();

// The version of every loop that is chosen at run time: chosen_version(), or the widest where that is an error, which
// main() reports before any loop runs.
std::int64_t used_version();

}  // namespace locus
