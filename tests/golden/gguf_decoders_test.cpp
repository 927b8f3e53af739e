// GGUF files of decoders and encoders of attention alone, made as those of hybrids: they give the values that the library
// computes from the checkpoints that were converted.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/atomic_file.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/gguf_files.h"

namespace locus {
namespace {

using test::HybridFile;

// These are read, but not written.
class GgufDecoders : public testing::TestWithParam<HybridFile> {};

TEST_P(GgufDecoders, GiveTheLibrarysMapsAndLogits) {
  test::expect_library_values(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Files, GgufDecoders,
    testing::Values(
        HybridFile{"mixtral", "mixtral"}, HybridFile{"qwen2moe", "qwen2_moe"}, HybridFile{"qwen3moe", "qwen3_moe"},
        HybridFile{"olmoe", "olmoe"}, HybridFile{"gpt-oss", "gpt_oss"}, HybridFile{"glm4moe", "glm4_moe"},
        HybridFile{"glm4", "glm4"}, HybridFile{"gemma", "gemma"}, HybridFile{"granite", "granite"},
        HybridFile{"command-r", "cohere"}, HybridFile{"cohere2", "cohere2"}, HybridFile{"olmo", "olmo"},
        HybridFile{"olmo2", "olmo2"}, HybridFile{"exaone4", "exaone4"}, HybridFile{"smollm3", "smollm3"},
        HybridFile{"starcoder2", "starcoder2"}, HybridFile{"stablelm", "stablelm"}, HybridFile{"nemotron", "nemotron"},
        HybridFile{"arcee", "arcee"}, HybridFile{"seed_oss", "seed_oss"}, HybridFile{"deepseek2", "deepseek_v3"},
        HybridFile{"deepseek2-lite", "deepseek_v2"}, HybridFile{"deepseek2-dense", "youtu"},
        HybridFile{"deepseek2-early", "deepseek_v2"}, HybridFile{"deepseek32", "deepseek_v32"},
        HybridFile{"glm-dsa", "glm_moe_dsa"}, HybridFile{"minicpm3", "minicpm3"}, HybridFile{"llama4", "llama4_text"},
        HybridFile{"ernie4_5", "ernie4_5"}, HybridFile{"ernie4_5-moe", "ernie4_5_moe"}, HybridFile{"olmo3", "olmo3"},
        HybridFile{"granitemoe", "granitemoe"}, HybridFile{"granitemoe-shared", "granitemoeshared"},
        HybridFile{"chatglm", "glm"}, HybridFile{"exaone", "exaone"}, HybridFile{"exaone-moe", "exaone_moe"},
        HybridFile{"hy_v3", "hy_v3"}, HybridFile{"afmoe", "afmoe"}, HybridFile{"cohere2moe", "cohere2_moe"},
        HybridFile{"mellum", "mellum"}, HybridFile{"jais2", "jais2"}, HybridFile{"phi2", "phi"},
        HybridFile{"minimax-m2", "minimax_m2"}, HybridFile{"hunyuan-dense", "hunyuan_v1_dense"},
        HybridFile{"hunyuan-moe", "hunyuan_v1_moe"}, HybridFile{"mistral3", "ministral3"},
        HybridFile{"qwen2vl", "qwen2"}, HybridFile{"qwen3vl", "qwen3"}, HybridFile{"qwen3vlmoe", "qwen3_moe"},
        HybridFile{"gemma4", "gemma4_text"}, HybridFile{"gemma4-keys", "gemma4_text"},
        HybridFile{"starcoder", "gpt_bigcode"}, HybridFile{"mpt", "mpt"}, HybridFile{"gpt2", "gpt2"},
        HybridFile{"gptneox", "gpt_neox"}, HybridFile{"gptneox-serial", "gpt_neox"}, HybridFile{"bloom", "bloom"},
        HybridFile{"falcon", "falcon"}, HybridFile{"falcon-one", "falcon"}, HybridFile{"bert-roberta", "bert"},
        HybridFile{"bert-distil", "bert"}, HybridFile{"modern-bert", "modernbert"}, HybridFile{"bert", "bert"},
        HybridFile{"eurobert", "eurobert"}, HybridFile{"nomic-bert", "nomic_bert"},
        HybridFile{"gemma-embedding", "gemma3_text"}, HybridFile{"dots1", "dots1"}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// The file lists the layers that have a window; the family takes all but every fourth.
TEST_F(GgufDecoders, RefuseWindowsInOtherLayers) {
  auto read = read_file(test::hybrid_file("exaone4"), std::size_t{1} << 26);
  ASSERT_TRUE(read.ok()) << read.error().describe();
  std::string& bytes = *read;
  const std::string key = "exaone4.attention.sliding_window_pattern";
  const std::size_t found = bytes.find(key);
  ASSERT_NE(found, std::string::npos);
  const std::size_t first = found + key.size() + 4 + 4 + 8;  // types of the value and of its items, their number
  ASSERT_EQ(bytes.substr(first, 4), std::string("\1\1\1\0", 4));
  bytes[first] = 0;
  const test::TemporaryFolder folder;
  folder.write("exaone4.gguf", bytes);
  const auto opened = models::open(folder.path() / "exaone4.gguf");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(opened.error().describe().find("expected a window in all layers but each 4th, found layer 0 without one"),
            std::string::npos)
      << opened.error().describe();
}

#define EXPECT_REFUSED(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(GgufDecoders, RefuseWhatIsNotComputed) {
  using test::bytes_of;
  using test::renamed_in;
  using test::with_value;
  const auto refused = [](const std::string& bytes) { return test::opening_refusal(bytes, ErrorCode::kUnsupported); };
  const std::string latent = bytes_of("deepseek2");
  const std::string groups = "deepseek2.expert_group_count";
  EXPECT_REFUSED(
      refused(with_value(renamed_in(latent, groups, "deepseek2.expert_group_caunt"), "deepseek2.expert_count", 256)),
      groups + ": expected the groups of the experts, found none");
  EXPECT_REFUSED(refused(with_value(latent, "expert_gating_func", 3)), "a soft-max, or 2, a sigmoid, found 3");
  EXPECT_REFUSED(refused(with_value(bytes_of("deepseek32"), "expert_gating_func", 1)),
                 "expected 2, a sigmoid, found 1");
  EXPECT_REFUSED(refused(with_value(bytes_of("llama4"), "llama4.expert_count", 0)), "expected experts, found none");
  EXPECT_REFUSED(refused(with_value(bytes_of("mpt"), "max_alibi_bias", 0x40800000)), "expected 8, found 4");
  EXPECT_REFUSED(refused(with_value(bytes_of("starcoder"), "attention.head_count_kv", 2)),
                 "expected one key head, found 2");
  EXPECT_REFUSED(refused(renamed_in(bytes_of("bert"), "attention.causal", "attention.causel")),
                 "expected false, found true");
  EXPECT_REFUSED(refused(with_value(bytes_of("mistral3"), "attention.temperature_scale", 0)),
                 "attention.temperature_scale: expected queries that grow with their position, found 0");
  EXPECT_REFUSED(refused(with_value(bytes_of("cohere2moe"), "expert_gating_func", 4)), "or 2, a sigmoid, found 4");
  EXPECT_REFUSED(refused(with_value(bytes_of("hunyuan-moe"), "expert_shared_feed_forward_length", 64)),
                 "expected a shared expert as wide as the others, found 64");
  const std::string gemma = bytes_of("gemma4");
  EXPECT_REFUSED(refused(with_value(gemma, "rope.dimension_count_swa", 8)), "expected 16, found 8");
  EXPECT_REFUSED(refused(renamed_in(gemma, "rope_freqs.weight", "rope_freqz.weight")),
                 "expected 16 divisors, first 1, then 10^30, found none");
  EXPECT_REFUSED(test::opening_refusal(with_value(gemma, "shared_kv_layers", 4)),
                 "expected fewer than 4 layers, found 4");
  std::string wide = gemma;
  const std::string widths = "gemma4.feed_forward_length";
  constexpr std::int32_t kWide = 1 << 30;  // behind the types of the list and of its items, and their number
  std::memcpy(wide.data() + wide.find(widths) + widths.size() + 4 + 4 + 8, &kWide, sizeof kWide);
  EXPECT_REFUSED(test::opening_refusal(wide, ErrorCode::kTooLarge),
                 widths + ": expected at most 16777216, found 1073741824");
  EXPECT_REFUSED(test::opening_refusal(with_value(latent, "rope.dimension_count", 16)),
                 "attention.key_length_mla: expected more than the 16 of rope.dimension_count, found 16");
}

}  // namespace
}  // namespace locus
