// Checkpoints written as GGUF files: what is read back gives their numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/base/atomic_file.h"
#include "models/api/convert.h"
#include "tests/models/text/sentence_piece_file.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/layouts.h"
#include "tests/support/paths.h"
#include "tests/support/reference_run.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr double kConvertedTolerance = 1e-4;

// A checkpoint written as GGUF, and what open() makes of it.
std::shared_ptr<const models::Model> as_gguf(const fs::path& from, const std::string& to, const fs::path& file) {
  const auto written = models::convert(from, {to, file});
  EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().describe());
  return written.ok() ? test::open_model(file) : nullptr;
}

std::string all_layers(const models::ModelInfo& info) {
  std::string text;
  for (std::int64_t n = 0; n < info.layers; ++n) {
    text += models::layer_text(info, n) + "; ";
  }
  return text;
}

// Every architecture: the family's folder as GGUF gives the reference's logits and maps.
TEST(GgufConversions, KeepEveryArchitecturesNumbers) {
  const test::TemporaryFolder folder;
  for (const char* name : {"qwen3", "gemma2", "gemma3_text", "phi3"}) {
    SCOPED_TRACE(name);
    const fs::path from = fs::path(test::source_dir()) / "tests" / "golden" / "families" / name;
    const test::Golden golden(std::string("families/") + name + "/expected");
    const auto model = as_gguf(from, "f32", folder.path() / (std::string(name) + ".gguf"));
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->info().family, name);
    EXPECT_TRUE(model->info().unexpected.empty());
    EXPECT_EQ(all_layers(model->info()), all_layers(test::open_model(from)->info()));
    test::expect_reference(*model, golden, kConvertedTolerance);
  }
}

// Llama's relatives, with every scaling of RoPE that a GGUF file can say.
TEST(GgufConversions, KeepLlamasAndTheirScalings) {
  const test::TemporaryFolder folder;
  int number = 0;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"llama", ""},
      {"mistral", ""},
      {"qwen2", ""},
      {"llama", R"({"rope_type": "linear", "factor": 4.0})"},
      {"llama", R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16})"},
      {"llama", R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 8192})"},
      {"llama", R"({"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
                    "original_max_position_embeddings": 64})"}};
  for (const auto& [name, scaling] : cases) {
    SCOPED_TRACE(name + scaling);
    const auto layout = std::find_if(test::layouts().begin(), test::layouts().end(),
                                     [&, &wanted = name](const test::Layout& each) { return each.name == wanted; });
    const fs::path from = folder.path() / std::to_string(number++);
    fs::create_directories(from);
    const test::WrittenLayout written = test::write_layout(*layout, from);
    if (!scaling.empty()) {
      std::string config = *read_file(from / "config.json", 1 << 20);
      config.insert(config.rfind('}'), ", \"rope_scaling\": " + scaling);
      ASSERT_TRUE(write_file(from / "config.json", config).ok());
    }
    const auto original = test::open_model(written.path);
    const auto model = as_gguf(written.path, "f32", from / "m.gguf");
    ASSERT_TRUE(original != nullptr && model != nullptr);
    EXPECT_EQ(model->info().family, name);
    EXPECT_EQ(model->info().trained_length, original->info().trained_length);
    const at::Tensor ids = at::tensor(written.ids, at::kLong);
    EXPECT_CLOSE(test::logits_of(*model, ids), test::logits_of(*original, ids), 1e-5);
  }
}

// User-defined pieces are written with spaces, where llama.cpp looks for them; what is read back has the folder's ids.
TEST(GgufConversions, WriteUserDefinedPiecesAsTextsHaveThem) {
  const test::TemporaryFolder folder;
  const fs::path family = fs::path(test::source_dir()) / "tests" / "golden" / "families" / "gemma3_text";
  for (const char* name : {"config.json", "model.safetensors"}) {
    fs::copy_file(family / name, folder.path() / name);
  }
  const std::vector<text::PieceLine> pieces{{"▁", -9}, {"a", -9}, {"b", -9},    {"▁a", -3},    {"ab", -2},
                                            {"x", -9}, {"=", -9}, {"▁▁", 0, 4}, {"▁▁▁", 0, 4}, {"\n", 0, 4}};
  text::ModelOptions options;
  options.kind = 2;
  options.dummy_prefix = false;
  folder.write("tokenizer.model", text::sentence_piece_model(pieces, options));
  fs::create_directory(folder.path() / "a");
  const auto original = test::open_model(folder.path());
  const auto model = as_gguf(folder.path(), "f32", folder.path() / "a" / "m.gguf");
  ASSERT_TRUE(original != nullptr && model != nullptr);
  for (const char* text : {"  a", "   x\n  ab", "a b  ab", "     b", "▁▁x", "ab\n"}) {
    const auto expected = original->tokenize({.text = text});
    const auto found = model->tokenize({.text = text});
    ASSERT_TRUE(expected.ok() && found.ok()) << text;
    ASSERT_EQ(found->size(), expected->size()) << text;
    for (std::size_t n = 0; n < found->size(); ++n) {
      EXPECT_EQ((*found)[n].id, (*expected)[n].id) << text;
    }
  }
  const std::string length("\2\0\0\0\0\0\0\0", 8);
  const auto bytes = read_file(folder.path() / "a" / "m.gguf", 1 << 24);
  ASSERT_TRUE(bytes.ok());
  EXPECT_NE(bytes->find(length + "  "), std::string::npos);
}

// What is written in fewer bits, and again from there.
TEST(GgufConversions, SayWhatTheyWereWrittenAs) {
  const test::TemporaryFolder folder;
  const fs::path from = fs::path(test::source_dir()) / "assets" / "checkpoints" / "text-rope";
  const auto original = test::open_model(from);
  const auto written = models::convert(from, {"q8_0", folder.path() / "a.gguf"});
  ASSERT_TRUE(written.ok()) << written.error().describe();
  EXPECT_EQ(written->tensors.at("q8_0"), 4 * 6 + 1);
  EXPECT_EQ(written->tensors.at("f16"), 4);
  EXPECT_EQ(written->tensors.at("f32"), 4 * 2 + 1);
  ASSERT_EQ(written->warnings.size(), 1U);
  EXPECT_NE(written->warnings[0].find("rows of 344 numbers"), std::string::npos) << written->warnings[0];
  const auto model = test::open_model(folder.path() / "a.gguf");
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().tokenizer);
  EXPECT_EQ(model->info().dtype, "Q8_0");
  const at::Tensor ids = at::arange(60, at::kLong) + 40;
  const at::Tensor exact = test::logits_of(*original, ids);
  const double eight = test::deviation(test::logits_of(*model, ids), exact);
  const auto four = as_gguf(folder.path() / "a.gguf", "q4_0", folder.path() / "b.gguf");
  ASSERT_NE(four, nullptr);
  const double coarse = test::deviation(test::logits_of(*four, ids), exact);
  EXPECT_GT(eight, 1e-4);
  EXPECT_LT(eight, 0.2);
  EXPECT_GT(coarse, 3 * eight);
  EXPECT_EQ(models::convert(from, {"q2_k", folder.path() / "c.gguf"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(models::convert(from, {"q8_0", folder.path() / "c.safetensors"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(models::convert(from.parent_path() / "text-cope", {"q8_0", folder.path() / "c.gguf"}).error().code,
            ErrorCode::kUnsupported);
  EXPECT_FALSE(fs::exists(folder.path() / "c.gguf"));
  ASSERT_TRUE(models::convert(from, {"bf16", folder.path() / "model.safetensors"}).ok());
  fs::copy_file(from / "config.json", folder.path() / "config.json");
  EXPECT_EQ(test::open_model(folder.path() / "model.safetensors")->info().dtype, "bfloat16");
}

}  // namespace
}  // namespace locus
