// Half-lives of a run on tiny hybrids with generated weights.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/generated_tensors.h"

namespace locus::test {
namespace {

using models::Side;

struct Hybrid {
  explicit Hybrid(const std::string& type) : stored(type) {
    folder.write("config.json", stored.data().at("config").dump());
    stored.write_tensors(folder.path());
    model = open_model(folder.path());
    input = stored.input(folder.path());
  }

  std::shared_ptr<const models::Trace> mixers() const {
    const auto run = model->run(input);
    return run.ok() ? (*run)->side(Side::kMixer) : nullptr;
  }

  ConformanceType stored;
  TemporaryFolder folder;
  std::shared_ptr<const models::Model> model;
  models::Input input;
};

// Of Mamba-2 in the first layer: g = −e^A_log · softplus(W_dt norm(x) + dt_bias).
TEST(MixerSide, IsThatOfTheWeights) {
  const Hybrid hybrid("bamba");
  ASSERT_NE(hybrid.model, nullptr);
  const auto trace = hybrid.mixers();
  ASSERT_NE(trace, nullptr);
  const auto made = [](const std::string& name, const std::vector<std::int64_t>& shape, double offset, double scale) {
    return generated_tensor("model." + name, shape, offset, scale).to(at::kDouble);
  };
  const std::vector<std::int64_t> ids = hybrid.stored.data().at("input").at("ids");
  const at::Tensor x = made("embed_tokens.weight", {96, 64}, 0, 0.5).index_select(0, at::tensor(ids, at::kLong));
  const at::Tensor normed =
      x * at::rsqrt(x.square().mean(-1, true) + 1e-5) * made("layers.0.input_layernorm.weight", {64}, 1, 0.1);
  const at::Tensor step_weights = made("layers.0.mamba.in_proj.weight", {296, 64}, 0, 0.2).slice(0, 288);
  const at::Tensor step =
      at::softplus(at::matmul(normed, step_weights.t()) + made("layers.0.mamba.dt_bias", {8}, 1, 0.1));
  const at::Tensor wanted = std::log(2.0) / (made("layers.0.mamba.A_log", {8}, 1.3, 0.1).exp() * step);  // (T, H)
  const auto found = trace->half_life(0);
  ASSERT_TRUE(found.ok()) << found.error().describe();
  ASSERT_EQ(found->rows, 8);
  ASSERT_EQ(found->columns, static_cast<std::int64_t>(ids.size()));
  for (std::int64_t head = 0; head < found->rows; ++head) {
    for (std::int64_t token = 0; token < found->columns; ++token) {
      const auto expected = wanted[token][head].item<double>();
      EXPECT_NEAR(found->at(head, token), expected, 2e-5 * (1 + expected)) << head << " " << token;
    }
  }
}

TEST(MixerSide, IsRefusedWhereNothingDecays) {
  const Hybrid convolutions("lfm2");
  ASSERT_NE(convolutions.model, nullptr);
  const auto run = convolutions.model->run(convolutions.input);
  ASSERT_TRUE(run.ok());
  const auto said = [](const models::Trace& trace, std::int64_t layer) {
    const auto found = trace.half_life(layer);
    return found.ok() ? "" : found.error().describe();
  };
  EXPECT_EQ(said(**run, 0), "layer 0 has no mixer here");
  const auto mixers = (*run)->side(Side::kMixer);
  ASSERT_NE(mixers, nullptr);
  EXPECT_EQ(said(*mixers, 0), "layer 0 has no decay: short convolution");
  EXPECT_EQ(said(*mixers, 1), "layer 1 has no mixer here");
  EXPECT_EQ(mixers->half_life(0).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(mixers->half_life(99).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(mixers->model().layer_info[0].mixer_reach, convolutions.model->info().layer_info[0].mixer_reach);
  EXPECT_GT(mixers->model().layer_info[0].mixer_reach, 0);
  const auto file = convolutions.folder.path() / "run.safetensors";
  const Hybrid decaying("bamba");
  ASSERT_TRUE((*decaying.model->run(decaying.input))->write(file, {"attention"}).ok());
  const auto stored = open_trace(file);
  ASSERT_TRUE(stored.ok()) << stored.error().describe();
  const auto side = (*stored)->side(Side::kMixer);
  if (side != nullptr) {
    EXPECT_EQ(said(*side, 0), "layer 0: a file does not keep how its mixer decays");
  }
}

}  // namespace
}  // namespace locus::test
