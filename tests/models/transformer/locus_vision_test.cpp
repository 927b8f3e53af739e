// Vision-language checkpoints of Locus's own: tower, connector and placeholder in config.json.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/transformer/connector_config.h"
#include "models/transformer/locus_config.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using nlohmann::json;
using namespace transformer;

constexpr std::int64_t kPlaceholder = 7;
constexpr std::int64_t kSide = 8;  // of a picture in patches of 4 pixels, pooled 2 × 2

ConnectorSpec every_step() {
  ConnectorSpec spec;
  spec.states = {1, 2};
  spec.steps = {{.kind = ConnectorKind::kJoin, .size = 2},
                {.kind = ConnectorKind::kNorm, .name = "norm", .bias = false, .norm = Norm::kLayer, .eps = 1e-6},
                {.kind = ConnectorKind::kLinear, .name = "inner", .size = 24},
                {.kind = ConnectorKind::kActivation, .activation = Activation::kSilu},
                {.kind = ConnectorKind::kGated, .name = "gated", .size = 12, .bias = false},
                {.kind = ConnectorKind::kHalve, .activation = Activation::kSilu},
                {.kind = ConnectorKind::kScale, .name = "scale"},
                {.kind = ConnectorKind::kNorm, .name = "bare", .weight = false, .norm = Norm::kRms},
                {.kind = ConnectorKind::kLinear, .name = "2", .size = 32, .bias = false}};
  return spec;
}

Spec small_tower() {
  Spec spec;
  spec.width = 16;
  LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 2;
  layer.attention.head_width = 8;
  layer.feed_forward.inner = 32;
  spec.repeat(layer, 2);
  spec.encodings = {{"rope-axial", {}}};
  spec.image = {4, 3, kSide, kSide, 0, 0};
  spec.pool = Pool::kPatches;
  spec.causal = spec.head = false;
  return spec;
}

Spec small_text() {
  Spec spec;
  spec.vocabulary = 11;
  spec.width = 32;
  LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 2;
  layer.attention.head_width = 16;
  layer.feed_forward.inner = 64;
  spec.repeat(layer, 2);
  spec.encodings = {{"rope", {{"sections", std::vector<double>{2, 3, 3}}}}};
  return spec;
}

json seeing_config() {
  json config = json::parse(locus_config(small_text()).dump());
  config["vision"] = json::parse(locus_config(small_tower()).dump());
  config["connector"] = json::parse(connector_config(every_step()).dump());
  config["placeholder"] = kPlaceholder;
  return config;
}

void add_random(const std::vector<Parameter>& parameters, const std::string& prefix, test::Tensors& tensors) {
  for (const Parameter& parameter : parameters) {
    tensors[prefix + parameter.name] = at::randn(parameter.shape) * 0.1;
  }
}

void write_checkpoint(const std::filesystem::path& folder) {
  at::manual_seed(5);
  std::ofstream(folder / "config.json") << seeing_config().dump();
  auto text = Transformer::create(small_text(), false);
  auto tower = Transformer::create(small_tower(), false);
  auto connector = Connector::create(every_step(), small_tower(), small_text().width);
  ASSERT_TRUE(text.ok()) << text.error().describe();
  ASSERT_TRUE(tower.ok()) << tower.error().describe();
  ASSERT_TRUE(connector.ok()) << connector.error().describe();
  test::Tensors tensors;
  add_random((*text)->parameters(), "", tensors);
  add_random((*tower)->parameters(), "vision.", tensors);
  add_random(connector->parameters(), "connector.", tensors);
  test::write_tensors(folder / "model.safetensors", tensors);
}

TEST(LocusVision, KeepsEveryStepOfAConnector) {
  const ConnectorSpec spec = every_step();
  const auto read = parse_connector_config(json::parse(connector_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
}

TEST(LocusVision, OpensAndRunsATextWithAPicture) {
  const test::TemporaryFolder folder;
  write_checkpoint(folder.path());
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().unexpected.empty());
  const std::int64_t cells = kSide / 2 * kSide / 2;
  models::Input input;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(cells) + 2, kPlaceholder);
  ids.front() = 1;
  ids.back() = 2;
  input.ids = ids;
  input.pixels = folder.path() / "pixels.safetensors";
  const auto run = [&](const at::Tensor& pixels) {
    test::write_tensors(*input.pixels, {{"pixel_values", pixels}});
    return model->run(input, {});
  };
  const auto trace = run(at::rand({1, 3, 4 * kSide, 4 * kSide}));
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto& data = dynamic_cast<const models::RecordedTrace&>(**trace).data();
  EXPECT_EQ(data.image_rows->vectors.sizes(), (std::vector<std::int64_t>{cells, small_text().width}));
  // The word after the picture goes on at the larger side behind the picture's first position.
  EXPECT_EQ(data.position_ids.sizes().back(), 3);
  EXPECT_EQ(data.position_ids[cells + 1][0].item<double>(), 1 + kSide / 2);
  const auto other = run(at::zeros({1, 3, 4 * kSide, 4 * kSide}));
  ASSERT_TRUE(other.ok()) << other.error().describe();
  EXPECT_FALSE(at::equal(data.logits, dynamic_cast<const models::RecordedTrace&>(**other).data().logits));
}

// The slope of a loss along its gradient is the gradient's length: through text, vectors, connector and tower.
TEST(LocusVision, GradientsReachTowerConnectorAndText) {
  at::manual_seed(6);
  auto text = Transformer::create(small_text(), false);
  auto tower = Transformer::create(small_tower(), false);
  auto connector = Connector::create(every_step(), small_tower(), small_text().width);
  ASSERT_TRUE(text.ok() && tower.ok() && connector.ok());
  std::vector<Parameter> parameters = connector->parameters();
  for (Transformer* const part : {text->get(), tower->get()}) {
    for (Parameter& parameter : part->parameters()) {
      parameters.push_back(std::move(parameter));
    }
  }
  for (Parameter& parameter : parameters) {
    *parameter.value = (at::randn(parameter.shape) * 0.2).requires_grad_(true);
  }
  const std::int64_t cells = kSide / 2 * kSide / 2;
  const at::Tensor pixels = at::randn({1, 3, 4 * kSide, 4 * kSide});
  const auto loss = [&] {
    const Batch seen{{}, pixels, (*tower)->grid_positions(kSide, kSide)};
    const at::Tensor state = (*tower)->forward(seen)[0];
    auto rows = std::make_shared<ImageRows>();
    rows->tokens = at::arange(1, cells + 1, at::kLong);
    rows->vectors = (*connector)(connector->read({state, state, state}, 0), kSide, kSide, false);
    Batch batch{at::full({1, cells + 2}, kPlaceholder, at::kLong), {}, (*text)->positions(cells + 2)};
    batch.images = rows;
    return at::log_softmax((*text)->forward(batch)[0][cells + 1], 0)[3];
  };
  loss().backward();
  double squares = 0;
  for (const Parameter& parameter : parameters) {
    ASSERT_TRUE(parameter.value->grad().defined()) << parameter.name;
    squares += parameter.value->grad().square().sum().item<double>();
  }
  const at::NoGradGuard no_grad;
  const double length = std::sqrt(squares);
  constexpr double kStep = 1e-2;
  const auto move = [&](double by) {
    for (Parameter& parameter : parameters) {
      parameter.value->add_(parameter.value->grad(), by / length);
    }
  };
  move(kStep);
  const double above = loss().item<double>();
  move(-2 * kStep);
  const double below = loss().item<double>();
  EXPECT_NEAR((above - below) / (2 * kStep), length, 0.01 * length);
}

TEST(LocusVision, RefusesWhatMakesNoModelWithOneLine) {
  const test::TemporaryFolder folder;
  write_checkpoint(folder.path());
  const auto expect_refused = [&](const char* at, const json& value, const std::string& said) {
    json config = seeing_config();
    config[json::json_pointer(at)] = value;
    folder.write("config.json", config.dump());
    const auto opened = models::open(folder.path(), {});
    ASSERT_FALSE(opened.ok()) << at << " " << value;
    const std::string line = opened.error().describe();
    EXPECT_NE(line.find("config.json"), std::string::npos) << line;
    EXPECT_NE(line.find(said), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  };
  expect_refused("/placeholder", nullptr, "together");
  expect_refused("/placeholder", 11, "placeholder: expected an id from 0 to 10");
  expect_refused("/placeholder", -1, "placeholder");
  expect_refused("/vision/head", true, "without head");
  expect_refused("/vision/image", nullptr, "image model");
  expect_refused("/vision/hidden_size", "wide", "vision");
  expect_refused("/vision", 3, "vision");
  expect_refused("/connector", json::array(), "connector");
  expect_refused("/connector/states", json::array({3}), "state from 0 to 2");
  expect_refused("/connector/states", json::array({-1}), "states");
  expect_refused("/connector/states", json::array(), "states");
  expect_refused("/connector/steps", json::array(), "steps");
  expect_refused("/connector/steps", json::array_t(65, json::object()), "steps");
  expect_refused("/connector/steps/0/kind", "fold", "one of join");
  expect_refused("/connector/steps/0/kind", nullptr, "one of join");
  expect_refused("/connector/steps/0/size", 0, "size from 1");
  expect_refused("/connector/steps/0/size", INT64_MAX, "size from 1");
  expect_refused("/connector/steps/0/name", "join", "none");
  expect_refused("/connector/steps/1/eps", -1, "eps");
  expect_refused("/connector/steps/1/norm", "batch", "norm");
  expect_refused("/connector/steps/2/name", "norm", "no step before");
  expect_refused("/connector/steps/2/name", "a.b", "letters");
  expect_refused("/connector/steps/2/size", INT64_MAX, "size from 1");
  expect_refused("/connector/steps/3/activation", "sharp", "activation");
  expect_refused("/connector/steps/5/activation", "sharp", "activation");
  expect_refused("/connector/steps/2/size", 23, "even number of channels to halve, found 23");
  expect_refused("/connector/steps/8/size", 31, "32 channels, found 31");
}

}  // namespace
}  // namespace locus
