// What opening and running refuse, in one line that names file, tensor, expected and found.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "tests/models/text/sentence_piece_file.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

const models::OpenOptions kDefaults;

constexpr const char* kConfig = R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2,
  "num_attention_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5})";

// A folder with the golden Llama, changed before it is written.
struct Folder {
  test::TemporaryFolder place;
  test::Tensors tensors = test::with_prefix(test::Golden("llama_rope"), "w.");
  std::string config = kConfig;

  void replace(const std::string& from, const std::string& to) { config.replace(config.find(from), from.size(), to); }
  Result<std::shared_ptr<const models::Model>> open() const {
    place.write("config.json", config);
    test::write_tensors(place.path() / "model.safetensors", tensors);
    return test::open(place.path(), kDefaults);
  }
};

void expect_error(const Result<std::shared_ptr<const models::Model>>& result, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().describe();
  EXPECT_NE(result.error().describe().find(part), std::string::npos) << result.error().describe();
  EXPECT_EQ(result.error().describe().find('\n'), std::string::npos);
}

TEST(Open, AMissingTensorIsNamed) {
  Folder folder;
  folder.tensors.erase("model.layers.1.mlp.up_proj.weight");
  expect_error(folder.open(), ErrorCode::kBadInput,
               "tensor model.layers.1.mlp.up_proj.weight: expected shape [48, 32]");
}

TEST(Open, AnUnexpectedTensorIsReported) {
  Folder folder;
  folder.tensors["model.layers.0.extra"] = at::ones({3});
  const auto model = folder.open();
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>{"model.layers.0.extra"});
  // It is no model of this configuration: nothing is computed.
  models::Input input;
  input.ids = std::vector<std::int64_t>{1, 2, 3};
  const auto trace = (*model)->run(input);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, ErrorCode::kBadInput);
  EXPECT_NE(trace.error().describe().find(
                "expected no tensors beside those that the configuration says, found model.layers.0.extra"),
            std::string::npos)
      << trace.error().describe();
  EXPECT_FALSE((*model)->position_table({}, 0).ok());
}

TEST(Open, BuffersThatAreComputedAnewAreExpected) {
  Folder folder;
  folder.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = at::ones({4});
  folder.tensors["model.rotary_emb.inv_freq"] = at::ones({4});
  const auto model = folder.open();
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE((*model)->info().unexpected.empty());
  models::Input input;
  input.ids = std::vector<std::int64_t>{1, 2, 3};
  EXPECT_TRUE((*model)->run(input).ok());
}

TEST(Open, AConfigThatContradictsTheWeightsIsRefused) {
  Folder vocabulary;
  vocabulary.replace("50", "51");
  expect_error(vocabulary.open(), ErrorCode::kBadInput, "expected shape [51, 32], found [50, 32]");
  Folder heads;
  heads.replace("\"num_attention_heads\": 4", "\"num_attention_heads\": 5");
  expect_error(heads.open(), ErrorCode::kBadInput, "5 heads");
  Folder none;
  none.replace("\"num_attention_heads\": 4", "\"num_attention_heads\": 0");
  expect_error(none.open(), ErrorCode::kBadInput, "heads");
  Folder many;
  many.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2000000000000");
  expect_error(many.open(), ErrorCode::kBadInput, "layers");
}

TEST(Open, WrongFilesAreRefused) {
  Folder json;
  json.config = "{\"model_type\": ";
  expect_error(json.open(), ErrorCode::kBadInput, "config.json");
  Folder family;
  family.replace("llama", "canine");
  expect_error(family.open(), ErrorCode::kUnsupported, "canine");
  Folder quantised;
  quantised.replace("{", R"({"quantization_config": {"bits": 4}, )");
  expect_error(quantised.open(), ErrorCode::kUnsupported, "quantization_config");
  Folder encoding;
  encoding.replace("{", R"({"rpe_type": "fire", )");
  expect_error(encoding.open(), ErrorCode::kUnsupported, "rpe_type");
  Folder cut;
  ASSERT_TRUE(cut.open().ok());
  std::filesystem::resize_file(cut.place.path() / "model.safetensors", 4000);
  expect_error(test::open(cut.place.path(), kDefaults), ErrorCode::kBadInput, "model.safetensors");
  expect_error(test::open("/nonexistent/checkpoint", kDefaults), ErrorCode::kBadInput, "/nonexistent/checkpoint");
}

TEST(Open, WeightsThatAreNotFiniteAreAWarning) {
  Folder folder;
  at::Tensor& weight = folder.tensors["model.norm.weight"];
  weight = weight.clone();
  weight[3] = std::numeric_limits<float>::quiet_NaN();
  const auto model = folder.open();
  ASSERT_TRUE(model.ok());
  ASSERT_EQ((*model)->info().warnings.size(), 1U);
  EXPECT_NE((*model)->info().warnings[0].find("model.norm.weight"), std::string::npos);
}

TEST(Open, HalfPrecisionIsConverted) {
  Folder folder;
  for (auto& [name, tensor] : folder.tensors) {
    tensor = tensor.to(at::kBFloat16);
  }
  const auto model = folder.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().dtype, "bfloat16");
  const test::Golden golden("llama_rope");
  // bfloat16 keeps 8 bits of each weight.
  EXPECT_CLOSE(test::logits_of(**model, golden["input_ids"][0]), golden["logits"][0], 0.1);
}

// An embedding of many words outweighs the layers, and is often stored more exactly.
TEST(Open, TheDtypeIsThatOfTheLayers) {
  Folder folder;
  folder.replace("50", "800");
  for (auto& [name, tensor] : folder.tensors) {
    const bool words = tensor.dim() == 2 && tensor.size(0) == 50;
    tensor = words ? at::randn({800, 32}) : tensor.to(at::kBFloat16);
  }
  const auto model = folder.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().dtype, "bfloat16");
}

// As Gemma 3's <image_soft_token>, which its models of text have no embedding for.
TEST(Open, SpecialTokensWithoutAnEmbeddingAreNamedWhereATextHasThem) {
  const Folder folder;
  std::vector<text::PieceLine> pieces{{"▁", -1}, {"a", -1}, {"b", -1}};
  for (int n = 0; n < 44; ++n) {
    pieces.push_back({"x" + std::to_string(n), -2});
  }
  folder.place.write("tokenizer.model", text::sentence_piece_model(pieces, {}));
  const auto opened_with = [&](bool special) {
    folder.place.write("tokenizer_config.json",
                       R"({"tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": {"50": {"content": "<picture>",
                           "lstrip": false, "rstrip": false, "single_word": false, "normalized": false, "special": )" +
                           std::string(special ? "true" : "false") + "}}}");
    return folder.open();
  };
  const auto model = opened_with(true);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_TRUE((*model)->info().warnings.empty()) << (*model)->info().warnings.front();
  const auto refused = (*model)->run({.text = "a<picture>b"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find(
                ", <picture>, for which the model has no embedding: expected an id from 0 to 49, found 50"),
            std::string::npos)
      << refused.error().describe();
  EXPECT_EQ((*model)->run({.ids = std::vector<std::int64_t>{1, 77}}).error().describe(),
            "token 1: expected an id from 0 to 49, found 77");
  const auto unusual = opened_with(false);
  ASSERT_TRUE(unusual.ok()) << unusual.error().describe();
  ASSERT_EQ((*unusual)->info().warnings.size(), 1U);
  EXPECT_EQ((*unusual)->info().warnings[0], "the tokenizer has 51 tokens, the model only 50");
}

TEST(Open, RunsRefuseWhatTheyCannotTake) {
  const Folder folder;
  const auto model = folder.open();
  ASSERT_TRUE(model.ok());
  models::Input input;
  EXPECT_EQ((*model)->run(input).error().code, ErrorCode::kUsage);
  input.ids = std::vector<std::int64_t>{};
  EXPECT_EQ((*model)->run(input).error().code, ErrorCode::kBadInput);
  input.ids = std::vector<std::int64_t>{3, 50};
  EXPECT_EQ((*model)->run(input).error().code, ErrorCode::kBadInput);
  models::Input text;
  text.text = "no tokenizer here";
  EXPECT_EQ((*model)->run(text).error().code, ErrorCode::kBadInput);
  models::Input image;
  image.image = "picture.png";
  EXPECT_EQ((*model)->run(image).error().code, ErrorCode::kBadInput);
}

TEST(Open, TokensAreKnownWithoutARun) {
  const auto model = test::open_model(test::source_dir() + "/assets/checkpoints/text-rope", kDefaults);
  ASSERT_NE(model, nullptr);
  models::Input input;
  input.text = "To be, or not to be";
  input.position_start = 5;
  const auto tokens = model->tokenize(input);
  ASSERT_TRUE(tokens.ok()) << tokens.error().describe();
  const auto trace = model->run(input);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  ASSERT_EQ(tokens->size(), (*trace)->tokens().size());
  for (std::size_t n = 0; n < tokens->size(); ++n) {
    EXPECT_EQ((*tokens)[n].id, (*trace)->tokens()[n].id);
    EXPECT_EQ((*tokens)[n].label, (*trace)->tokens()[n].label);
    EXPECT_EQ((*tokens)[n].position, static_cast<double>(n + 5));
  }
  input.ids = std::vector<std::int64_t>{1};
  EXPECT_EQ(model->tokenize(input).error().code, ErrorCode::kUsage);
}

TEST(Open, AMemoryLimitIsKept) {
  const Folder folder;
  ASSERT_TRUE(folder.open().ok());
  models::OpenOptions options;
  options.memory_limit_mb = 1;
  const auto model = test::open(folder.place.path(), options);
  ASSERT_TRUE(model.ok());
  models::Input input;
  input.ids = std::vector<std::int64_t>(20000, 1);
  const auto run = (*model)->run(input);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::kTooLarge);
}

TEST(Open, OverridesChangeTheEncoding) {
  const Folder folder;
  ASSERT_TRUE(folder.open().ok());
  models::OpenOptions options;
  options.overrides.rope_base = 500.0;
  options.overrides.rope_scaling = "linear:4";
  const auto model = test::open(folder.place.path(), options);
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ(*(*model)->info().first_encoding().options.number("base", 0), 500.0);
  EXPECT_EQ(*(*model)->info().first_encoding().options.number("factor", 0), 4.0);
  options.overrides.rope_scaling = "proportional:0.5";
  const auto proportional = test::open(folder.place.path(), options);
  ASSERT_TRUE(proportional.ok()) << proportional.error().describe();
  EXPECT_EQ(*(*proportional)->info().first_encoding().options.number("proportion", 0), 0.5);
  options.overrides.rope_scaling = "clipped:2:hard";
  const auto clipped = test::open(folder.place.path(), options);
  ASSERT_TRUE(clipped.ok()) << clipped.error().describe();
  EXPECT_EQ(*(*clipped)->info().first_encoding().options.text("clip", ""), "hard");
  options.overrides.rope_scaling = "linear:x";
  EXPECT_EQ(test::open(folder.place.path(), options).error().code, ErrorCode::kUsage);
}

// Fast products are said, whether the encoding changes or not; a model that has none is told.
TEST(Open, FastProductsAreNamed) {
  const Folder folder;
  ASSERT_TRUE(folder.open().ok());
  for (const char* const scaling : {"", "linear:4"}) {
    models::OpenOptions options;
    options.overrides.fast = true;
    options.overrides.rope_scaling = scaling;
    const auto model = test::open(folder.place.path(), options);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_TRUE((*model)->info().overrides.fast);
    EXPECT_TRUE(models::label_of((*model)->info().overrides).ends_with(" fast products"));
    const std::vector<std::string>& warnings = (*model)->info().warnings;
    EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(),
                            [](const auto& warning) { return warning.starts_with("fast products: none here"); }));
  }
}

}  // namespace
}  // namespace locus
