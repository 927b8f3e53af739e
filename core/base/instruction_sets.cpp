#include "core/base/instruction_sets.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "core/base/listed.h"
#include "core/base/shown.h"

#if defined(LOCUS_MATRIX_TILES)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace locus {

namespace {

constexpr std::array<std::string_view, 4> kNames{"plain", "avx2", "avx512", "amx"};
constexpr std::int64_t kVersions = 3;

LoopChoice choice_at(std::int64_t place) {
  return {std::min(place, kVersions - 1), place == kVersions};
}
std::int64_t place_of(const LoopChoice& choice) {
  return choice.tiles ? kVersions : choice.version;
}

#if defined(LOCUS_MATRIX_TILES)
// Bits of leaf 7 of CPUID; the compiler's own names for them came after GCC 12.
bool has_tiles() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kTileAndBfloat16 = 1U << 24 | 1U << 22;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTileAndBfloat16) != kTileAndBfloat16) {
    return false;
  }
  constexpr unsigned kVectorBfloat16 = 1U << 5;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kVectorBfloat16) != 0;
}

// The tiles take 8 KiB of a thread's state, which Linux saves only for processes that asked.
bool lent_tiles() {
  constexpr long kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;     // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}
#endif

}  // namespace

std::int64_t runnable_versions() {
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

bool runnable_tiles() {
#if defined(LOCUS_MATRIX_TILES)
  static const bool runnable = runnable_versions() == kVersions && has_tiles() && lent_tiles();
  return runnable;
#else
  return false;
#endif
}

std::string_view choice_name(const LoopChoice& choice) {
  return kNames[static_cast<std::size_t>(place_of(choice))];
}

Result<LoopChoice> wished_loops(const std::string& wish, std::int64_t runnable, bool runnable_tiles) {
  const std::int64_t count = runnable_tiles ? kVersions + 1 : runnable;
  if (wish.empty()) {
    return choice_at(count - 1);
  }
  const auto* const found = std::find(kNames.begin(), kNames.end(), wish);
  if (found == kNames.end()) {
    return usage("LOCUS_KERNELS: expected " + listed_choices(kNames) + ", found " + shown(wish));
  }
  const std::int64_t place = found - kNames.begin();
  if (place >= count) {
    return usage("LOCUS_KERNELS: expected what this CPU can run, " +
                 listed_choices(std::span(kNames).first(static_cast<std::size_t>(count))) + ", found " + wish);
  }
  return choice_at(place);
}

Result<LoopChoice> chosen_loops() {
  const char* const wish = std::getenv("LOCUS_KERNELS");
  return wished_loops(wish != nullptr ? wish : "", runnable_versions(), runnable_tiles());
}

const LoopChoice& used_loops() {
  static const LoopChoice used = [] {
    const Result<LoopChoice> chosen = chosen_loops();
    return chosen.ok() ? *chosen : *wished_loops("", runnable_versions(), runnable_tiles());
  }();
  return used;
}

}  // namespace locus
