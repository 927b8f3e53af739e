// Rows of estimates: the time that is told before a run and that of the run, the longer against the shorter.
#include <algorithm>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "models/api/run_estimate.h"
#include "tests/bench/groups.h"
#include "tests/support/paths.h"

namespace locus::bench {

namespace {

constexpr std::int64_t kEstimatedTokens = 4000;
constexpr std::int64_t kEveryToken = 101;
constexpr double kMaxTimes = 2;  // times the run

Status add_estimate(Rig& rig, const std::string& name) {
  models::Input input;
  input.ids = std::vector<std::int64_t>(kEstimatedTokens, kEveryToken);
  std::vector<double> told;
  std::vector<double> taken;
  for (int n = 0; n < rig.repetitions(); ++n) {
    // Opened anew: the pace of attention is measured once a model.
    LOCUS_TRY(const auto model, models::open(test::source_dir() + "/assets/checkpoints/" + name, {}));
    LOCUS_CHECK(model->read_weights({}, {}));
    told.push_back(models::run_estimate(*model, kEstimatedTokens, {}).time_ms);
    LOCUS_TRY(const auto trace, model->run(input));
    taken.push_back(trace->time_ms());
    if (rig.options().stop.stop_requested()) {
      return cancelled();
    }
  }
  const auto [shorter, longer] = std::minmax({median(told), median(taken)});
  rig.add("estimate of " + name + ", T = " + std::to_string(kEstimatedTokens), {longer, shorter},
          longer == median(told) ? "the run, which was shorter" : "the estimate, which was shorter",
          Target::kRatioAtMost, kMaxTimes);
  return {};
}

}  // namespace

Status bench_estimates(Rig& rig) {
  for (const char* name : {"text-rope", "text-cope", "text-tape", "text-tapa", "text-alibi"}) {
    LOCUS_CHECK(add_estimate(rig, name));
  }
  return {};
}

}  // namespace locus::bench
