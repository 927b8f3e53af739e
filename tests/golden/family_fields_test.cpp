// Every field of every family's config.json, changed one at a time: what is computed changes, or the checkpoint is
// refused. A field that does neither is read past, unless it says nothing of the numbers (the lists below).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path golden_families() {
  return fs::path(test::source_dir()) / "tests" / "golden" / "families";
}

// Fields of training, generation, other tasks' heads, and the library that wrote the file: none changes a run.
bool says_nothing(const std::string& field) {
  static const std::set<std::string> kNames{
      "architectures", "transformers_version", "torch_dtype", "dtype", "use_cache", "verbose", "init_device",
      "pretraining_tp", "cache_implementation", "is_encoder_decoder", "reference_compile", "attn_impl",
      // ids of tokens, labels
      "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id", "decoder_start_token_id", "id2label", "label2id",
      // training
      "aux_loss_alpha", "seq_aux", "router_aux_loss_coef", "router_jitter_noise", "output_router_logits", "init_std",
      "layerdrop", "dropout_rate", "drop_path_rate", "layerscale_value", "embedding_fraction", "use_mask_token",
      "attn_pdrop", "embd_pdrop", "resid_pdrop", "emb_pdrop", "pos_embed_jitter", "pos_embed_rescale",
      "pos_embed_shift", "sparse_prediction", "sparse_pred_ignore_index", "repad_logits_with_grad",
      "logit_scale_init_value", "initializer_cutoff_factor", "initializer_factor", "initializer_range", "qa_dropout",
      "summary_first_dropout",
      // heads of other tasks, states that a backbone hands on
      "classifier_pooling", "projection_dim", "encoder_stride", "add_fpn", "auxiliary_channels",
      "auxiliary_concat_input", "auxiliary_loss_weight", "auxiliary_num_convs", "use_auxiliary_head", "pool_scales",
      "semantic_loss_ignore_index", "out_features", "out_indices", "stage_names", "apply_layernorm",
      "reshape_hidden_states", "pooler_act", "pooler_output_size", "pooler_hidden_act", "pooler_hidden_size",
      "text_config", "dense_seq_output",
      // how fast
      "fused_bias_fc", "fused_dropout_add_ln", "use_flash_attn", "use_xentropy", "reorder_and_upcast_attn",
      "deterministic_flash_attn", "pad_vocab_size_multiple",
      // of a table that is stored
      "sinusoidal_pos_embds", "learned_pos_emb",
      // what pixels are made of a picture
      "pretrained_cfg", "num_features", "architecture"};
  return kNames.count(field) > 0 || field.ends_with("dropout") || field.ends_with("dropout_prob") ||
         field.starts_with("summary_");
}

// Fields of GRAPE's folders that are initial values, or that their classes do not read.
const std::set<std::string>& grape_fields() {
  static const std::set<std::string> kNames{"bias",
                                            "block_size",
                                            "scale_attn_by_inverse_layer_idx",
                                            "embedding_init_std",
                                            "hidden_init_std_factor",
                                            "grape_base",
                                            "grape_ctx_init_omega",
                                            "keygated_omega_init",
                                            "keygated_u_init_std",
                                            "querygated_omega_init",
                                            "querygated_v_init_std",
                                            "querykeygated_omega_init",
                                            "q_rank",
                                            "rank"};
  return kNames;
}

// Fields that mean something, and nothing in these very folders: what makes them count is not set there, or another
// field says it too.
const std::map<std::string, std::set<std::string>>& without_effect() {
  static const std::map<std::string, std::set<std::string>> kFolders{
      {"*", {"max_position_embeddings", "n_positions", "max_seq_len", "max_trained_positions", "pad_token_id"}},
      // the mask's token; LayerScale is stored
      {"beit", {"vocab_size", "layer_scale_init_value"}},
      {"beit-both", {"layer_scale_init_value"}},
      {"cohere2", {"sliding_window_pattern"}},     // layer_types
      {"deberta-v2", {"max_relative_positions"}},  // below 1: all positions
      {"deberta-v2-conv", {"max_relative_positions"}},
      {"deepseek_v2", {"n_group", "topk_group"}},  // of greedy routing
      {"deepseek_v3", {"type", "beta_fast"}},      // rope_type beside it; the ramp begins at the first pair
      {"dinov3_vit", {"image_size"}},              // coordinates are of the picture
      {"falcon", {"num_kv_heads", "num_ln_in_parallel_attn"}},  // of the new architecture
      {"falcon_alibi", {"num_kv_heads", "num_ln_in_parallel_attn", "rope_scaling", "rope_theta"}},
      {"falcon_new", {"multi_query", "parallel_attn"}},  // of the old one
      // initial values, kernels and losses; the rotation and the output gate are off; intermediate_size is there
      {"fox",
       {"decay_time_max", "decay_time_min", "fgate_bias_init", "fuse_cross_entropy", "fuse_norm", "hidden_ratio",
        "ogate_act", "rope_base"}},
      // the same; its output gate is on
      {"fox-pro",
       {"decay_time_max", "decay_time_min", "fgate_bias_init", "fuse_cross_entropy", "fuse_norm", "hidden_ratio",
        "log_pruning_tolerance", "rope_base"}},
      {"fox-rope",
       {"decay_time_max", "decay_time_min", "fgate_bias_init", "fuse_cross_entropy", "fuse_norm", "hidden_ratio",
        "ogate_act"}},
      {"forgetting_transformer",
       {"fuse_cross_entropy", "fuse_linear_cross_entropy", "fuse_norm", "fuse_swiglu", "hidden_ratio", "use_l2warp"}},
      {"gemma2", {"sliding_window_pattern"}},
      {"gemma3_text", {"attn_logit_softcapping"}},  // of Gemma 2 alone
      {"gpt_neo", {"attention_types"}},             // attention_layers is what it comes to
      {"grape-both", grape_fields()},
      {"grape-contextual", grape_fields()},
      {"grape-contextual-normed", grape_fields()},
      {"grape-key", grape_fields()},
      {"grape-multiplicative", grape_fields()},
      {"grape-multiplicative-normed", grape_fields()},
      {"grape-path", grape_fields()},
      {"grape-query", grape_fields()},
      // num_experts_per_tok; the experts' activation is its own
      {"gpt_oss", {"experts_per_token", "hidden_act", "initial_context_length"}},
      {"llama4_text", {"interleave_moe_layer_step", "no_rope_layer_interval"}},  // moe_layers, no_rope_layers
      {"modernbert", {"position_embedding_type"}},
      {"nomic_bert", {"tie_word_embeddings"}},  // without a head
      // kernels and losses; intermediate_size is there
      {"path_attn",
       {"fuse_cross_entropy", "fuse_linear_cross_entropy", "fuse_norm", "fuse_swiglu", "hidden_ratio", "use_l2warp"}},
      {"phi3", {"short_factor"}},  // the text is longer
      {"qwen2_moe", {"intermediate_size", "max_window_layers", "sliding_window", "use_sliding_window"}},
      {"qwen3", {"max_window_layers", "sliding_window", "use_sliding_window"}},
      {"qwen3_moe", {"intermediate_size", "max_window_layers", "sliding_window", "use_sliding_window"}},
      {"siglip", {"vision_use_head"}},  // the outcome is the states
      {"siglip_vision_model", {"vision_use_head"}},
      {"smollm3", {"max_window_layers", "no_rope_layer_interval", "sliding_window"}},
      {"t5-encoder", {"num_decoder_layers", "tie_word_embeddings"}},
      {"timm-dinov2", {"init_values"}},  // LayerScale is stored
  };
  return kFolders;
}

bool has_no_effect(const std::string& folder, const std::string& field) {
  for (const std::string& key : {std::string("*"), folder}) {
    const auto found = without_effect().find(key);
    if (found != without_effect().end() && found->second.count(field) > 0) {
      return true;
    }
  }
  return false;
}

// Another value of the same kind.
json changed(const std::string& field, const json& value) {
  if (value.is_boolean()) {
    return !value.get<bool>();
  }
  if (value.is_number_integer()) {
    // One pixel, one token or one turn more may round to the same.
    const bool rounds = field == "image_size" || field == "img_size" || field == "local_attention" ||
                        field == "original_max_position_embeddings";
    return rounds ? 4 * value.get<std::int64_t>() : value.get<std::int64_t>() + 1;
  }
  if (field == "low_freq_factor") {  // a few pairs have few places to be
    return 0.01;
  }
  if (value.is_number()) {
    return 2 * value.get<double>() + 0.5;
  }
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const bool activation = field.find("act") != std::string::npos;
    return activation ? json(text == "relu" ? "silu" : "relu") : json("another");
  }
  if (value.is_null()) {
    return field == "rope_scaling" ? json{{"rope_type", "linear"}, {"factor", 2.0}} : json(3);
  }
  if (value.is_array() && !value.empty()) {
    json list = value;
    if (field == "no_rope_layers") {
      list.front() = list.front() == 0 ? 1 : 0;
      return list;
    }
    list.front() = list.front().is_string() ? list.back() != list.front() ? list.back() : json("another")
                                            : changed(field, list.front());
    return list;
  }
  return "another";
}

struct Computed {
  std::string refused;                // why, or empty
  std::vector<at::Tensor> values;     // outcome, then maps
  std::vector<std::string> warnings;  // of opening
};

class Checked {
 public:
  explicit Checked(const fs::path& folder) : folder_(folder), golden_("families/" + name() + "/expected") {
    fs::create_symlink(folder / "model.safetensors", own_.path() / "model.safetensors");
    config_ = json::parse(std::ifstream(folder / "config.json"));
    base_ = with(config_);
  }

  std::string name() const { return folder_.filename().string(); }
  const json& config() const { return config_; }
  const Computed& base() const { return base_; }

  Computed with(const json& config) const {
    own_.write("config.json", config.dump());
    const auto model = models::open(own_.path(), {});
    if (!model.ok()) {
      return {code(model.error()) + model.error().describe(), {}, {}};
    }
    models::RunOptions options;
    options.all_logits = true;
    const auto trace = (*model)->run(input(), options);
    if (!trace.ok()) {
      return {code(trace.error()) + trace.error().describe(), {}, {}};
    }
    const auto& data = dynamic_cast<const models::RecordedTrace&>(**trace).data();
    Computed computed;
    computed.warnings = (*model)->info().warnings;
    computed.values.push_back(data.logits.defined() ? data.logits : data.hidden);
    for (const models::TraceLayer& layer : data.layers) {
      const auto map = models::whole_map(*layer.scores, attention::Quantity::kWeight);
      computed.values.push_back(map.ok() ? *map : at::Tensor());
    }
    return computed;
  }

  // Whether something is refused as bad or unsupported, warned of, or computed otherwise.
  bool notices(const json& config) const {
    const Computed now = with(config);
    if (!now.refused.empty()) {
      EXPECT_TRUE(now.refused[0] == '3' || now.refused[0] == '4') << now.refused;
      return now.refused[0] == '3' || now.refused[0] == '4';
    }
    if (now.values.size() != base_.values.size() || now.warnings != base_.warnings) {
      return true;
    }
    for (std::size_t n = 0; n < now.values.size(); ++n) {
      // The same code on the same numbers gives the same bits.
      if (!now.values[n].sizes().equals(base_.values[n].sizes()) || !now.values[n].equal(base_.values[n])) {
        return true;
      }
    }
    return false;
  }

 private:
  static std::string code(const Error& error) { return std::to_string(static_cast<int>(error.code)) + " "; }

  models::Input input() const {
    models::Input input;
    if (golden_.has("pixel_values")) {
      input.pixels = folder_ / "expected.safetensors";
      return input;
    }
    input.ids = test::ids_of(golden_["input_ids"]);
    if (golden_.has("decoder_input_ids")) {
      input.decoder_ids = test::ids_of(golden_["decoder_input_ids"]);
    }
    return input;
  }

  fs::path folder_;
  test::Golden golden_;
  test::TemporaryFolder own_;
  json config_;
  Computed base_;
};

std::vector<fs::path> field_folders() {
  std::vector<fs::path> list;
  for (const auto& entry : fs::directory_iterator(golden_families())) {
    list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end());
  return list;
}

void check_fields(const Checked& checked, const json& object, const json::json_pointer& place, int& tried) {
  for (const auto& [field, value] : object.items()) {
    if (says_nothing(field) || has_no_effect(checked.name(), field) || field == "model_type") {
      continue;
    }
    if (value.is_object()) {
      check_fields(checked, value, place / field, tried);
      continue;
    }
    json config = checked.config();
    config[place / field] = changed(field, value);
    EXPECT_TRUE(checked.notices(config)) << (place / field).to_string() << ": " << value << " -> "
                                         << config[place / field];
    ++tried;
  }
}

TEST(FamilyFields, EachOneOfAConfigurationIsReadOrRefused) {
  int tried = 0;
  for (const fs::path& folder : field_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const Checked checked(folder);
    ASSERT_EQ(checked.base().refused, "");
    check_fields(checked, checked.config(), json::json_pointer(), tried);
  }
  EXPECT_GT(tried, 600);
}

// Every field of the folders' files is read, or known to change nothing; any other is named.
TEST(FamilyFields, OnesThatNobodyReadsAreNamedInAWarning) {
  for (const fs::path& folder : field_folders()) {
    SCOPED_TRACE(folder.filename().string());
    const Checked checked(folder);
    EXPECT_EQ(checked.base().warnings, std::vector<std::string>());
    json config = checked.config();
    config["no_such_field"] = 3;
    config["another"] = json{{"inner", true}};
    config["null_field"] = nullptr;
    const Computed now = checked.with(config);
    if (!now.refused.empty()) {  // a family of a file reads, settles or ignores every field
      EXPECT_TRUE(now.refused.ends_with("found another, no_such_field")) << now.refused;
      continue;
    }
    ASSERT_EQ(now.warnings.size(), 1U);
    EXPECT_TRUE(now.warnings.front().ends_with("config.json: not used: another, no_such_field"))
        << now.warnings.front();
  }
}

// Fields that the folders' files do not have, with values that mean something else than what is computed. "4": not
// supported, "3": malformed, "": computed otherwise.
struct OtherField {
  std::string folder;
  std::string pointer;
  json value;
  std::string refused;
};

const std::vector<OtherField>& further_fields() {
  static const std::vector<OtherField> kFields{
      {"roberta", "/position_embedding_type", "relative_key", "4"},
      {"roberta", "/position_embedding_type", "relative_key_query", "4"},
      {"roberta", "/is_decoder", true, "4"},
      {"xlm-roberta", "/position_embedding_type", "relative_key", "4"},
      {"electra", "/position_embedding_type", "relative_key", "4"},
      {"electra", "/is_decoder", true, "4"},
      {"electra-discriminator", "/position_embedding_type", "relative_key", "4"},
      {"electra-discriminator", "/embedding_size", 36, "3"},
      {"electra-discriminator", "/hidden_size", 39, "3"},
      {"deberta-v2", "/attention_head_size", 4, "4"},
      {"deberta-v2", "/conv_kernel_size", 3, "3"},
      {"deberta-v2-conv", "/conv_kernel_size", 0, "3"},
      {"deberta-v2-conv", "/conv_kernel_size", 4, "3"},
      {"deberta-v2-conv", "/conv_kernel_size", -3, "3"},
      {"deberta-v2-conv", "/conv_groups", 5, "3"},
      {"deberta-v2-conv", "/conv_groups", 0, "3"},
      {"deberta-v2-conv", "/conv_act", "sine", "4"},
      {"nomic_bert", "/causal", true, "4"},
      {"nomic_bert", "/use_rms_norm", true, "4"},
      {"nomic_bert", "/parallel_block", true, "4"},
      {"nomic_bert", "/rotary_emb_scale_base", 512, "4"},
      {"nomic_bert", "/rotary_scaling_factor", 2, "4"},
      {"nomic_bert", "/moe_every_n_layers", 2, "4"},
      {"llama4_text", "/layer_types", json::array({"full_attention", "full_attention", "full_attention"}), ""},
      {"llama4_text", "/layer_types", json::array({"sliding_attention", "full_attention", "full_attention"}), "4"},
      {"phi3", "/rope_scaling/type", "linear", "4"},
      {"phi3", "/rope_scaling/type", "dynamic", "4"},
      {"phi3", "/rope_scaling/type", "llama3", "4"},
      {"phi3", "/rope_scaling", json{{"type", "yarn"}, {"factor", 2}}, "3"},
      {"mpt", "/norm_type", "rmsnorm", "4"},
      {"mpt", "/logit_scale", 0.5, "4"},
      {"mpt", "/logit_scale", "inv_sqrt_d_model", "4"},
      {"mpt", "/no_bias", false, "4"},
      {"mpt", "/expansion_ratio", 2, "4"},
      {"mpt", "/attn_config/alibi_bias_max", 16, "4"},
      {"mpt", "/attn_config/alibi", false, "4"},
      {"mpt", "/attn_config/qk_ln", true, "4"},
      {"mpt", "/attn_config/prefix_lm", true, "4"},
      {"mpt", "/attn_config/clip_qkv", 6, "4"},
      {"mpt", "/attn_config/alibi", "yes", "3"},
      {"mpt", "/attn_config/attn_type", "multiquery_attention", "4"},
      {"deepseek_v2", "/scoring_func", "sigmoid", "4"},
      {"deepseek_v2", "/topk_method", "noaux_tc", "4"},
      {"deepseek_v2", "/moe_layer_freq", 2, "4"},
      {"deepseek_v3", "/scoring_func", "softmax", "4"},
      {"deepseek_v3", "/topk_method", "greedy", "4"},
      {"timm-reg4", "/global_pool", "avg", ""},
      {"timm-reg4", "/global_pool", "map", "4"},
      {"timm-reg4", "/model_args/global_pool", "avg", ""},
      {"timm-reg4", "/model_args/global_pool", "max", "4"},
      {"timm-reg4", "/model_args/act_layer", "quick_gelu", "4"},
      {"timm-dinov2", "/global_pool", "avgmax", "4"},
      {"granite", "/rope_scaling", json{{"rope_type", "linear"}}, "3"},
      {"granite", "/rope_scaling", json{{"rope_type", "dynamic"}}, "3"},
      {"granite", "/rope_scaling", json{{"rope_type", "yarn"}}, "3"},
      {"granite", "/rope_scaling", json{{"rope_type", "llama3"}, {"factor", 8}}, "3"},
      {"granite", "/rope_scaling", json{{"rope_type", "linear"}, {"factor", 0}}, "3"},
      {"granite", "/rope_scaling", json{{"rope_type", "linear"}, {"factor", -2}}, "3"},
      {"granite", "/rope_scaling", json{{"rope_type", "yarn"}, {"factor", 2}, {"mscale", 1}, {"mscale_all_dim", 0.5}},
       ""},
      {"granite", "/rope_scaling", json{{"rope_type", "spiral"}, {"factor", 2}}, "4"},
      {"granite", "/partial_rotary_factor", 0.5, "4"},
      {"granite", "/rms_norm_eps", -1e-6, "3"},
      {"gptj", "/layer_norm_epsilon", -1e-5, "3"},
      {"gptj", "/rotary_dim", nullptr, "4"},
      {"roberta", "/layer_norm_eps", -1e-12, "3"},
      {"dinov3_vit", "/layer_norm_eps", -1, "3"},
      {"t5", "/layer_norm_epsilon", -1e-6, "3"},
      {"t5", "/dense_act_fn", "silu", "4"},
      {"t5", "/is_gated_act", nullptr, "="},
      {"umt5", "/scalable_attention", false, "4"},
      {"umt5", "/num_decoder_layers", 4, "3"},
      {"umt5", "/model_type", "t5", "3"},
      {"modernbert", "/classifier_activation", "relu", "4"},
      {"modernbert", "/rope_scaling", json{{"rope_type", "yarn"}, {"factor", 2}}, ""},
      {"modernbert", "/rope_scaling", json{{"rope_type", "spiral"}, {"factor", 2}}, "4"},
      {"timm-reg4", "/pretrained_cfg/crop_mode", "border", "4"},
      {"starcoder2", "/norm_type", "rms_norm", "4"},
      {"falcon", "/apply_residual_connection_post_layernorm", true, "4"},
      {"qwen3", "/layer_types", json::array({"sliding_attention", "full_attention"}), "3"},
      {"qwen2_moe", "/layer_types", json::array({"sliding_attention", "full_attention"}), "3"},
      {"gemma2", "/layer_types", json::array({"chunked_attention", "full_attention", "full_attention"}), "4"},
      {"qwen3", "/", json{{"use_sliding_window", true}, {"sliding_window", 3}, {"max_window_layers", 1}}, ""},
      {"qwen2_moe", "/", json{{"use_sliding_window", true}, {"sliding_window", 3}, {"max_window_layers", 1}}, ""},
      {"deepseek_v3", "/num_key_value_heads", 2, "4"},
      {"deepseek_v3", "/head_dim", 16, "4"},
      {"deepseek_v3", "/rope_scaling/rope_type", "another", "4"},
      {"timm-reg4", "/model_args/qkv_bias", false, "3"},
      {"timm-reg4", "/model_args/class_token", false, "3"},
      {"timm-reg4", "/model_args/init_values", 1e-5, "3"},
      {"beit", "/layer_scale_init_value", 0, "3"},
      {"beit", "/use_absolute_position_embeddings", true, "3"},
      {"beit-both", "/use_absolute_position_embeddings", false, "3"},
      {"beit-both", "/use_shared_relative_position_bias", false, "3"},
      {"beit-both", "/use_relative_position_bias", false, "3"},
      {"cohere2", "/use_qk_norm", true, "4"},
      {"cohere2", "/use_parallel_block", false, "4"},
      {"ernie4_5", "/compression_ratio", 2, "4"},
  };
  return kFields;
}

TEST(FamilyFields, ThoseThatMeanSomethingElseAreRefusedOrRead) {
  for (const OtherField& field : further_fields()) {
    SCOPED_TRACE(field.folder + field.pointer + " = " + field.value.dump());
    const Checked checked(golden_families() / field.folder);
    json config = checked.config();
    if (field.pointer == "/") {
      config.update(field.value);
    } else {
      config[json::json_pointer(field.pointer)] = field.value;
    }
    if (field.refused == "=") {
      EXPECT_FALSE(checked.notices(config));
    } else if (field.refused.empty()) {
      EXPECT_EQ(checked.with(config).refused, "");
      EXPECT_TRUE(checked.notices(config));
    } else {
      EXPECT_EQ(checked.with(config).refused.substr(0, 1), field.refused) << checked.with(config).refused;
    }
  }
}

// A flag that takes biases away which the file holds: what would be computed is not what was trained.
TEST(FamilyFields, TensorsThatTheConfigurationHasNotAreRefused) {
  const std::vector<std::pair<std::string, std::string>> flags{
      {"falcon_alibi", "bias"},     {"gpt_oss", "attention_bias"}, {"gpt_oss", "mlp_bias"},
      {"deit", "qkv_bias"},         {"starcoder2", "use_bias"},    {"qwen2_moe", "qkv_bias"},
      {"stablelm", "use_qkv_bias"}, {"dinov3_vit", "query_bias"},  {"dinov3_vit", "proj_bias"},
      {"dinov2", "qkv_bias"},       {"phi", "attention_bias"},     {"gptj", ""},
      {"ernie4_5", "use_bias"}};
  for (const auto& [folder, flag] : flags) {
    SCOPED_TRACE(folder + " " + flag);
    const Checked checked(golden_families() / folder);
    json config = checked.config();
    if (flag.empty()) {
      config["n_layer"] = 1;
    } else {
      config[flag] = false;
    }
    const Computed now = checked.with(config);
    EXPECT_EQ(now.refused.substr(0, 2), "3 ");
    EXPECT_NE(now.refused.find("expected no tensors beside those that the configuration says"), std::string::npos)
        << now.refused;
  }
}

}  // namespace
}  // namespace locus
