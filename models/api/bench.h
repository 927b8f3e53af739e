// What `locus bench` and tests/bench/attention_bench print: the time and memory of what a user waits for, each beside
// its reference in the same run. Weights are random, of GPT-2-small's shape (12 layers, 12 heads, C = 768).
//
// To add a row: a function in models/bench/ that adds it to the Rig, and one line in models/bench/bench.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::models {

// What a row's target bounds.
enum class BenchTarget { kNone, kValueAtMost, kRatioAtMost, kRatioAtLeast };

struct BenchRow {
  std::string name;            // "forward, T = 1024"
  double value = 0;            // the median of the repetitions
  std::string unit;            // "ms", "MB", "GFLOP/s"
  std::string reference_name;  // "eager ATen with all maps kept"; empty: no reference
  double reference = 0;        // its median, same unit
  double ratio = 0;            // value / reference; 0 without reference
  BenchTarget bounds = BenchTarget::kNone;
  double target = 0;
  bool met = true;
  std::string note;  // what else was seen: a fit, a sample size; may be empty
};

// "≤ 0.45 ×", "≥ 0.75 ×", "≤ 2 ms"; empty without target.
std::string target_text(const BenchRow& row);

struct BenchOptions {
  std::string only;     // rows of the groups whose name contains this; empty: all
  int repetitions = 7;  // of each measurement, interleaved with its reference
  bool quick = false;   // small lengths and two repetitions: proves that the rows can be had, not how fast
  StopToken stop;
  Progress progress;
  std::function<void(const BenchRow&)> on_row;  // each row as soon as it is measured
};

// Measures every row, one after the other. Errors: kUsage where no group has that name, kCancelled, kTooLarge.
Result<std::vector<BenchRow>> bench(const BenchOptions& options = {});

// "Intel(R) Xeon(R) …, 2 cores, 24 GB, LibTorch 1.13.1, OpenBLAS, 2 threads": what the numbers belong to.
std::string bench_machine();

}  // namespace locus::models
