// Rig: what the groups of the benchmark measure with, and where their rows go.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/api/bench.h"
#include "models/transformer/spec.h"

namespace locus::models {

// Work and its reference, repeated in turns so that whatever else the machine does slows both alike.
struct Timed {
  double milliseconds = 0;            // median
  double reference_milliseconds = 0;  // median; 0 without reference
};

class Rig {
 public:
  explicit Rig(const BenchOptions& options) : options_(options) {}

  const BenchOptions& options() const { return options_; }
  bool quick() const { return options_.quick; }
  int repetitions() const { return options_.quick ? 2 : options_.repetitions; }

  // Medians over repetitions(), after one run of each that is not counted. Errors: what `work` returns; kCancelled.
  Result<Timed> time(const std::function<Status()>& work, const std::function<Status()>& reference = {}) const;
  // The median of as many runs as fit this time, one at least and repetitions() at most, after one run of a short work
  // that is not counted.
  Result<double> time_within(double most_ms, const std::function<Status()>& work) const;
  // Wall time of one run, in milliseconds.
  static Result<double> once(const std::function<Status()>& work);
  // Megabytes by which the process's peak exceeds what it held before `work`; 0 where the system does not say.
  static Result<double> peak_megabytes(const std::function<Status()>& work);

  // Completes ratio and met, and keeps the row.
  void add(BenchRow row);
  // A row of milliseconds beside their reference.
  void add(std::string name, const Timed& times, std::string reference_name, BenchTarget bounds, double target,
           std::string note = {}) {
    add({std::move(name), times.milliseconds, "ms", std::move(reference_name), times.reference_milliseconds, 0, bounds,
         target, true, std::move(note)});
  }
  std::vector<BenchRow> take() { return std::move(rows_); }

 private:
  const BenchOptions& options_;
  std::vector<BenchRow> rows_;
};

// The groups of rows; each stops between measurements.
Status bench_forward(Rig& rig);    // forward.cpp
Status bench_scores(Rig& rig);     // scores.cpp
Status bench_pairs(Rig& rig);      // pairs.cpp
Status bench_stored(Rig& rig);     // stored.cpp
Status bench_quantised(Rig& rig);  // quantised.cpp
Status bench_knock_out(Rig& rig);  // knock_out.cpp
Status bench_pictures(Rig& rig);   // pictures.cpp
Status bench_atlas(Rig& rig);      // models/atlas/bench.cpp

// GPT-2-small's shape, positions up to `length`; with `quick` two layers of it and a tenth of its vocabulary.
transformer::Spec gpt2_small(std::int64_t length, bool quick);

}  // namespace locus::models
