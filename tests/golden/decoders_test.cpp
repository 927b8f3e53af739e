// Whole decoders, from a checkpoint folder to logits, against values of the reference implementations.
#include <gtest/gtest.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kDecodersTolerance = 1e-4;

// A folder with the file's `w.` arrays and this config; every row of input_ids is run.
void expect_logits(const std::string& name, const std::string& config, const std::string& family) {
  const test::Golden golden(name);
  const test::TemporaryFolder folder;
  folder.write("config.json", config);
  test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
  const auto model = test::open_model(folder.path());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->info().family, family);
  EXPECT_TRUE(model->info().unexpected.empty());
  for (std::int64_t row = 0; row < golden["input_ids"].size(0); ++row) {
    EXPECT_CLOSE(test::logits_of(*model, golden["input_ids"][row]), golden["logits"][row], kDecodersTolerance) << row;
  }
}

TEST(Decoders, LlamaGivesTheReferenceLogits) {
  expect_logits("llama_rope", R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5, "max_position_embeddings": 64})",
                "llama");
}

TEST(Decoders, Gpt2GivesTheReferenceLogits) {
  expect_logits("gpt2_vanilla", R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4,
    "n_positions": 64})",
                "gpt2");
}

std::string neox_config(const char* parallel) {
  return std::string(R"({"model_type": "gpt_neox", "vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 64, "rotary_pct": 0.25, "use_parallel_residual": )") +
         parallel + "}";
}

TEST(Decoders, GptNeoxGivesTheReferenceLogits) {
  expect_logits("gpt_neox_parallel", neox_config("true"), "gpt_neox");
  expect_logits("gpt_neox_serial", neox_config("false"), "gpt_neox");
}

TEST(Decoders, Gpt2OpensWithoutItsPrefixAndWithMaskBuffers) {
  const test::Golden golden("gpt2_vanilla");
  test::Tensors tensors;
  for (const auto& [name, value] : test::with_prefix(golden, "w.transformer.")) {
    tensors[name] = value;
  }
  tensors["h.0.attn.bias"] = at::ones({1, 1, 64, 64});
  tensors["h.0.attn.masked_bias"] = at::ones({1});
  const test::TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4,
    "n_positions": 64})");
  test::write_tensors(folder.path() / "model.safetensors", tensors);
  const auto model = test::open_model(folder.path());
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->info().unexpected.empty());
  EXPECT_CLOSE(test::logits_of(*model, golden["input_ids"][0]), golden["logits"][0], kDecodersTolerance);
}

}  // namespace
}  // namespace locus
