// What a run will take, from shapes and from what work takes on this machine.
#include "models/api/run_estimate.h"

#include <gtest/gtest.h>

#include <limits>

#include "models/engine/loaded_model.h"
#include "models/engine/throughput.h"
#include "models/engine/vision.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus::models {
namespace {

// Products and cells have a pace each: what they take is what they are, of any length and either mask.
TEST(RunEstimate, ProductsAndCellsArePaced) {
  for (const bool causal : {true, false}) {
    transformer::Spec spec;
    spec.width = 24;
    spec.vocabulary = 50;
    spec.causal = causal;
    spec.encodings = {{"none", {}}, {"alibi", {}}};
    transformer::LayerSpec layer;
    layer.attention.heads = layer.attention.kv_heads = 3;
    layer.attention.head_width = 8;
    layer.feed_forward.inner = 40;
    spec.layers = {layer, layer, layer};
    spec.layers[1].encoding = 1;
    spec.layers[2].attention.window = 16;
    auto model = transformer::Transformer::create(spec);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    for (const std::int64_t length : {40, 200}) {
      const auto tokens = static_cast<double>(length);
      double whole = 0;  // cells of a head that sees all, counted
      double near = 0;   // within the window
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = 0; j < length; ++j) {
          const bool seen = !causal || j <= i;
          whole += seen ? 1 : 0;
          near += seen && std::abs(i - j) < 16 ? 1 : 0;
        }
      }
      const double expected = 2e-3 * 3 * (whole + near) + 5e-3 * 3 * whole;
      const double cells = run_ms(**model, {0, {2e-3, 5e-3}}, length, true);
      EXPECT_NEAR(cells, expected, 0.1 * expected) << length;  // half a diagonal, and windows cut at the edges
      // q, k, v, output and three matrices of the feed-forward of each layer, and the head.
      const double products = tokens * (3 * (4.0 * 24 * 24 + 3.0 * 24 * 40) + 24.0 * 50);
      EXPECT_NEAR(run_ms(**model, {1e-6, {0, 0}}, length, true), 1e-6 * products, 1e-9 * products);
      const double last = products - (tokens - 1) * 24 * 50;
      EXPECT_NEAR(run_ms(**model, {1e-6, {0, 0}}, length, false), 1e-6 * last, 1e-9 * products);
    }
  }
}

// Nothing of the model runs for an estimate: a run of as many tokens would take a day and more memory than there is.
TEST(RunEstimate, RunsNothing) {
  for (const char* name : {"text-rope", "text-cope", "text-tape", "text-seqpe", "text-tapa"}) {
    const auto model = open(test::source_dir() + "/assets/checkpoints/" + name, OpenOptions());
    ASSERT_TRUE(model.ok()) << model.error().describe();
    ASSERT_TRUE((*model)->read_weights({}, {}).ok());
    const Estimate estimate = (*model)->estimate(std::int64_t{1} << 30, {});
    EXPECT_GT(estimate.time_ms, 86'400'000) << name;
    EXPECT_FALSE(estimate.fits) << name;
  }
}

// Any number is taken, since one may come from another program: below 0 as none, above 2^30 as that.
TEST(RunEstimate, TakesAnyLength) {
  const auto model = test::open_model(test::source_dir() + "/assets/checkpoints/text-rope");
  ASSERT_NE(model, nullptr);
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(model->estimate(kLowest).memory_mb, model->estimate(0).memory_mb);
  EXPECT_EQ(model->estimate(kHighest).memory_mb, model->estimate(std::int64_t{1} << 30).memory_mb);
  EXPECT_GT(model->estimate(kHighest).memory_mb, model->estimate(1 << 20).memory_mb);
}

// Weights of 16 bits that stay so count as such, whatever the number of parameters.
TEST(RunEstimate, CountsWeightsAsTheyAreHeld) {
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
  EXPECT_DOUBLE_EQ(run_estimate(Held(), 8, {}).memory_mb, 9);
  // A small checkpoint is converted to float32.
  const auto model = open(test::source_dir() + "/assets/checkpoints/text-rope", OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const Estimate own = (*model)->estimate(8, {});
  EXPECT_NEAR(own.weights_mb, 4e-6 * static_cast<double>((*model)->info().parameters), 1e-9);
  EXPECT_DOUBLE_EQ(run_estimate(**model, 8, {}).memory_mb, own.memory_mb + own.weights_mb);
}

// The run's own first layers correct what was expected of it.
TEST(RunEstimate, WhatIsLeftIsCorrectedByWhatIsDone) {
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
TEST(RunEstimate, OfOneTextIsAlwaysTheSame) {
  const auto model = open(test::source_dir() + "/assets/checkpoints/text-rope", OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  ASSERT_TRUE((*model)->read_weights({}, {}).ok());
  const double once = run_estimate(**model, 50'000, {}).time_ms;
  for (const std::int64_t between : {300, 5000}) {
    Input input;
    input.ids = std::vector<std::int64_t>(static_cast<std::size_t>(between), 101);
    ASSERT_TRUE((*model)->run(input).ok());
    EXPECT_EQ(run_estimate(**model, 50'000, {}).time_ms, once) << between;
  }
  EXPECT_GT(run_estimate(**model, 100'000, {}).time_ms, 2 * once);
  const double rest = run_estimate(**model, 50'000, {}, 49'990).time_ms;
  EXPECT_GT(rest, 0);
  EXPECT_LT(rest, once / 100);  // all but ten tokens come from another run
}

// What the connectors of a family multiply: its matrices with as many vectors as a picture becomes.
TEST(RunEstimate, ConnectorsCountTheirMatrices) {
  int counted = 0;
  for (const char* family :
       {"qwen2_vl", "qwen3_vl", "llava", "gemma3", "idefics3", "internvl", "mistral3", "aya_vision", "vipllava"}) {
    const auto model = open(test::pictured_folder(family), OpenOptions());
    ASSERT_TRUE(model.ok()) << model.error().describe();
    ASSERT_TRUE((*model)->read_weights({}, {}).ok());
    const Vision& vision = *loaded_model_of(**model)->checkpoint().parts().vision;
    transformer::Connector connector = vision.connector();
    double numbers = 0;
    for (const transformer::Parameter& each : connector.parameters()) {
      numbers += each.shape.size() == 2 ? static_cast<double>(each.shape[0] * each.shape[1]) : 0;
    }
    const std::int64_t cell = connector.spec().cell();
    const std::int64_t prefix = vision.tower().prefix_tokens();
    const auto vectors = static_cast<double>(connector.spec().count(4 * cell, 3 * cell, prefix));
    EXPECT_EQ(connector.macs(4 * cell, 3 * cell, prefix), numbers * vectors) << family;
    counted += numbers > 0 ? 1 : 0;
  }
  EXPECT_GE(counted, 6);
}

// Pictures count until they were seen: then a text beside them costs what the text does.
TEST(RunEstimate, PicturesCountUntilTheyAreKept) {
  const auto model = open(test::pictured_folder("qwen3_vl"), OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  ASSERT_TRUE((*model)->read_weights({}, {}).ok());
  auto input = test::pictured_input("qwen3_vl", true);
  ASSERT_TRUE(input.ok()) << input.error().describe();
  ASSERT_EQ(input->images.size(), 2U);
  Input one = *input;
  one.images.pop_back();
  const Estimate both = pictures_estimate(**model, *input, {});
  const Estimate first = pictures_estimate(**model, one, {});
  EXPECT_GT(first.time_ms, 0);
  EXPECT_GT(first.memory_mb, 0);
  EXPECT_GT(both.time_ms, first.time_ms);
  EXPECT_GT(both.memory_mb, first.memory_mb);
  EXPECT_EQ(pictures_estimate(**model, {.text = "no picture"}, {}).time_ms, 0);
  one.images = {"missing.png"};
  EXPECT_EQ(pictures_estimate(**model, one, {}).memory_mb, 0);  // run() says that it is missing
  ASSERT_TRUE((*model)->run(*input).ok());
  EXPECT_EQ(pictures_estimate(**model, *input, {}).time_ms, 0);
  EXPECT_EQ(pictures_estimate(**model, *input, {}).memory_mb, 0);
  EXPECT_GT(pictures_estimate(**model, *input, {.keep = {"hidden"}}).memory_mb, 0);  // whose states were not kept

  Estimate run;
  run.memory_mb = 12;  // weights of 2 among them
  run.weights_mb = 2;
  run.available_mb = 15;
  run.time_ms = 3;
  Estimate pictures;
  pictures.memory_mb = 5;
  pictures.time_ms = 4;
  EXPECT_EQ(with_pictures(run, pictures).memory_mb, 17);
  EXPECT_EQ(with_pictures(run, pictures).time_ms, 7);
  EXPECT_TRUE(with_pictures(run, pictures).fits);  // the weights are not of what is available
  pictures.memory_mb = 5.1;
  EXPECT_FALSE(with_pictures(run, pictures).fits);
}

// Four times the patches take more than four times as long, since they look at each other.
TEST(RunEstimate, LargerPicturesTakeLonger) {
  const test::TemporaryFolder folder;
  const auto model = open(test::source_dir() + "/assets/checkpoints/captions-mrope", OpenOptions());
  ASSERT_TRUE(model.ok()) << model.error().describe();
  std::vector<Estimate> estimates;
  for (const std::int64_t side : {32, 64}) {
    const std::filesystem::path file = folder.path() / (std::to_string(side) + ".safetensors");
    test::write_tensors(file, {{"pixel_values", at::zeros({1, 3, side, side})}});
    estimates.push_back(pictures_estimate(**model, {.text = "<image> a red circle", .pixels = file}, {}));
  }
  EXPECT_GT(estimates[0].time_ms, 0);
  EXPECT_GT(estimates[1].time_ms, 4 * estimates[0].time_ms);
  EXPECT_GT(estimates[1].memory_mb, 4 * estimates[0].memory_mb);
}

}  // namespace
}  // namespace locus::models
