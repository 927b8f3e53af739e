// GPT-2 with SeqPE, two files and pe_config.json, from a checkpoint folder to logits.
#include <gtest/gtest.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kSeqpeModelsTolerance = 1e-4;

struct Case {
  std::string file;
  std::string method;
  std::string projection;  // as JSON or YAML has it
  bool multi_head = true;
};

// Both spellings of the projection, both notations of the file.
std::string pe_config(const Case& given) {
  if (given.projection == "true" || given.projection == "false") {
    return "PE_TYPE: seq_pe\nPE_APPLY_METHOD: " + given.method + "\nUSE_PE_QK_PER_LAYER: " + given.projection +
           "\nUSE_PE_MULTI_HEAD: " + (given.multi_head ? "true" : "false") +
           "\nPE_EMBED_DIM: 32\nNUM_ATTENTION_HEADS: 4\nSEQPE_MAX_DIGITS: 5\nSEQPE_LAYER_NUM: 2\n";
  }
  return R"({"PE_TYPE": "seq_pe", "PE_APPLY_METHOD": ")" + given.method + R"(", "USE_PE_QK_PER_LAYER": ")" +
         given.projection + R"(", "USE_PE_MULTI_HEAD": )" + (given.multi_head ? "true" : "false") +
         R"(, "PE_EMBED_DIM": 32, "NUM_ATTENTION_HEADS": 4, "SEQPE_MAX_DIGITS": 5, "SEQPE_LAYER_NUM": 2})";
}

class SeqpeModels : public testing::TestWithParam<Case> {};

TEST_P(SeqpeModels, GivesTheReferenceLogits) {
  const test::Golden golden(GetParam().file);
  const test::TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4,
    "n_positions": 64})");
  folder.write("pe_config.json", pe_config(GetParam()));
  test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
  test::write_tensors(folder.path() / "model_1.safetensors", test::with_prefix(golden, "pe_w."));
  const models::OpenOptions options;
  const auto model = test::open_model(folder.path(), options);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->info().family, "seqpe-gpt2");
  EXPECT_TRUE(model->info().unexpected.empty());
  for (std::int64_t row = 0; row < 2; ++row) {
    EXPECT_CLOSE(test::logits_of(*model, golden["input_ids"][row]), golden["logits"][row], kSeqpeModelsTolerance)
        << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SeqpeModels,
                         testing::Values(Case{"seqpe_gpt2_attn_scalar_none", "attn_scalar", "none"},
                                         Case{"seqpe_gpt2_attn_scalar_single", "attn_scalar", "single"},
                                         Case{"seqpe_gpt2_attn_scalar_multi", "attn_scalar", "multi"},
                                         Case{"seqpe_gpt2_attn_mul_single", "attn_mul", "false"},
                                         Case{"seqpe_gpt2_attn_mul_multi", "attn_mul", "true"},
                                         Case{"seqpe_gpt2_attn_add_multi", "attn_add", "multi"},
                                         Case{"seqpe_gpt2_attn_mul_multi_singlehead", "attn_mul", "multi", false},
                                         Case{"seqpe_gpt2_input_add_none", "input_add", "none"}));

}  // namespace
}  // namespace locus
