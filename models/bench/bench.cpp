// bench(): the list of groups, and how they are measured.
#include "models/bench.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "models/bench/rig.h"
#include "models/guard.h"
#include "models/model.h"

namespace locus::models {

namespace {

struct Group {
  const char* name;
  Status (*run)(Rig&);
};

constexpr std::array kGroups{Group{"forward", bench_forward}, Group{"scores", bench_scores}};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.empty() ? 0 : values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// A line "VmHWM:  123 kB" of the process's status, in megabytes; 0 when there is none.
double status_megabytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == name) {
      double kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024 / 1e6;
    }
  }
  return 0;
}

// The first value of a key of /proc/cpuinfo or /proc/meminfo.
std::string system_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon != std::string::npos && colon + 2 <= line.size()) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

std::string number_text(double value) {
  std::ostringstream text;
  text.precision(4);
  text << value;
  return text.str();
}

}  // namespace

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

Result<double> Rig::peak_megabytes(const std::function<Status()>& work) {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const double before = status_megabytes("VmRSS:");
  LOCUS_CHECK(work());
  return std::max(0.0, status_megabytes("VmHWM:") - before);
}

void Rig::add(BenchRow row) {
  row.ratio = row.reference > 0 ? row.value / row.reference : 0;
  row.met = row.bounds == BenchTarget::kNone || (row.bounds == BenchTarget::kValueAtMost && row.value <= row.target) ||
            (row.bounds == BenchTarget::kRatioAtMost && row.ratio <= row.target) ||
            (row.bounds == BenchTarget::kRatioAtLeast && row.ratio >= row.target);
  if (options_.on_row) {
    options_.on_row(row);
  }
  rows_.push_back(std::move(row));
}

std::string target_text(const BenchRow& row) {
  switch (row.bounds) {
    case BenchTarget::kNone:
      return {};
    case BenchTarget::kValueAtMost:
      return "≤ " + number_text(row.target) + " " + row.unit;
    case BenchTarget::kRatioAtMost:
      return "≤ " + number_text(row.target) + " ×";
    case BenchTarget::kRatioAtLeast:
      return "≥ " + number_text(row.target) + " ×";
  }
  return {};
}

Result<std::vector<BenchRow>> bench(const BenchOptions& options) {
  Rig rig(options);
  for (const Group& group : kGroups) {
    if (std::string(group.name).find(options.only) == std::string::npos) {
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

std::string bench_machine() {
  const Runtime runtime = models::runtime();
  const std::string memory = system_value("/proc/meminfo", "MemTotal");
  const long gigabytes = std::atol(memory.c_str()) / 1000 / 1000;
  return system_value("/proc/cpuinfo", "model name") + ", " + std::to_string(std::thread::hardware_concurrency()) +
         " cores, " + std::to_string(gigabytes) + " GB, LibTorch " + runtime.torch + ", " + runtime.blas + ", " +
         std::to_string(runtime.threads) + " threads";
}

}  // namespace locus::models
