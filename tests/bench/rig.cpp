#include "tests/bench/rig.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "core/base/guarded.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/system_files.h"
#include "models/api/model.h"
#include "tests/bench/groups.h"

namespace locus::bench {

namespace {

double process_megabytes(const char* key) {
  return system_bytes("/proc/self/status", key) / 1e6;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.empty() ? 0 : values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result<double> Rig::once(const std::function<Status()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  LOCUS_CHECK(work());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Result<Timed> Rig::time(const std::function<Status()>& work, const std::function<Status()>& reference) const {
  std::vector<double> times;
  std::vector<double> reference_times;
  for (int n = 0; n <= repetitions(); ++n) {
    if (options_.stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(const double mine, once(work));
    double other = 0;
    if (reference) {
      LOCUS_TRY(other, once(reference));
    }
    if (n > 0) {
      times.push_back(mine);
      reference_times.push_back(other);
    }
  }
  return Timed{median(std::move(times)), median(std::move(reference_times))};
}

Result<double> Rig::time_within(double most_ms, const std::function<Status()>& work) const {
  std::vector<double> times;
  LOCUS_TRY(double time, once(work));
  double spent_ms = time;
  if (quick() || 2 * time > most_ms) {
    return time;
  }
  while (static_cast<int>(times.size()) < repetitions() && (times.empty() || spent_ms + time < most_ms)) {
    if (options_.stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(time, once(work));
    spent_ms += time;
    times.push_back(time);
  }
  return median(std::move(times));
}

Result<double> Rig::peak_megabytes(const std::function<Status()>& work) {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const double before = process_megabytes("VmRSS");
  LOCUS_CHECK(work());
  return std::max(0.0, process_megabytes("VmHWM") - before);
}

void Rig::add(Row row) {
  row.ratio = row.reference > 0 ? row.value / row.reference : 0;
  row.met = row.bounds == Target::kNone || (row.bounds == Target::kValueAtMost && row.value <= row.target) ||
            (row.bounds == Target::kRatioAtMost && row.ratio <= row.target) ||
            (row.bounds == Target::kRatioAtLeast && row.ratio >= row.target);
  if (options_.on_row) {
    options_.on_row(row);
  }
  rows_.push_back(std::move(row));
}

std::string target_text(const Row& row) {
  switch (row.bounds) {
    case Target::kNone:
      return {};
    case Target::kValueAtMost:
      return "≤ " + general_text(row.target, 4) + " " + row.unit;
    case Target::kRatioAtMost:
      return "≤ " + general_text(row.target, 4) + " ×";
    case Target::kRatioAtLeast:
      return "≥ " + general_text(row.target, 4) + " ×";
  }
  return {};
}

std::span<const Group> model_groups() {
  static constexpr std::array kGroups{
      Group{"forward", bench_forward},     Group{"pytorch", bench_pytorch},      Group{"scores", bench_scores},
      Group{"pairs", bench_pairs},         Group{"encodings", bench_encodings},  Group{"hybrids", bench_hybrids},
      Group{"estimates", bench_estimates}, Group{"stored", bench_stored},        Group{"quantised", bench_quantised},
      Group{"products", bench_products},   Group{"one-token", bench_one_token},  Group{"knock-out", bench_knock_out},
      Group{"pictures", bench_pictures},   Group{"videos", bench_videos},        Group{"atlas", bench_atlas},
      Group{"opening", bench_opening},     Group{"tokenizers", bench_tokenizers}};
  return kGroups;
}

Result<std::vector<Row>> run(std::span<const Group> groups, const Options& options) {
  Rig rig(options);
  const auto wanted = [&](const Group& group) {
    return std::string(group.name).find(options.only) != std::string::npos;
  };
  if (std::none_of(groups.begin(), groups.end(), wanted)) {
    return usage("--only: expected a part of one of " + listed(groups, &Group::name) + ", found " + options.only);
  }
  for (const Group& group : groups) {
    if (!wanted(group)) {
      continue;
    }
    if (options.stop.stop_requested()) {
      return cancelled();
    }
    report(options.progress, -1, std::string("measuring ") + group.name);
    LOCUS_CHECK(guarded([&]() -> Status { return group.run(rig); }));
  }
  return rig.take();
}

std::string machine() {
  const models::Runtime runtime = models::runtime();
  const auto gigabytes = std::llround(system_bytes("/proc/meminfo", "MemTotal") / 1e9);
  return system_value("/proc/cpuinfo", "model name") + ", " + std::to_string(std::thread::hardware_concurrency()) +
         " cores, " + std::to_string(gigabytes) + " GB, LibTorch " + runtime.torch + ", " + runtime.blas + ", " +
         std::to_string(runtime.threads) + " threads";
}

}  // namespace locus::bench
