// The time of long runs, told from short ones.
#include "models/timed_estimate.h"

#include <gtest/gtest.h>

#include "tests/support/paths.h"

namespace locus::models {
namespace {

// A model of 10 multiply-accumulates a token and 2 a cell, with attention over at most `window` keys.
class Counted final : public Model {
 public:
  explicit Counted(double window) : window_(window) {}
  const ModelInfo& info() const override { return info_; }
  double macs(std::int64_t length) const override {
    const auto tokens = static_cast<double>(length);
    return tokens * 10 + 2 * tokens * std::min(tokens, window_);
  }
  Result<std::vector<TokenInfo>> tokenize(const Input& /*input*/) const override { return std::vector<TokenInfo>(); }
  Result<std::shared_ptr<const Trace>> run(const Input& /*input*/, const RunOptions& /*options*/, StopToken /*stop*/,
                                           const Progress& /*progress*/) const override {
    return unsupported("it does not run");
  }

 private:
  ModelInfo info_;
  double window_;
};

TEST(TimedEstimate, TokensAndCellsHaveARateEach) {
  const Counted model(1e9);
  // 12 multiply-accumulates a token (one cell of which is its own) take 3 µs each, the cells beyond 0.5 µs each.
  const auto time = [&](std::int64_t length) {
    const auto tokens = static_cast<double>(length);
    return 3e-3 * 12 * tokens + 0.5e-3 * (model.macs(length) - 12 * tokens);
  };
  EXPECT_NEAR(extrapolated_ms(model, 20'000, 256, time(256), 1024, time(1024)), time(20'000), 1e-6 * time(20'000));
  // All of the time is the tokens', or all of it the cells': never a negative rate of the other.
  EXPECT_NEAR(extrapolated_ms(model, 20'000, 256, 100, 1024, 300), 300.0 * 20'000 / 1024, 1e-6);
  const double cells = extrapolated_ms(model, 20'000, 256, 0.001, 1024, 300);
  EXPECT_NEAR(cells, 300 * (model.macs(20'000) - 240'000) / (model.macs(1024) - 12 * 1024), 1e-6 * cells);
}

TEST(TimedEstimate, AWindowBoundsTheCells) {
  const Counted windowed(512);
  const auto time = [&](std::int64_t length) { return 1e-3 * windowed.macs(length); };
  EXPECT_NEAR(extrapolated_ms(windowed, 20'000, 256, time(256), 1024, time(1024)), time(20'000), 1e-6 * time(20'000));
}

TEST(TimedEstimate, AModelThatDoesNotRunKeepsItsOwnEstimate) {
  EXPECT_EQ(timed_estimate(Counted(1e9), 5000, {}).time_ms, 0);
}

// One of five tries, since whoever else uses the machine may come and go.
TEST(TimedEstimate, IsWithinAFactorOfTwoOfTheRun) {
  for (const char* name : {"text-rope", "text-cope", "text-tape"}) {
    const auto model = open(test::source_dir() + "/assets/checkpoints/" + name, OpenOptions());
    ASSERT_TRUE(model.ok()) << model.error().describe();
    Input input;
    input.ids = std::vector<std::int64_t>(4000, 101);
    std::string tries;
    bool met = false;
    for (int n = 0; n < 5 && !met; ++n) {
      const Estimate estimate = timed_estimate(**model, 4000, {});
      const auto trace = (*model)->run(input);
      ASSERT_TRUE(trace.ok()) << trace.error().describe();
      const double ratio = estimate.time_ms / (*trace)->time_ms();
      tries += " " + std::to_string(ratio);
      met = ratio > 0.5 && ratio < 2;
    }
    EXPECT_TRUE(met) << name << ": estimated over taken:" << tries;
  }
}

}  // namespace
}  // namespace locus::models
