// Rows of the forward pass against eager PyTorch that keeps every map (Debian: python3-torch, the same OpenBLAS). None
// in a quick run, or without PyTorch.
#include <ATen/ATen.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/transformer/transformer.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"
#include "tests/support/paths.h"

namespace locus::bench {

namespace {

constexpr std::int64_t kLength = 1024;

// The answer of eager_gpt2.py; empty where there is no Python with PyTorch. OpenBLAS 0.3.21 does not know CPUs younger
// than itself: its variable names the kernels.
std::optional<nlohmann::json> eager_python(std::int64_t length, int runs) {
  const std::string command = "OPENBLAS_CORETYPE=SkylakeX /usr/bin/python3 '" + test::source_dir() +
                              "/tests/bench/eager_gpt2.py' --length " + std::to_string(length) + " --runs " +
                              std::to_string(runs);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return std::nullopt;
  }
  std::string text;
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) {
    text += part;
  }
  const bool failed = ::pclose(pipe) != 0;
  nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  return failed || answer.is_discarded() ? std::nullopt : std::optional(std::move(answer));
}

}  // namespace

Status bench_pytorch(Rig& rig) {
  const auto eager = rig.quick() ? std::nullopt : eager_python(kLength, rig.repetitions());
  if (!eager) {
    return {};
  }
  LOCUS_TRY(const auto model, transformer::Transformer::create(gpt2_small(kLength, false), true, 1));
  const auto forward = [&] { return observe_random(*model, kLength); };
  LOCUS_TRY(const Timed times, rig.time(forward));
  LOCUS_TRY(const double megabytes, Rig::peak_megabytes(forward));
  const std::string reference = "eager PyTorch with all maps kept";
  rig.add({.name = "forward beside PyTorch, T = 1024",
           .value = times.milliseconds,
           .unit = "ms",
           .reference_name = reference,
           .reference = 1000 * eager->at("seconds").get<double>(),
           .bounds = Target::kRatioAtMost,
           .target = 0.45});
  rig.add({.name = "forward memory beyond the weights beside PyTorch, T = 1024",
           .value = megabytes,
           .unit = "MB",
           .reference_name = reference,
           .reference = eager->at("memory_mb").get<double>(),
           .bounds = Target::kValueAtMost,
           .target = 350});
  return {};
}

}  // namespace locus::bench
