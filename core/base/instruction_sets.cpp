#include "core/base/instruction_sets.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus {

namespace {

constexpr std::array<std::string_view, 3> kVersionNames{"plain", "avx2", "avx512"};

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

std::string_view version_name(std::int64_t version) {
  return kVersionNames[static_cast<std::size_t>(version)];
}

Result<std::int64_t> wished_version(const std::string& wish, std::int64_t runnable) {
  if (wish.empty()) {
    return runnable - 1;
  }
  const auto* const found = std::find(kVersionNames.begin(), kVersionNames.end(), wish);
  if (found == kVersionNames.end()) {
    return usage("LOCUS_KERNELS: expected " + listed_choices(kVersionNames) + ", found " + shown(wish));
  }
  const std::int64_t version = found - kVersionNames.begin();
  if (version >= runnable) {
    return usage("LOCUS_KERNELS: expected what this CPU can run, " +
                 listed_choices(std::span(kVersionNames).first(static_cast<std::size_t>(runnable))) + ", found " +
                 wish);
  }
  return version;
}

Result<std::int64_t> chosen_version() {
  const char* const wish = std::getenv("LOCUS_KERNELS");
  return wished_version(wish != nullptr ? wish : "", runnable_versions());
}

std::int64_t used_version() {
  static const std::int64_t used = [] {
    const Result<std::int64_t> chosen = chosen_version();
    return chosen.ok() ? *chosen : runnable_versions() - 1;
  }();
  return used;
}

}  // namespace locus
