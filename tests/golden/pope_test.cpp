// Polar coordinates against PoPE-pytorch in float64 (lucidrains/PoPE-pytorch ee11cab). Tolerance 1e-10 in float64, 1e-5
// in float32.
#include <gtest/gtest.h>

#include <numbers>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

class Pope : public testing::TestWithParam<std::string> {};

TEST_P(Pope, sizesPhasesLogitsWeightsAndOutputs) {
  const Golden golden("pope");
  const std::string name = GetParam();
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) { return golden[name + "." + part].to(of); };
    const at::Tensor query = tensor("q").unsqueeze(0);
    const at::Tensor key = tensor("k").unsqueeze(0);
    const at::Tensor value = tensor("v").unsqueeze(0);
    const position::ModelShape shape = shape_of(query.size(1), query.size(3));
    const std::int64_t polar = golden[name + ".w.bias"].size(1);
    const double fraction = static_cast<double>(polar) / static_cast<double>(query.size(3));
    const auto pope = encoding("pope", {{"fraction", fraction}}, shape);
    parameter(*pope, "layers.0.phase") = tensor("w.bias");
    const position::Prepared prepared = prepare(*pope, Positions::sequence(query.size(2)), query, key);
    const auto sizes = [&](const at::Tensor& content) { return content[0].slice(-1, 0, polar); };
    EXPECT_CLOSE(sizes(prepared.content_query), golden[name + ".q_magnitude"].slice(-1, 0, polar), tolerance);
    EXPECT_CLOSE(sizes(prepared.content_key), golden[name + ".k_magnitude"].slice(-1, 0, polar), tolerance);
    const position::TileScores scores = whole_map(*pope, prepared, 0, {.content = true});
    const Range all{0, query.size(2)};
    const attention::Mask mask{true};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[name + ".logits"], tolerance);
    // No phase makes more of the sizes than they are.
    EXPECT_GE((scores.content - scores.logits).min().item<double>(), -1e-5);
    const attention::Attention attention{*pope, prepared, 0, value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Pope, testing::Values("a", "b", "partial"));

// The sum over channels, one by one, of heads that share a key and far from position 0.
TEST(PopeSum, isThatOfItsChannels) {
  at::manual_seed(5);
  constexpr std::int64_t kTokens = 19;
  constexpr std::int64_t kWidth = 6;
  const auto pope = encoding("pope", {{"base", 50.0}, {"fraction", 0.5}, {"per_layer", false}}, shape_of(4, kWidth, 2));
  const at::Tensor phase = at::randn({4, 3}, at::kDouble) * 4;
  parameter(*pope, "phase") = phase;
  const at::Tensor query = at::randn({1, 4, kTokens, kWidth}, at::kDouble);
  const at::Tensor key = at::randn({1, 2, kTokens, kWidth}, at::kDouble);
  const at::Tensor logits = whole_map(*pope, prepare(*pope, Positions::sequence(kTokens, 1000), query, key)).logits[0];
  const auto number = [](const at::Tensor& x, std::int64_t head, std::int64_t token, std::int64_t channel) {
    return x[0][head][token][channel].item<double>();
  };
  const auto size = [](double x) { return std::log1p(std::exp(x)); };
  for (std::int64_t head = 0; head < 4; ++head) {
    for (const auto& [i, j] : {std::pair{0, 0}, std::pair{18, 0}, std::pair{7, 5}, std::pair{3, 11}}) {
      double sum = 0;
      for (std::int64_t c = 0; c < kWidth; ++c) {
        const double q = number(query, head, i, c);
        const double k = number(key, head / 2, j, c);
        const double delta = c < 3 ? std::clamp(phase[head][c].item<double>(), -2 * std::numbers::pi, 0.0) : 0;
        const double angle = (i - j) * std::pow(50.0, -static_cast<double>(c) / 3) - delta;
        sum += c < 3 ? size(q) * size(k) * std::cos(angle) : q * k;
      }
      EXPECT_NEAR(logits[head][i][j].item<double>(), sum / std::sqrt(6.0), 1e-10);
    }
  }
}

}  // namespace
}  // namespace locus::test
