// Rig: measures work beside its reference and collects the rows of the benchmark.
//
// To add a row: a call of Rig::add in the source of its group. To add a group: its function in groups.h and a line in
// the list of rig.cpp, or in that of main.cpp where it needs a display.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::bench {

// The quantity that a row's target bounds.
enum class Target { kNone, kValueAtMost, kRatioAtMost, kRatioAtLeast };

struct Row {
  std::string name;              // "forward, T = 1024"
  double value = 0;              // the median of the repetitions
  std::string unit{};            // "ms", "MB", "GFLOP/s"
  std::string reference_name{};  // "eager ATen with all maps kept"; empty: no reference
  double reference = 0;          // its median, same unit
  double ratio = 0;              // value / reference; 0 without reference
  Target bounds = Target::kNone;
  double target = 0;
  bool met = true;
  std::string note{};  // anything else: a fit, a sample size; may be empty
};

// "≤ 0.45 ×", "≥ 0.75 ×", "≤ 2 ms"; empty without target.
std::string target_text(const Row& row);

struct Options {
  std::string only;     // rows of the groups whose name contains this; empty: all
  int repetitions = 7;  // of each measurement, in turns with its reference
  bool quick = false;   // small lengths and two repetitions: shows that the rows can be measured, not how fast
  std::string model;    // a checkpoint for rows of real models; empty: none
  StopToken stop;
  Progress progress;
  std::function<void(const Row&)> on_row;  // each row as soon as it is measured
};

// Medians of work and of its reference, repeated in turns so that other load of the machine slows both alike.
struct Timed {
  double milliseconds = 0;
  double reference_milliseconds = 0;  // 0 without reference
};

class Rig {
 public:
  explicit Rig(const Options& options) : options_(options) {}

  const Options& options() const { return options_; }
  bool quick() const { return options_.quick; }
  int repetitions() const { return options_.quick ? 2 : options_.repetitions; }

  // Medians over repetitions(), after one run of each that is not counted. Errors: those of `work`; kCancelled.
  Result<Timed> time(const std::function<Status()>& work, const std::function<Status()>& reference = {}) const;
  // The median of as many runs as fit this time, one at least and repetitions() at most, after one run of a short work
  // that is not counted.
  Result<double> time_within(double most_ms, const std::function<Status()>& work) const;
  // Wall time of one run, in milliseconds.
  static Result<double> once(const std::function<Status()>& work);
  // Megabytes by which the process's peak exceeds what it held before `work`; 0 where the system does not say.
  static Result<double> peak_megabytes(const std::function<Status()>& work);

  // Completes ratio and met, and keeps the row.
  void add(Row row);
  // A row of milliseconds beside their reference.
  void add(std::string name, const Timed& times, std::string reference_name, Target bounds, double target,
           std::string note = {}) {
    add({std::move(name), times.milliseconds, "ms", std::move(reference_name), times.reference_milliseconds, 0, bounds,
         target, true, std::move(note)});
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  const Options& options_;
  std::vector<Row> rows_;
};

double median(std::vector<double> values);

struct Group {
  const char* name;
  Status (*run)(Rig&);
};

// The groups that need no display, in the order of their rows.
std::span<const Group> model_groups();

// Measures the rows of the wanted groups, one after the other. Errors: kUsage where no group has that name, kCancelled,
// kTooLarge.
Result<std::vector<Row>> run(std::span<const Group> groups, const Options& options);

// "Intel(R) Xeon(R) …, 2 cores, 24 GB, LibTorch 1.13.1, OpenBLAS, 2 threads": the machine of the numbers.
std::string machine();

}  // namespace locus::bench
