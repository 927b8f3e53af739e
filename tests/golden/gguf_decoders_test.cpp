// GGUF files of decoders of attention alone, made as those of hybrids: they give the values that the library computes from
// the checkpoints that were converted.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/gguf_files.h"

namespace locus {
namespace {

using test::HybridFile;

// These are read, but not written.
class GgufDecoders : public testing::TestWithParam<HybridFile> {};

TEST_P(GgufDecoders, GiveTheLibrarysMapsAndLogits) {
  test::expect_library_values(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, GgufDecoders,
                         testing::Values(HybridFile{"mixtral", "mixtral"}, HybridFile{"qwen2moe", "qwen2_moe"},
                                         HybridFile{"qwen3moe", "qwen3_moe"}, HybridFile{"olmoe", "olmoe"},
                                         HybridFile{"gpt-oss", "gpt_oss"}, HybridFile{"glm4moe", "glm4_moe"},
                                         HybridFile{"glm4", "glm4"}, HybridFile{"gemma", "gemma"},
                                         HybridFile{"granite", "granite"}, HybridFile{"command-r", "cohere"},
                                         HybridFile{"cohere2", "cohere2"}, HybridFile{"olmo", "olmo"},
                                         HybridFile{"olmo2", "olmo2"}, HybridFile{"exaone4", "exaone4"},
                                         HybridFile{"smollm3", "smollm3"}, HybridFile{"starcoder2", "starcoder2"},
                                         HybridFile{"stablelm", "stablelm"}, HybridFile{"nemotron", "nemotron"},
                                         HybridFile{"arcee", "arcee"}, HybridFile{"seed_oss", "seed_oss"}),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace locus
