#include "models/api/timed_estimate.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "models/run/loaded_model.h"

namespace locus::models {

namespace {

constexpr std::int64_t kLongestProbe = 2048;
constexpr std::int64_t kShortestProbe = 16;
constexpr std::int64_t kFirstShare = 4;  // the first probe's tokens are so many times fewer
constexpr double kProbeMs = 200;         // that the longer of them takes, by shapes, and is repeated for
constexpr double kWorthSaying = 1000;    // milliseconds: shorter runs need no better estimate
constexpr std::int64_t kWorthIt = 1024;  // tokens
constexpr double kSeen = 0.1;            // of a probe's work: cells that are less are lost in the clock's noise
constexpr double kUsualCell = 1.5;       // of a token's rate, for cells that were not seen

// Mean time of runs over `length` tokens for about so many milliseconds, one at least; 0 when they cannot be. The mean,
// since on a machine that others use a long run gets no more of it than short ones do together.
double run_ms(const Model& model, std::int64_t length, double for_ms, const StopToken& stop) {
  const Input input{.ids = std::vector<std::int64_t>(static_cast<std::size_t>(length), 0)};
  double total = 0;
  int runs = 0;
  do {
    const auto trace = model.run(input, {}, stop);
    if (!trace.ok()) {
      return 0;
    }
    total += (*trace)->time_ms();
    ++runs;
  } while (total < for_ms);
  return total / runs;
}

struct Work {
  double tokens = 0;     // that grows with the tokens
  double attention = 0;  // that grows with the cells
};

Work work_of(const Model& model, std::int64_t length) {
  const double tokens = static_cast<double>(length) * model.macs(1);
  return {tokens, std::max(model.macs(length) - tokens, 0.0)};
}

std::optional<Pace> measured(const Model& model, const StopToken& stop) {
  std::int64_t second = kLongestProbe;
  while (second > kShortestProbe && model.estimate(second, {}).time_ms > kProbeMs) {
    second /= 2;
  }
  // The very first run reads the weights, and tells nothing. A length that the encoding cannot take fails at once.
  while (second >= kShortestProbe && run_ms(model, second, 0, stop) <= 0) {
    second /= 2;
  }
  const std::int64_t first = second / kFirstShare;
  const double first_ms = second < kShortestProbe ? 0 : run_ms(model, first, kProbeMs / 4, stop);
  const double second_ms = first_ms > 0 ? run_ms(model, second, kProbeMs, stop) : 0;
  if (second_ms <= 0) {
    return std::nullopt;
  }
  return pace_of(model, first, first_ms, second, second_ms);
}

}  // namespace

double left_ms(double expected_ms, double fraction, double elapsed_ms, double sure) {
  if (fraction <= 0) {
    return std::max(expected_ms - elapsed_ms, 0.0);
  }
  const double trust = sure > 0 ? std::min(fraction / sure, 1.0) : 1;
  const double seen = elapsed_ms / fraction;
  return ((1 - trust) * std::max(expected_ms, elapsed_ms) + trust * seen) * (1 - std::min(fraction, 1.0));
}

Pace pace_of(const Model& model, std::int64_t first, double first_ms, std::int64_t second, double second_ms) {
  const Work a = work_of(model, first);
  const Work b = work_of(model, second);
  // first_ms = x·a.tokens + y·a.attention, second_ms likewise; neither rate is negative.
  const double scale = a.tokens * b.attention - b.tokens * a.attention;
  Pace pace;
  if (b.attention < kSeen * b.tokens) {
    const double most = second_ms / std::max(b.tokens, 1.0);
    const double least = std::min(model.estimate(second, {}).time_ms / std::max(b.tokens, 1.0) / 2, most);
    pace.token_ms = std::clamp((second_ms - first_ms) / std::max(b.tokens - a.tokens, 1.0), least, most);
    pace.cell_ms = kUsualCell * pace.token_ms;
    pace.fixed_ms = std::max(second_ms - pace.token_ms * b.tokens - pace.cell_ms * b.attention, 0.0);
    return pace;
  }
  const double y = scale > 0 ? (a.tokens * second_ms - b.tokens * first_ms) / scale : 0;
  pace.cell_ms = std::clamp(y, 0.0, second_ms / b.attention);
  pace.token_ms = std::max(second_ms - pace.cell_ms * b.attention, 0.0) / std::max(b.tokens, 1.0);
  return pace;
}

double time_of(const Model& model, const Pace& pace, std::int64_t length) {
  const Work work = work_of(model, length);
  return pace.fixed_ms + pace.token_ms * work.tokens + pace.cell_ms * work.attention;
}

Estimate timed_estimate(const Model& model, std::int64_t length, const RunOptions& options, const StopToken& stop,
                        std::int64_t taken_over) {
  Estimate estimate = model.estimate(length, options);
  estimate.memory_mb += estimate.weights_mb;
  const bool may_be_long = length >= kWorthIt || estimate.time_ms > kWorthSaying;
  if (!estimate.fits || !may_be_long || model.info().image) {
    return estimate;
  }
  const LoadedModel* const loaded = loaded_model_of(model);
  std::optional<Pace> pace = loaded == nullptr ? std::nullopt : loaded->kept_pace().get();
  if (!pace) {
    pace = measured(model, stop);
    if (loaded != nullptr && pace && !stop.stop_requested()) {
      loaded->kept_pace().set(*pace);
    }
  }
  if (pace) {
    const double saved = taken_over > 0 ? time_of(model, *pace, taken_over) - pace->fixed_ms : 0;
    estimate.time_ms = time_of(model, *pace, length) - saved;
  }
  return estimate;
}

}  // namespace locus::models
