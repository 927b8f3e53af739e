// LoRA in training: its gradients are those of the weights that it changes, the base stays as it was, and what is added
// has no more than its rank.
#include "models/training/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>

#include "models/engine/loaded_model.h"
#include "models/training/network.h"
#include "models/training/replicas.h"
#include "tests/support/golden.h"

namespace locus::training {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kAddedRank = 2;

// Two layers, of which each key head serves two queries: no two projections are of one shape.
transformer::Spec narrow_spec(transformer::QkvLayout layout) {
  transformer::Spec spec;
  spec.width = 12;
  spec.vocabulary = 20;
  spec.trained_length = 9;
  spec.encodings = {{"rope", {}}};
  transformer::LayerSpec layer;
  layer.attention.heads = 4;
  layer.attention.kv_heads = 2;
  layer.attention.head_width = 4;
  layer.attention.qkv = layout;
  layer.feed_forward.inner = 16;
  spec.repeat(layer, 2);
  return spec;
}

std::map<std::string, at::Tensor*> by_name(const OwnNetwork& network) {
  std::map<std::string, at::Tensor*> all;
  for (const transformer::Parameter& parameter : network.parameters()) {
    all[parameter.name] = parameter.value;
  }
  return all;
}

// A network whose additions are not 0, and alone require gradients.
OwnNetwork network_with_additions(transformer::QkvLayout layout) {
  auto made = OwnNetwork::create(narrow_spec(layout), std::nullopt, true, 3);
  EXPECT_TRUE(made.ok()) << made.error().describe();
  auto added = LowRank::create(*made->model, kAddedRank, 5);
  EXPECT_TRUE(added.ok()) << added.error().describe();
  made->low_rank = *std::move(added);
  at::manual_seed(7);
  for (const transformer::Parameter& parameter : made->parameters()) {
    if (parameter.name.ends_with(".lora_B")) {
      EXPECT_EQ(parameter.value->abs().max().item<double>(), 0) << parameter.name;
      parameter.value->normal_(0, 0.3);
    }
    parameter.value->requires_grad_(is_addition(parameter));
  }
  return *std::move(made);
}

Examples some_examples() {
  at::manual_seed(11);
  Examples examples;
  examples.ids = at::randint(20, {5, 9}, at::kLong);
  examples.targets = at::randint(20, {5, 9}, at::kLong);
  return examples;
}

at::Tensor loss_of(const transformer::Transformer& model) {
  const Examples examples = some_examples();
  const at::Tensor logits = model.forward(Network(model).batch(examples, model.positions(9), at::kCPU)).flatten(0, 1);
  return at::cross_entropy_loss(logits, examples.targets.flatten(), {}, at::Reduction::Sum, kIgnored);
}

struct Projection {
  std::string matrix;  // the parameter that holds it
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Of layer 0 and 1, with the rows that they have by the shape: 16 of queries, 8 of keys, 8 of values, 12 of the output.
std::vector<Projection> projections_of(transformer::QkvLayout layout) {
  std::vector<Projection> list;
  for (const char* const layer : {"layers.0.attention.", "layers.1.attention."}) {
    const std::string prefix = layer;
    if (layout == transformer::QkvLayout::kFused) {
      list.push_back({prefix + "qkv.weight", prefix + "query", 0, 16});
      list.push_back({prefix + "qkv.weight", prefix + "key", 16, 24});
      list.push_back({prefix + "qkv.weight", prefix + "value", 24, 32});
    } else {
      list.push_back({prefix + "query.weight", prefix + "query", 0, 16});
      list.push_back({prefix + "key.weight", prefix + "key", 0, 8});
      list.push_back({prefix + "value.weight", prefix + "value", 0, 8});
    }
    list.push_back({prefix + "output.weight", prefix + "output", 0, 12});
  }
  return list;
}

class LowRankLayouts : public testing::TestWithParam<transformer::QkvLayout> {};

// With G the gradient of the loss by W' = W + 2·B·A: that by A is 2·Bᵀ·G, that by B is 2·G·Aᵀ.
TEST_P(LowRankLayouts, GradientsAreThoseOfTheSum) {
  const OwnNetwork network = network_with_additions(GetParam());
  network.merge();
  const at::Tensor loss = loss_of(*network.model);
  loss.backward();
  const auto found = by_name(network);

  auto twin = OwnNetwork::create(narrow_spec(GetParam()), std::nullopt, true, 3);
  ASSERT_TRUE(twin.ok());
  const auto plain = by_name(*twin);
  EXPECT_EQ(found.size(), plain.size() + 2 * projections_of(GetParam()).size());
  for (const auto& [name, value] : plain) {
    EXPECT_TRUE(found.at(name)->equal(*value)) << name;
  }
  for (const Projection& each : projections_of(GetParam())) {
    ASSERT_TRUE(found.count(each.name + ".lora_A") == 1 && plain.count(each.matrix) == 1) << each.name;
    const at::NoGradGuard no_grad;
    const at::Tensor down = *found.at(each.name + ".lora_A");
    const at::Tensor up = *found.at(each.name + ".lora_B");
    EXPECT_EQ(down.size(0), kAddedRank);
    plain.at(each.matrix)->slice(0, each.begin, each.end).add_(at::mm(up, down), 2);
  }
  for (const auto& [name, value] : plain) {
    value->requires_grad_(true);
  }
  const at::Tensor expected = loss_of(*twin->model);
  EXPECT_CLOSE(loss.detach(), expected.detach(), 1e-6);
  expected.backward();
  for (const Projection& each : projections_of(GetParam())) {
    const at::Tensor whole = plain.at(each.matrix)->grad().slice(0, each.begin, each.end);
    const at::Tensor down = *found.at(each.name + ".lora_A");
    const at::Tensor up = *found.at(each.name + ".lora_B");
    EXPECT_CLOSE(down.grad(), 2 * at::mm(up.detach().t(), whole), 1e-4) << each.name;
    EXPECT_CLOSE(up.grad(), 2 * at::mm(whole, down.detach().t()), 1e-4) << each.name;
    EXPECT_GT(up.grad().abs().max().item<double>(), 1e-3) << each.name;
  }
  for (const transformer::Parameter& parameter : network.parameters()) {
    EXPECT_EQ(parameter.value->grad().defined(), is_addition(parameter)) << parameter.name;
  }
}

// The slope along the gradient is its length.
TEST_P(LowRankLayouts, GradientIsTheSlopeOfTheLoss) {
  const OwnNetwork network = network_with_additions(GetParam());
  network.merge();
  loss_of(*network.model).backward();
  std::vector<std::pair<at::Tensor, at::Tensor>> moved;
  double squares = 0;
  for (const transformer::Parameter& parameter : network.parameters()) {
    if (is_addition(parameter)) {
      moved.emplace_back(*parameter.value, parameter.value->grad().clone());
      squares += moved.back().second.square().sum().item<double>();
    }
  }
  const double length = std::sqrt(squares);
  const at::NoGradGuard no_grad;
  const auto at_distance = [&](double distance) {
    for (const auto& [value, gradient] : moved) {
      value.add_(gradient, distance / length);
    }
    network.merge();
    const auto loss = loss_of(*network.model).item<double>();
    for (const auto& [value, gradient] : moved) {
      value.sub_(gradient, distance / length);
    }
    return loss;
  };
  constexpr double kStep = 1e-2;
  const double slope = (at_distance(kStep) - at_distance(-kStep)) / (2 * kStep);
  EXPECT_NEAR(slope, length, 0.01 * length);
}

TEST_P(LowRankLayouts, ThreadsAddUpToOne) {
  const OwnNetwork one = network_with_additions(GetParam());
  const OwnNetwork three = network_with_additions(GetParam());
  const auto backward = [](const OwnNetwork& network, std::int64_t threads) {
    auto replicas = Replicas::create(network, threads);
    EXPECT_TRUE(replicas.ok());
    return (*replicas)->backward(some_examples(), network.model->positions(9), 1);
  };
  const double expected = backward(one, 1);
  EXPECT_NEAR(backward(three, 3), expected, 1e-5 * (1 + std::abs(expected)));
  const auto single = by_name(one);
  for (const auto& [name, value] : by_name(three)) {
    if (single.at(name)->requires_grad()) {
      EXPECT_CLOSE(value->grad(), single.at(name)->grad(), 1e-4) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LowRankLayouts,
                         testing::Values(transformer::QkvLayout::kFused, transformer::QkvLayout::kSeparate),
                         [](const auto& info) {
                           return info.param == transformer::QkvLayout::kFused ? "fused" : "separate";
                         });

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
    base_.steps = 6;
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
    options.lora = kAddedRank;
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
  EXPECT_EQ(nlohmann::json::parse(bytes_of(options.out / "training.json")).at("lora"), kAddedRank);
  std::size_t changed = 0;
  const auto expect_rank = [&changed](const at::Tensor& difference, const std::string& name) {
    const at::Tensor values = at::linalg_svdvals(difference.to(at::kDouble));
    EXPECT_GT(values[kAddedRank - 1].item<double>(), 1e-3 * values[0].item<double>()) << name;
    EXPECT_LT(values[kAddedRank].item<double>(), 1e-4 * values[0].item<double>()) << name;
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
  latent.each([](std::int64_t, transformer::LayerSpec& layer) { layer.attention.latent.rank = 4; });
  const auto model = transformer::Transformer::create(latent);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto refused = LowRank::create(**model, 1, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("latent attention"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace locus::training
