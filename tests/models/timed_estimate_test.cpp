// The time of long runs, told from short ones.
#include "models/api/timed_estimate.h"

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
  const auto extrapolated_ms = [&](double first_ms, double second_ms) {
    return time_of(model, pace_of(model, 256, first_ms, 1024, second_ms), 20'000);
  };
  EXPECT_NEAR(extrapolated_ms(time(256), time(1024)), time(20'000), 1e-6 * time(20'000));
  // All of the time is the tokens', or all of it the cells': never a negative rate of the other.
  EXPECT_NEAR(extrapolated_ms(100, 300), 300.0 * 20'000 / 1024, 1e-6);
  const double cells = extrapolated_ms(0.001, 300);
  EXPECT_NEAR(cells, 300 * (model.macs(20'000) - 240'000) / (model.macs(1024) - 12 * 1024), 1e-6 * cells);
}

TEST(TimedEstimate, AWindowBoundsTheCells) {
  const Counted windowed(512);
  const auto time = [&](std::int64_t length) { return 1e-3 * windowed.macs(length); };
  EXPECT_NEAR(time_of(windowed, pace_of(windowed, 256, time(256), 1024, time(1024)), 20'000), time(20'000),
              1e-6 * time(20'000));
}

TEST(TimedEstimate, AModelThatDoesNotRunKeepsItsOwnEstimate) {
  EXPECT_EQ(timed_estimate(Counted(1e9), 5000, {}).time_ms, 0);
}

// Weights of 16 bits that stay so count as such, whatever the number of parameters.
TEST(TimedEstimate, CountsWeightsAsTheyAreHeld) {
  class Held final : public Model {
   public:
    Held() { info_.parameters = 1'000'000; }
    const ModelInfo& info() const override { return info_; }
    double macs(std::int64_t length) const override { return static_cast<double>(length); }
    Result<std::vector<TokenInfo>> tokenize(const Input& /*input*/) const override { return std::vector<TokenInfo>(); }
    Result<std::shared_ptr<const Trace>> run(const Input& /*input*/, const RunOptions& /*options*/, StopToken /*stop*/,
                                             const Progress& /*progress*/) const override {
      return unsupported("it does not run");
    }
    Estimate estimate(std::int64_t /*length*/, const RunOptions& /*options*/) const override {
      Estimate estimate;
      estimate.memory_mb = 7;
      estimate.weights_mb = 2;
      return estimate;
    }

   private:
    ModelInfo info_;
  };
  EXPECT_DOUBLE_EQ(timed_estimate(Held(), 8, {}).memory_mb, 9);
  // A small checkpoint is converted to float32.
  const auto model = open(test::source_dir() + "/assets/checkpoints/text-rope", OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const Estimate own = (*model)->estimate(8, {});
  EXPECT_NEAR(own.weights_mb, 4e-6 * static_cast<double>((*model)->info().parameters), 1e-9);
  EXPECT_DOUBLE_EQ(timed_estimate(**model, 8, {}).memory_mb, own.memory_mb + own.weights_mb);
}

TEST(TimedEstimate, CellsThatAProbeDoesNotShowHaveAUsualRate) {
  // Attention sees one key: nothing grows with the cells.
  const Pace pace = pace_of(Counted(1), 1, 1, 4, 4);
  EXPECT_GT(pace.token_ms, 0);
  EXPECT_GT(pace.cell_ms, pace.token_ms);
  EXPECT_NEAR(time_of(Counted(1), pace, 4), 4, 1e-9);
}

// A large model reads its weights once a run, however few tokens the probes have: that does not grow with the text.
TEST(TimedEstimate, WhatDoesNotGrowWithTheTokensIsNotScaled) {
  const Counted model(1);
  const auto time = [&](std::int64_t length) { return 500 + 0.25 * static_cast<double>(length); };
  const Pace pace = pace_of(model, 4, time(4), 16, time(16));
  EXPECT_NEAR(time_of(model, pace, 4000), time(4000), 1e-6 * time(4000));
  // Noise: the shorter run took longer. No rate is negative.
  const Pace odd = pace_of(model, 4, 600, 16, 500);
  EXPECT_EQ(odd.token_ms, 0);
  EXPECT_EQ(time_of(model, odd, 4000), 500);
}

// The run's own first layers correct what was expected of it.
TEST(TimedEstimate, WhatIsLeftIsCorrectedByWhatIsDone) {
  EXPECT_EQ(left_ms(1000, 0, 0, 0.1), 1000);
  EXPECT_EQ(left_ms(1000, 0, 400, 0.1), 600);
  // It goes ten times slower than was expected: after the first tenth that is what is said, after a twentieth halfway.
  EXPECT_NEAR(left_ms(1000, 0.1, 1000, 0.1), 9000, 1e-6);
  EXPECT_NEAR(left_ms(1000, 0.05, 500, 0.1), (0.5 * 1000 + 0.5 * 10'000) * 0.95, 1e-6);
  EXPECT_NEAR(left_ms(1000, 0.5, 5000, 0.1), 5000, 1e-6);
  EXPECT_EQ(left_ms(1000, 1, 5000, 0.1), 0);
  EXPECT_GE(left_ms(1000, 0.01, 5000, 0.1), 0);
}

// Whoever asks, and however often: what a text is said to take does not change, and grows with the text.
TEST(TimedEstimate, OfOneTextIsAlwaysTheSame) {
  const auto model = open(test::source_dir() + "/assets/checkpoints/text-rope", OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const double once = timed_estimate(**model, 50'000, {}).time_ms;
  for (const std::int64_t between : {300, 5000}) {
    Input input;
    input.ids = std::vector<std::int64_t>(static_cast<std::size_t>(between), 101);
    ASSERT_TRUE((*model)->run(input).ok());  // teaches estimate() another rate
    EXPECT_EQ(timed_estimate(**model, 50'000, {}).time_ms, once) << between;
  }
  EXPECT_GT(timed_estimate(**model, 100'000, {}).time_ms, 2 * once);
  const double rest = timed_estimate(**model, 50'000, {}, {}, 49'990).time_ms;
  EXPECT_GT(rest, 0);
  EXPECT_LT(rest, once / 100);  // all but ten tokens come from another run
}

// One of five tries, since whoever else uses the machine may come and go.
TEST(TimedEstimate, IsWithinAFactorOfTwoOfTheRun) {
  for (const char* name : {"text-rope", "text-cope", "text-tape"}) {
    Input input;
    input.ids = std::vector<std::int64_t>(4000, 101);
    std::string tries;
    bool met = false;
    for (int n = 0; n < 5 && !met; ++n) {
      // Opened anew: a model's pace is measured once.
      const auto model = open(test::source_dir() + "/assets/checkpoints/" + name, OpenOptions());
      ASSERT_TRUE(model.ok()) << model.error().describe();
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
