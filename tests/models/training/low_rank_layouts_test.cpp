// LoRA in training: its gradients are those of the weights that it changes.
#include "models/training/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/training/network.h"
#include "models/training/replicas.h"
#include "tests/models/training/low_rank_spec.h"
#include "tests/support/golden.h"

namespace locus::training {
namespace {

constexpr std::int64_t kAddedRank = 2;

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

}  // namespace
}  // namespace locus::training
