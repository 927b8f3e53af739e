#include "models/timed_estimate.h"

#include <algorithm>
#include <vector>

namespace locus::models {

namespace {

constexpr std::int64_t kLongProbe = 2048;
constexpr std::int64_t kShare = 4;     // of the tokens: of attention's work a 16th
constexpr double kWorthSaying = 1000;  // milliseconds: shorter runs need no better estimate
constexpr double kMostProbingMs = 400;

// Mean time of runs over `length` tokens for about so many milliseconds, one at least; 0 when they cannot be. The mean,
// since on a machine that others use a long run gets no more of it than short ones do together.
double run_ms(const Model& model, std::int64_t length, double for_ms, const StopToken& stop) {
  Input input;
  input.ids = std::vector<std::int64_t>(static_cast<std::size_t>(length), 0);
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

}  // namespace

double extrapolated_ms(const Model& model, std::int64_t length, std::int64_t first, double first_ms,
                       std::int64_t second, double second_ms) {
  const Work a = work_of(model, first);
  const Work b = work_of(model, second);
  const Work whole = work_of(model, length);
  // first_ms = x·a.tokens + y·a.attention, second_ms likewise; neither rate is negative.
  const double scale = a.tokens * b.attention - b.tokens * a.attention;
  const double y = scale > 0 ? (a.tokens * second_ms - b.tokens * first_ms) / scale : 0;
  const double attention = std::clamp(y, 0.0, b.attention > 0 ? second_ms / b.attention : 0.0);
  const double tokens = std::max(second_ms - attention * b.attention, 0.0) / std::max(b.tokens, 1.0);
  return tokens * whole.tokens + attention * whole.attention;
}

Estimate timed_estimate(const Model& model, std::int64_t length, const RunOptions& options, const StopToken& stop) {
  constexpr std::int64_t kWorthIt = 1024;  // tokens
  Estimate estimate = model.estimate(length, options);
  estimate.memory_mb += 4e-6 * static_cast<double>(model.info().parameters);
  const bool may_be_long = length >= kWorthIt || estimate.time_ms > kWorthSaying;
  const bool continues = options.reuse != nullptr && 2 * options.reuse->length() > length;
  const std::int64_t second = std::min(length / kShare, kLongProbe);
  if (!estimate.fits || !may_be_long || continues || model.info().image || second < 8) {
    return estimate;
  }
  const std::int64_t first = second / 4;
  const auto told_by = [&](double for_ms) {
    const double first_ms = run_ms(model, first, for_ms / 2, stop);
    const double second_ms = first_ms > 0 ? run_ms(model, second, for_ms, stop) : 0;
    estimate.time_ms =
        second_ms > 0 ? extrapolated_ms(model, length, first, first_ms, second, second_ms) : estimate.time_ms;
    return second_ms > 0;
  };
  // The very first run reads the weights, and tells nothing.
  if (run_ms(model, first, 0, stop) > 0 && told_by(0) && estimate.time_ms > kWorthSaying) {
    told_by(std::min(estimate.time_ms / 50, kMostProbingMs));
  }
  return estimate;
}

}  // namespace locus::models
