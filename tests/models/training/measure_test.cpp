// Metrics and their 95 % intervals, by hand.
#include "models/training/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/models/edits/twins.h"

namespace locus::training {
namespace {

// Wilson 1927, as published tables and statsmodels' proportion_confint have it.
TEST(Measure, ErrorsHaveWilsonsInterval) {
  const auto expect = [](double wrong, double count, double low, double high) {
    const Measurement got = binomial(wrong, count);
    EXPECT_DOUBLE_EQ(got.value, wrong / count);
    EXPECT_NEAR(got.low, low, 5e-5) << wrong << " of " << count;
    EXPECT_NEAR(got.high, high, 5e-5) << wrong << " of " << count;
  };
  expect(1, 10, 0.01788, 0.40415);
  expect(0, 10, 0, 0.27753);
  expect(10, 10, 0.72247, 1);
  expect(50, 100, 0.40383, 0.59617);
  expect(3, 64, 0.01607, 0.12900);
}

// Four sequences of different numbers of counted targets.
class Counted : public Task {
 public:
  explicit Counted(Metric metric) : metric_(metric) {
    at::manual_seed(8);
    examples_.ids = at::randint(40, {4, 6}, at::kLong);
    examples_.targets = at::randint(40, {4, 6}, at::kLong);
    examples_.targets[0].slice(0, 0, 3).fill_(kIgnored);
    examples_.targets[2].slice(0, 1).fill_(kIgnored);
  }
  const Examples& examples() const { return examples_; }

  std::int64_t vocabulary() const override { return 40; }
  std::int64_t length() const override { return 6; }
  Metric metric() const override { return metric_; }
  Examples training_examples(Random& /*random*/, std::int64_t /*count*/) const override { return {}; }
  std::vector<std::string> splits() const override { return {"in"}; }
  Examples evaluation_examples(std::size_t /*split*/, std::uint64_t /*seed*/, std::int64_t first,
                               std::int64_t count) const override {
    return examples_.slice(first, std::min<std::int64_t>(first + count, 4));
  }
  std::int64_t evaluation_count(std::size_t /*split*/) const override { return 4; }
  double bytes_per_target(std::size_t /*split*/) const override { return 2.5; }
  Status write_input_files(const std::filesystem::path& /*folder*/) const override { return {}; }

 private:
  Metric metric_;
  Examples examples_;
};

// The ratio of two sums over sequences, and its deviation by linearisation: √Σ(nats_s − mean·targets_s)² / Σ targets.
TEST(Measure, BitsAreARatioOfSumsWithTheirInterval) {
  transformer::Spec spec = test::small_spec(4, "rope", {});
  spec.vocabulary = 40;
  const auto model = test::model_of(spec);
  const Counted task(Metric::kBitsPerByte);
  const at::Tensor logits = [&] {
    const at::NoGradGuard no_grad;
    const Examples& all = task.examples();
    return model->forward(Network(*model).batch(all, Network(*model).natural_positions(all), at::kCPU)).log_softmax(-1);
  }();
  std::vector<double> nats(4);
  std::vector<double> targets(4);
  double all_nats = 0;
  double all_targets = 0;
  for (std::int64_t s = 0; s < 4; ++s) {
    const auto n = static_cast<std::size_t>(s);
    for (std::int64_t t = 0; t < 6; ++t) {
      const auto target = task.examples().targets[s][t].item<std::int64_t>();
      nats[n] -= target == kIgnored ? 0 : logits[s][t][target].item<double>();
      targets[n] += target == kIgnored ? 0 : 1;
    }
    all_nats += nats[n];
    all_targets += targets[n];
  }
  const double mean = all_nats / all_targets;
  double spread = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    spread += std::pow(nats[n] - mean * targets[n], 2);
  }
  const double half = 1.959964 * std::sqrt(spread) / all_targets;
  const double unit = std::numbers::ln2 * 2.5;
  const auto got = measure(*model, task, 0);
  ASSERT_TRUE(got.ok()) << got.error().describe();
  EXPECT_EQ(all_targets, 16);
  EXPECT_GT(half, 0.01);
  EXPECT_NEAR(got->value, mean / unit, 1e-5);
  EXPECT_NEAR(got->low, (mean - half) / unit, 1e-5);
  EXPECT_NEAR(got->high, (mean + half) / unit, 1e-5);
  EXPECT_NEAR(got->perplexity, std::exp(mean), 1e-4 * std::exp(mean));
}

// A sequence is wrong where any of its counted targets is not the likeliest token.
TEST(Measure, ASequenceIsWrongByOneTarget) {
  transformer::Spec spec = test::small_spec(4, "rope", {});
  spec.vocabulary = 40;
  const auto model = test::model_of(spec);
  Counted task(Metric::kError);
  at::Tensor targets = task.examples().targets;
  const at::NoGradGuard no_grad;
  const at::Tensor likeliest = model
                                   ->forward(Network(*model).batch(
                                       task.examples(), Network(*model).natural_positions(task.examples()), at::kCPU))
                                   .argmax(-1);
  targets.copy_(at::where(targets == kIgnored, targets, likeliest));
  EXPECT_EQ(measure(*model, task, 0)->value, 0);
  targets[1][4] = (targets[1][4] + 1) % 40;
  targets[1][5] = (targets[1][5] + 1) % 40;
  EXPECT_EQ(measure(*model, task, 0)->value, 0.25);
  targets[3][0] = (targets[3][0] + 1) % 40;
  EXPECT_EQ(measure(*model, task, 0)->value, 0.5);
}

}  // namespace
}  // namespace locus::training
