// What a 512 × 512 score tile of each encoding costs against q·kᵀ → scale → exp of the same size, in one run:
//   position_bench            prints times, then one ratio an encoding with its limit
// One thread, no gradients; medians of CPU time over interleaved repetitions, so that other work on the machine slows
// both sides alike.
#include <benchmark/benchmark.h>

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "core/position/list.h"

namespace {

using namespace locus;
using namespace locus::position;

constexpr std::int64_t kTile = 512;
constexpr std::int64_t kTokens = 2 * kTile;
constexpr std::int64_t kHeadWidth = 64;
constexpr const char* kBaseline = "plain";

struct Subject {
  std::string label;
  std::string name;
  Settings options;
  double limit = 0;  // × the baseline; 0: none set
};

std::vector<Subject> subjects() {
  return {{"rope", "rope", {}, 1.5},
          {"alibi", "alibi", {}, 1.5},
          {"tape", "tape", {}, 1.5},
          {"seqpe", "seqpe", {}, 1.5},
          {"tapa", "tapa", {}, 2.0},
          {"cope", "cope", {}, 3.0},
          {"cope-sep-key", "cope", {{"gates", std::string("sep-key")}}, 3.0},
          {"fire", "fire", {}, 3.0},
          {"t5", "t5", {}, 0},
          {"kerple-log", "kerple-log", {}, 0},
          {"relative", "relative", {}, 0},
          {"xpos", "xpos", {}, 0}};
}

ModelShape bench_shape() {
  ModelShape shape;
  shape.head_width = kHeadWidth;
  shape.width = kHeadWidth;
  shape.trained_length = kTokens;
  return shape;
}

Projections inputs() {
  at::manual_seed(1);
  return {at::randn({1, 1, kTokens, kHeadWidth}), at::randn({1, 1, kTokens, kHeadWidth}),
          at::randn({1, 1, kTokens, kHeadWidth}), at::randn({1, kTokens, kHeadWidth})};
}

void plain(benchmark::State& state) {
  const at::NoGradGuard inference;
  const Projections projections = inputs();
  const at::Tensor rows = projections.query.slice(2, kTile);
  const at::Tensor columns = projections.key.slice(2, kTile).transpose(-1, -2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(kHeadWidth));
  for (auto _ : state) {
    at::Tensor tile = at::matmul(rows, columns).mul_(scale).exp_();
    benchmark::DoNotOptimize(tile.data_ptr());
  }
}

void score(benchmark::State& state, const Subject& subject) {
  const at::NoGradGuard inference;
  auto made = make_encoding(subject.name, subject.options, bench_shape());
  if (!made.ok()) {
    state.SkipWithError(made.error().describe().c_str());
    return;
  }
  const std::unique_ptr<PositionEncoding> encoding = *std::move(made);
  const Prepared prepared = encoding->prepare(encoding->begin(Positions::sequence(kTokens), 1), 0, inputs());
  const Tile tile{0, {0, 1}, {kTile, kTokens}, {kTile, kTokens}};
  const at::Tensor carry = at::zeros({1, 1, kTile});
  for (auto _ : state) {
    at::Tensor logits = encoding->score(prepared, tile, {}, carry).logits.exp_();
    benchmark::DoNotOptimize(logits.data_ptr());
  }
}

// The usual table, and the medians kept by name.
class Medians : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median") {
        times_[run.run_name.function_name] = run.GetAdjustedCPUTime();
      }
    }
  }
  const std::map<std::string, double>& times() const { return times_; }

 private:
  std::map<std::string, double> times_;
};

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const std::vector<Subject> all = subjects();
  benchmark::RegisterBenchmark(kBaseline, plain)->Unit(benchmark::kMicrosecond);
  for (const Subject& subject : all) {
    benchmark::RegisterBenchmark(subject.label.c_str(), score, subject)->Unit(benchmark::kMicrosecond);
  }
  std::vector<std::string> arguments{argv[0], "--benchmark_repetitions=15", "--benchmark_min_time=0.02",
                                     "--benchmark_enable_random_interleaving=true",
                                     "--benchmark_report_aggregates_only=true"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  Medians medians;
  benchmark::RunSpecifiedBenchmarks(&medians);
  const auto baseline = medians.times().find(kBaseline);
  if (baseline == medians.times().end()) {
    return 1;
  }
  std::cout << "\nratio to q·kᵀ → scale → exp (median)\n";
  for (const Subject& subject : all) {
    if (const auto time = medians.times().find(subject.label); time != medians.times().end()) {
      const double ratio = time->second / baseline->second;
      std::cout << subject.label << ": " << std::round(ratio * 100) / 100 << " ×";
      if (subject.limit > 0) {
        std::cout << (ratio <= subject.limit ? "  within " : "  ABOVE ") << subject.limit << " ×";
      }
      std::cout << "\n";
    }
  }
  return 0;
}
