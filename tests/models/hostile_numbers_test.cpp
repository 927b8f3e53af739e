// Numbers that are none, and files that change under a run: an error that says where, never a prediction or a signal.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/large_pages.h"
#include "models/api/verify.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

// The Llama of the golden tests, whose float32 weights stay in their file.
class HostileNumbers : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("config.json", R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 32,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5})");
    write({});
    input_.ids = test::ids_of(golden_["input_ids"][0]);
  }
  // The weights, with one value of each named tensor replaced.
  void write(const std::map<std::string, float>& values) const {
    test::Tensors tensors = test::with_prefix(golden_, "w.");
    for (const auto& [name, value] : values) {
      tensors.at(name) = tensors.at(name).clone();
      tensors.at(name).flatten()[3] = value;
    }
    test::write_tensors(weights(), tensors);
  }
  fs::path weights() const { return folder_.path() / "model.safetensors"; }
  auto open() const { return test::open_model(folder_.path(), models::OpenOptions{}); }

  test::Golden golden_{"llama_rope"};
  test::TemporaryFolder folder_;
  models::Input input_;
};

TEST_F(HostileNumbers, ARunEndsWhereItsNumbersEnd) {
  constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::vector<std::tuple<std::string, float, std::string>> cases{
      {"model.layers.1.self_attn.q_proj.weight", kNothing, "layer 1: expected finite scores"},
      {"model.layers.0.self_attn.v_proj.weight", kInfinite, "layer 0: expected finite numbers"},
      {"model.layers.1.mlp.down_proj.weight", kNothing, "layer 1: expected finite numbers"},
      {"model.norm.weight", kInfinite, "logits: expected numbers"},
      {"model.layers.0.self_attn.k_proj.weight", 3e38F, "layer 0: expected finite"},
  };
  for (const auto& [name, value, where] : cases) {
    SCOPED_TRACE(name);
    write({{name, value}});
    const auto model = open();
    ASSERT_TRUE(model);
    const auto ran = model->run(input_);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kBadInput);
    EXPECT_NE(ran.error().describe().find(where), std::string::npos) << ran.error().describe();
    EXPECT_FALSE(model->generate(input_, {3, 0, 0}).ok());
    const auto verified = models::verify(*model, input_);
    ASSERT_FALSE(verified.ok());
    EXPECT_EQ(verified.error().code, ErrorCode::kBadInput);
  }
}

// What stands where no token reads it is no error: a run of other tokens says what it always said.
TEST_F(HostileNumbers, WhatNoTokenReadsIsNoError) {
  const auto before = open()->run(input_);
  ASSERT_TRUE(before.ok());
  test::Tensors tensors = test::with_prefix(golden_, "w.");
  at::Tensor& embedding = tensors.at("model.embed_tokens.weight");
  const std::vector<std::int64_t>& ids = *input_.ids;
  std::int64_t unused = 0;
  while (std::find(ids.begin(), ids.end(), unused) != ids.end()) {
    ++unused;
  }
  embedding = embedding.clone();
  embedding[unused].fill_(std::numeric_limits<float>::quiet_NaN());
  const bool tied = tensors.count("lm_head.weight") == 0;
  test::write_tensors(weights(), tensors);
  const auto after = open()->run(input_);
  EXPECT_EQ(after.ok(), !tied) << "a tied head reads every row";
}

// Weights that are mapped are an error from then on; those that were copied (core/base/large_pages.h) say what they said.
TEST_F(HostileNumbers, AModelWhoseFileShrinksIsAnErrorOrWasRead) {
  const auto model = open();
  ASSERT_TRUE(model);
  const auto before = model->run(input_);
  ASSERT_TRUE(before.ok());
  fs::resize_file(weights(), 4096);
  const auto after = model->run(input_);
  EXPECT_EQ(after.ok(), LargePages::are_offered());
  if (after.ok()) {
    EXPECT_EQ((*after)->top(1).at(0).probability, (*before)->top(1).at(0).probability);
  } else {
    EXPECT_EQ(after.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(after.error().context, weights().string());
  }
}

// A trace of the Llama; its tensors by name, to be changed and written again.
struct Written {
  test::Tensors tensors;
  std::map<std::string, std::string> metadata;

  explicit Written(const fs::path& file) {
    const auto source = *formats::open_tensors(file);
    metadata = source->metadata();
    for (const formats::TensorInfo& info : source->tensors()) {
      const bool whole = info.dtype == formats::DType::kI64;
      tensors[info.name] = at::empty(info.shape, whole ? at::kLong : at::kFloat);
      EXPECT_TRUE(info.dtype == formats::DType::kF32 || whole) << info.name;
      std::memcpy(tensors[info.name].data_ptr(), info.storage.data() + info.offset * (whole ? 8 : 4),
                  tensors[info.name].nbytes());
    }
  }
  void write(const fs::path& file) const {
    std::vector<formats::OutputTensor> list;
    for (const auto& [name, tensor] : tensors) {
      list.push_back({name,
                      tensor.scalar_type() == at::kLong ? formats::DType::kI64 : formats::DType::kF32,
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    EXPECT_TRUE(formats::write_safetensors(file, list, metadata).ok());
  }
};

TEST_F(HostileNumbers, ATracesSumsMustFitItsQueriesAndKeys) {
  models::RunOptions options;
  options.keep = {"q", "k"};
  const auto trace = open()->run(input_, options);
  ASSERT_TRUE(trace.ok());
  const fs::path file = folder_.path() / "trace.safetensors";
  ASSERT_TRUE((*trace)->write(file, options.keep).ok());
  Written whole(file);
  ASSERT_EQ(whole.tensors.count("layers.1.log_sum_exp"), 1U);
  ASSERT_TRUE(test::open_trace(file).ok());
  const auto with = [&](float value) {
    Written changed = whole;
    changed.tensors["layers.1.log_sum_exp"] = whole.tensors["layers.1.log_sum_exp"].clone();
    changed.tensors["layers.1.log_sum_exp"][2][5] = value;
    changed.write(file);
    return test::open_trace(file);
  };
  const float own = whole.tensors["layers.1.log_sum_exp"][2][5].item<float>();
  for (const float value : {own - 8.1F, own + 1.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const auto refused = with(value);
    ASSERT_FALSE(refused.ok()) << value;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
    const std::string said = refused.error().describe();
    EXPECT_NE(said.find("tensor layers.1.log_sum_exp: expected what q and k sum to, "), std::string::npos) << said;
    EXPECT_NE(said.find(" of head 2 at token 5, found "), std::string::npos) << said;
  }
  // Rounded to bfloat16 it is the same trace, and its weights are those of its q and k.
  const auto rounded = with(at::full({1}, own).to(at::kBFloat16).item<float>());
  ASSERT_TRUE(rounded.ok()) << rounded.error().describe();
  models::MapRequest request;
  request.layer = 1;
  request.head = 2;
  const auto map = (*rounded)->map(request);
  ASSERT_TRUE(map.ok());
  double sum = 0;
  for (std::int64_t key = 0; key <= 5; ++key) {
    sum += map->at(5, key);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

// NaN in what a trace keeps reads and writes nothing that is not its own; the sums say so too.
TEST_F(HostileNumbers, ATraceWithoutNumbersIsShownWithoutThem) {
  models::RunOptions options;
  options.keep = {"q", "k"};
  const auto trace = open()->run(input_, options);
  ASSERT_TRUE(trace.ok());
  const fs::path file = folder_.path() / "trace.safetensors";
  ASSERT_TRUE((*trace)->write(file, options.keep).ok());
  Written changed(file);
  for (const char* name : {"layers.0.k", "layers.0.log_sum_exp"}) {
    changed.tensors[name] = changed.tensors[name].clone();
  }
  changed.tensors["layers.0.k"][1][4].fill_(std::nanf(""));
  changed.tensors["layers.0.log_sum_exp"][1].slice(0, 4).fill_(std::nanf(""));
  changed.write(file);
  const auto opened = test::open_trace(file);
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  models::MapRequest request;
  request.head = 1;
  for (int twice = 0; twice < 2; ++twice) {
    const auto map = (*opened)->map(request);
    ASSERT_TRUE(map.ok());
    EXPECT_FALSE(std::isnan(map->at(3, 2)));
    EXPECT_TRUE(std::isnan(map->at(4, 2)));
  }
  fs::resize_file(file, 0);
  const auto lost = (*opened)->map(request);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().context, file.string());
}

// Both sides without a number differ, but where the mask hides a cell from both.
TEST_F(HostileNumbers, VerifyTakesNothingForEqual) {
  models::RunOptions options;
  options.keep = {"logits", "q", "k"};
  options.all_logits = true;
  const auto model = open();
  const auto trace = model->run(input_, options);
  ASSERT_TRUE(trace.ok());
  const fs::path file = folder_.path() / "trace.safetensors";
  ASSERT_TRUE((*trace)->write(file, options.keep).ok());
  const auto same = models::verify(*model, input_, file);
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->passed);
  Written changed(file);
  changed.tensors["logits"] = changed.tensors["logits"].clone();
  changed.tensors["logits"][2][7] = std::nanf("");
  changed.write(file);
  const auto other = models::verify(*model, input_, file);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->passed);
}

}  // namespace
}  // namespace locus
