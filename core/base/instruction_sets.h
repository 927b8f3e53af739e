// Loops that are compiled for several instruction sets: plain, AVX2, AVX-512. Which of the versions this CPU can run,
// and which one the program uses; and whether products of many tokens use AMX's matrix tiles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

// Whether this compiler makes all three versions of a file; otherwise there is the plain one alone.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LOCUS_VECTOR_TARGETS 1
#endif
// Whether it makes loops for matrix tiles, and the system is one that lends their registers when asked.
#if defined(LOCUS_VECTOR_TARGETS) && defined(__linux__)
#define LOCUS_MATRIX_TILES 1
#endif

namespace locus {

// How many, from the plain one on: 2 with AVX2, FMA, BMI2 and F16C, 3 with AVX-512 F, BW, DQ, VL and CD as well.
std::int64_t runnable_versions();

// Whether tiles of bfloat16 numbers can be multiplied (AMX-TILE, AMX-BF16, AVX512-BF16 and all of runnable_versions()).
// The first call asks the system for their registers, for all threads.
bool runnable_tiles();

struct LoopChoice {
  std::int64_t version = 0;
  bool tiles = false;
  bool operator==(const LoopChoice&) const = default;
};

// "plain", "avx2", "avx512", and "amx" with tiles.
std::string_view choice_name(const LoopChoice& choice);

// The choice that a wish names, of the first `runnable` versions and with tiles only where they are `runnable_tiles`;
// the fastest of them for an empty wish. Errors: kUsage for a name that is none, and for what this CPU cannot run.
Result<LoopChoice> wished_loops(const std::string& wish, std::int64_t runnable, bool runnable_tiles);

// The value of the environment variable LOCUS_KERNELS, read once.
Result<LoopChoice> chosen_loops();

// What every loop that is chosen at run time uses: chosen_loops(), or the fastest where that is an error, which main()
// reports before any loop runs.
const LoopChoice& used_loops();
inline std::int64_t used_version() {
  return used_loops().version;
}
inline bool used_tiles() {
  return used_loops().tiles;
}

}  // namespace locus
