// Inkling's text: fields that are wrong, the fields and names of published files, and vocabularies that are filled up.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/changed_type.h"

namespace locus {
namespace {

using nlohmann::json;
using test::ChangedType;
using test::ConformanceType;
using test::Tensors;

constexpr const char* kType = "inkling_text";

// The first difference from the library's values of the stored type.
std::string difference(const models::Model& model, const models::Input& input) {
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  return trace.ok() ? ConformanceType(kType).difference(**trace) : trace.error().describe();
}

TEST(Inkling, FieldsThatAreWrongAreNamed) {
  struct Wrong {
    const char* field;
    json value;
    ErrorCode code;
  };
  const ErrorCode bad = ErrorCode::kBadInput;
  const ErrorCode unsupported = ErrorCode::kUnsupported;
  const std::vector<Wrong> all{
      {"swa_num_attention_heads", 8, unsupported},
      {"swa_num_attention_heads", 0, bad},
      {"swa_num_key_value_heads", 0, bad},
      {"swa_head_dim", 0, bad},
      {"sliding_window_size", 0, bad},
      {"sliding_window", 6, unsupported},
      {"d_rel", 0, bad},
      {"d_rel", "six", bad},
      {"rel_extent", 0, bad},
      {"rel_extent", 1 << 25, bad},
      {"log_scaling_n_floor", 0, bad},
      {"log_scaling_alpha", -0.1, unsupported},
      {"log_scaling_alpha", "much", bad},
      {"conv_kernel_size", 0, bad},
      {"sconv_kernel_size", 2, unsupported},
      {"n_shared_experts", 0, bad},
      {"num_local_experts", 5, unsupported},
      {"shared_expert_sink", false, unsupported},
      {"moe_intermediate_size", 0, bad},
      {"intermediate_size", 0, bad},
      {"dense_intermediate_size", 0, bad},
      {"dense_mlp_idx", -1, bad},
      {"logits_mup_width_multiplier", 0, bad},
      {"embedding_multiplier", 3.0, unsupported},
      {"model_max_length", 8, unsupported},
      {"unpadded_vocab_size", 0, bad},
      {"local_layer_ids", "all", bad},
      {"layer_types", json::array({"hybrid", "hybrid", "hybrid"}), bad},
      {"layer_types", json::array({"hybrid", "hybrid", "hybrid", "full_attention"}), unsupported},
      {"mlp_layer_types", json::array({"sparse", "sparse", "sparse", "wide"}), unsupported},
  };
  for (const Wrong& wrong : all) {
    const std::string what = std::string(wrong.field) + " " + wrong.value.dump();
    const auto opened = ChangedType(kType, {}, {{wrong.field, wrong.value}}).open();
    ASSERT_FALSE(opened.ok()) << what;
    EXPECT_EQ(opened.error().code, wrong.code) << what << ": " << opened.error().describe();
    EXPECT_NE(opened.error().describe().find(std::string("field ") + wrong.field), std::string::npos)
        << what << ": " << opened.error().describe();
  }
  // These are of the model as a whole.
  for (const auto& [field, value] : {std::pair<const char*, json>{"is_causal", false},
                                     {"conv_kernel_size", 2000},
                                     {"n_shared_experts", 1025},
                                     {"num_experts_per_tok", 5},
                                     {"swa_num_key_value_heads", 3}}) {
    EXPECT_FALSE(ChangedType(kType, {}, {{field, value}}).open().ok()) << field;
  }
}

// Fields of published files: layers by number, the experts' width under another name, and other spellings.
TEST(Inkling, FieldsOfPublishedFilesSayTheSame) {
  const ChangedType published(kType, {},
                              {{"layer_types", nullptr},
                               {"local_layer_ids", {0, 2}},
                               {"mlp_layer_types", nullptr},
                               {"dense_mlp_idx", 1},
                               {"intermediate_size", 48},
                               {"dense_intermediate_size", 96},
                               {"moe_intermediate_size", nullptr},
                               {"conv_kernel_size", nullptr},
                               {"sconv_kernel_size", 3},
                               {"max_position_embeddings", nullptr},
                               {"model_max_length", 64}});
  const auto opened = published.open();
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  EXPECT_EQ((*opened)->info().trained_length, 64);
  EXPECT_EQ(difference(**opened, published.input()), "");
}

// Rows 0, I, 1, I + 1, … of (…, 2I, C).
at::Tensor in_turns(const at::Tensor& halves) {
  return halves.unflatten(-2, {2, -1}).transpose(-3, -2).flatten(-3, -2).contiguous();
}

// The stored type's tensors under the names of published files.
Tensors published_tensors() {
  const std::vector<std::pair<std::string, std::string>> renamed{
      {"model.embed_tokens.embed_norm", "model.llm.embed_norm"},
      {"model.embed_tokens", "model.llm.embed"},
      {"model.norm", "model.llm.norm"},
      {"lm_head", "model.llm.unembed"},
      {"model.layers.", "model.llm.layers."},
      {".conv1d", ""},
      {"self_attn.q_proj", "attn.wq_du"},
      {"self_attn.k_proj", "attn.wk_dv"},
      {"self_attn.v_proj", "attn.wv_dv"},
      {"self_attn.r_proj", "attn.wr_du"},
      {"self_attn.o_proj", "attn.wo_ud"},
      {"self_attn.", "attn."},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "mlp_norm"},
      {"mlp.down_proj", "mlp.w2_md"},
      {"gate.e_score_correction_bias", "gate.bias"},
      {"mlp.experts.down_proj", "mlp.experts.w2_weight"},
      {"shared_experts.down_proj", "shared_experts.shared_w2_weight"}};
  const Tensors stored = ConformanceType(kType).tensors();
  Tensors tensors;
  for (const auto& [name, value] : stored) {
    std::string own = name;
    for (const auto& [from, to] : renamed) {
      if (const std::size_t at = own.find(from); at != own.npos) {
        own.replace(at, from.size(), to);
      }
    }
    if (const std::size_t at = own.find("experts.gate_up_proj"); at != own.npos) {
      tensors[own.substr(0, at) + "experts.w13_weight"] = in_turns(value);
    } else if (const std::size_t gate = own.find("gate_proj"); gate != own.npos) {
      std::string up = name;
      up.replace(up.find("gate_proj"), std::string("gate_proj").size(), "up_proj");
      const bool shared = own.find("shared_experts") != own.npos;
      tensors[own.substr(0, gate) + (shared ? "shared_w13_weight" : "w13_dn.weight")] =
          in_turns(at::cat({value, stored.at(up)}, -2));
    } else if (own.find("up_proj") == own.npos) {
      tensors[own] = value;
    }
  }
  tensors["model.audio.encoder.weight"] = at::ones({4, 64});
  tensors["model.visual.layers.linear_0.weight"] = at::ones({64, 48});
  return tensors;
}

TEST(Inkling, TextOfAPublishedCompositeIsReadAlone) {
  const ConformanceType stored(kType);
  const test::TemporaryFolder folder;
  const json config{{"model_type", "inkling_mm_model"},
                    {"text_config", stored.data().at("config")},
                    {"vision_config", {{"model_type", "inkling_vision"}}},
                    {"audio_config", {{"model_type", "inkling_audio"}}},
                    {"mtp_config", {{"num_nextn_predict_layers", 2}}},
                    {"image_bos_token_id", 5},
                    {"audio_bos_token_id", 6}};
  folder.write("config.json", config.dump());
  test::write_tensors(folder.path() / "model.safetensors", published_tensors());
  const auto opened = models::open(folder.path(), {});
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  EXPECT_EQ((*opened)->info().unexpected, std::vector<std::string>());
  std::string warnings;
  for (const std::string& warning : (*opened)->info().warnings) {
    warnings += warning + "\n";
  }
  EXPECT_NE(warnings.find("its text is read alone"), std::string::npos) << warnings;
  EXPECT_EQ(difference(**opened, stored.input(folder.path())), "");
}

// The vocabulary has 92 tokens, and 96 rows.
TEST(Inkling, RowsThatFillTheVocabularyUpAreNoTokens) {
  const ChangedType cut(kType, [](Tensors& tensors) {
    tensors["lm_head.weight"] = tensors["lm_head.weight"].slice(0, 0, 92).contiguous();
  });
  const auto opened = cut.open();
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  EXPECT_EQ((*opened)->info().vocabulary, 92);
  EXPECT_EQ((*opened)->info().unexpected, std::vector<std::string>());
  EXPECT_EQ(difference(**opened, cut.input()), "");
  models::Input beyond;
  beyond.ids = {3, 92};
  EXPECT_FALSE((*opened)->run(beyond).ok());
  const auto shorter = ChangedType(kType, [](Tensors& tensors) {
                         tensors["lm_head.weight"] = tensors["lm_head.weight"].slice(0, 0, 91).contiguous();
                       }).open();
  ASSERT_FALSE(shorter.ok());
  EXPECT_NE(shorter.error().describe().find("tensor lm_head.weight"), std::string::npos) << shorter.error().describe();
}

// Without layers of the other kind there is no encoding that none of them has.
TEST(Inkling, AllLayersMayHaveWindows) {
  const auto copy_attention = [](Tensors& tensors) {
    const std::string windowed = "model.layers.0.self_attn.";
    const Tensors stored = tensors;
    for (const auto& [name, value] : stored) {
      if (name.starts_with(windowed)) {
        for (const char* const layer : {"1", "3"}) {
          tensors["model.layers." + std::string(layer) + ".self_attn." + name.substr(windowed.size())] = value;
        }
      }
    }
  };
  const ChangedType windows(kType, copy_attention, {{"layer_types", std::vector<std::string>(4, "hybrid_sliding")}});
  const auto opened = windows.open();
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  EXPECT_EQ((*opened)->info().encodings.size(), 1U);
  EXPECT_TRUE((*opened)->run(windows.input()).ok());
}

}  // namespace
}  // namespace locus
