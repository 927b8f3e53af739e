// GGUF files of decoders of attention alone, made as those of hybrids: they give the values that the library computes from
// the checkpoints that were converted.
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

}  // namespace
}  // namespace locus
