// LoRA in training: the base stays as it was, and what is added has no more than its rank.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>

#include "models/engine/loaded_model.h"
#include "models/training/low_rank.h"
#include "models/training/network.h"
#include "tests/models/training/low_rank_spec.h"
#include "tests/support/golden.h"

namespace locus::training {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTrainedRank = 2;

class LowRankTraining : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("locus_low_rank_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream text(folder_ / "corpus.txt");
    for (int n = 0; n < 100; ++n) {
      text << "a rose is a rose " << n % 10 << "\n";
    }
    text.close();
    base_ = options_to("base");
    base_.steps = 60;
    const auto trained = train(base_);
    ASSERT_TRUE(trained.ok()) << trained.error().describe();
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrainOptions options_to(const std::string& out) const {
    TrainOptions options;
    options.corpus = {{folder_ / "corpus.txt", "Roses"}};
    options.layers = 2;
    options.heads = 2;
    options.width = 16;
    options.length = 24;
    options.batch = 4;
    options.steps = 10;
    options.warmup = 1;
    options.learning_rate = 1e-2;
    options.save_every = 4;
    options.threads = 2;
    options.out = folder_ / out;
    return options;
  }
  TrainOptions added_to(const std::string& out) const {
    TrainOptions options = options_to(out);
    options.from = base_.out;
    options.lora = kTrainedRank;
    return options;
  }
  static std::map<std::string, at::Tensor> weights_in(const fs::path& folder) {
    std::map<std::string, at::Tensor> all;
    const auto opened = models::open(folder, models::OpenOptions());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().describe());
    auto* const model = *dynamic_cast<const models::LoadedModel&>(**opened).checkpoint().ready();
    for (const auto& parameter : const_cast<transformer::Transformer*>(model)->parameters()) {
      all[parameter.name] = parameter.value->clone();
    }
    return all;
  }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder_;
  TrainOptions base_;
};

TEST_F(LowRankTraining, StepZeroIsTheBaseAndNothingElseMoves) {
  TrainOptions options = added_to("added");
  options.steps = 20;
  options.train_size = options.batch;  // every step measures the same sequences
  std::stop_source stop;
  stop.request_stop();
  ASSERT_TRUE(train(options, {}, stop.get_token()).ok());
  const auto before = weights_in(base_.out);
  for (const auto& [name, value] : weights_in(options.out)) {
    EXPECT_TRUE(value.equal(before.at(name))) << name;
  }
  options.resume = true;
  std::vector<double> losses;
  const auto summary = train(options, [&losses](const TrainProgress& progress) { losses.push_back(progress.loss); });
  ASSERT_TRUE(summary.ok()) << summary.error().describe();
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ(nlohmann::json::parse(bytes_of(options.out / "training.json")).at("lora"), kTrainedRank);
  std::size_t changed = 0;
  const auto expect_rank = [&changed](const at::Tensor& difference, const std::string& name) {
    const at::Tensor values = at::linalg_svdvals(difference.to(at::kDouble));
    EXPECT_GT(values[kTrainedRank - 1].item<double>(), 1e-3 * values[0].item<double>()) << name;
    EXPECT_LT(values[kTrainedRank].item<double>(), 1e-4 * values[0].item<double>()) << name;
    ++changed;
  };
  const auto after = weights_in(options.out);
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, value] : after) {
    const at::Tensor difference = value - before.at(name);
    if (name.ends_with(".attention.qkv.weight")) {
      for (std::int64_t part = 0; part < 3; ++part) {
        expect_rank(difference.slice(0, 16 * part, 16 * (part + 1)), name);
      }
    } else if (name.find(".attention.") != std::string::npos && name.ends_with(".weight")) {
      expect_rank(difference, name);
    } else {
      EXPECT_TRUE(value.equal(before.at(name))) << name;
    }
  }
  EXPECT_EQ(changed, 8U);  // four projections of two layers
}

TEST_F(LowRankTraining, ResumedRunEqualsAnUninterruptedOne) {
  const TrainOptions whole = added_to("whole");
  ASSERT_TRUE(train(whole).ok());
  TrainOptions cut = added_to("cut");
  std::stop_source stop;
  const auto first = train(
      cut,
      [&stop](const TrainProgress& progress) {
        if (progress.step == 5) {
          stop.request_stop();
        }
      },
      stop.get_token());
  ASSERT_TRUE(first.ok() && first->stopped);
  cut.resume = true;
  // What trains other parameters does not continue it.
  for (const std::int64_t rank : {0, 3}) {
    TrainOptions other = cut;
    other.lora = rank;
    const auto refused = train(other);
    ASSERT_FALSE(refused.ok()) << rank;
    EXPECT_NE(refused.error().message.find("lora was 2, now " + std::string(rank == 0 ? "nothing" : "3")),
              std::string::npos)
        << refused.error().describe();
  }
  const auto second = train(cut);
  ASSERT_TRUE(second.ok()) << second.error().describe();
  EXPECT_EQ(bytes_of(cut.out / "model.safetensors"), bytes_of(whole.out / "model.safetensors"));
}

TEST_F(LowRankTraining, NamesWhatCannotBeAdded) {
  const auto expect_usage = [](const TrainOptions& options, const std::string& naming) {
    const auto summary = train(options);
    ASSERT_FALSE(summary.ok()) << naming;
    EXPECT_EQ(summary.error().code, ErrorCode::kUsage) << summary.error().describe();
    EXPECT_NE(summary.error().message.find(naming), std::string::npos) << summary.error().describe();
  };
  const TrainOptions good = added_to("refused");
  TrainOptions options = good;
  options.from.clear();
  expect_usage(options, "lora: expected a checkpoint");
  options = good;
  options.freeze_base = true;
  expect_usage(options, "found both");
  options = good;
  options.lora = -1;
  expect_usage(options, "found -1");
  options = good;
  options.lora = 17;
  expect_usage(options, "expected a rank of 1 to 16, found 17");
  options = good;
  options.encoding = "tape";
  expect_usage(options, "encoding tape");
  EXPECT_FALSE(fs::exists(good.out / "model.safetensors"));
  auto latent = narrow_spec(transformer::QkvLayout::kSeparate);
  latent.each([](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.latent.rank = 4;
    layer.attention.latent.rotated = 2;
    layer.attention.kv_heads = layer.attention.heads;
  });
  const auto model = transformer::Transformer::create(latent);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto refused = LowRank::create(**model, 1, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("latent attention"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace locus::training
