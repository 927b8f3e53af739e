// Fields of config.json without effect on a forward pass.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/shown.h"
#include "models/families/engine/family.h"

namespace locus::families {

namespace {

// Fields without effect on a forward pass of any family, anywhere in the file; also every field with "dropout" or
// "drop_path" in its name.
constexpr std::array<std::string_view, 133> kHarmless{
    // Author and software of the file.
    "architectures", "transformers_version", "model_type", "torch_dtype", "dtype", "_name_or_path", "name_or_path",
    "auto_map", "_attn_implementation", "attn_implementation", "_commit_hash", "transformers.js_config",
    "tokenizer_class", "processor_class", "license",
    // Task heads and their labels, which are not used.
    "task_specific_params", "finetuning_task", "problem_type", "id2label", "label2id", "num_labels",
    "classifier_pooling", "summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
    "pooler_act", "pooler_output_size", "pooler_hidden_act", "pooler_hidden_size", "projection_dim",
    "logit_scale_init_value", "encoder_stride", "use_mask_token", "out_features", "out_indices", "stage_names",
    "apply_layernorm", "reshape_hidden_states", "vision_use_head",
    // Return values of a call, and its memory.
    "return_dict", "use_return_dict", "output_hidden_states", "output_attentions", "torchscript", "pruned_heads",
    "chunk_size_feed_forward", "_from_model_config", "use_bfloat16", "tf_legacy_loss", "gradient_checkpointing",
    "use_cache", "cache_implementation", "is_decoder", "is_encoder_decoder",
    // Ids that tokenizers, padding and generation need.
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "unk_token_id",
    "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id", "video_token_id", "video_start_token_id",
    "video_end_token_id", "vision_token_id", "ignore_index",
    // Generation.
    "max_length", "min_length", "max_new_tokens", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
    "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences", "output_scores",
    "return_dict_in_generate", "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens", "bad_words_ids", "prefix", "generation_config",
    // Initial values and losses.
    "initializer_range", "initializer_factor", "initializer_cutoff_factor", "initializer_std", "init_std",
    "layerscale_value", "layer_scale_init_value", "output_router_logits", "router_aux_loss_coef", "router_jitter_noise",
    "router_z_loss_coef", "aux_loss_alpha", "seq_aux", "loss_type", "sparse_prediction", "sparse_pred_ignore_index",
    "layerdrop", "encoder_layerdrop", "decoder_layerdrop",
    // Choice of kernels and distribution over devices.
    "reorder_and_upcast_attn", "upcast_attn", "attention_softmax_in_fp32", "use_flash_attn", "use_flash_attn_2",
    "flash_attn", "use_flash_attention_2", "deterministic_flash_attn", "reference_compile", "use_xformers",
    "use_kernels", "fused_dropout_add_ln", "fused_bias_fc", "use_mem_eff_path", "pad_vocab_size_multiple", "ep_size",
    "pretraining_tp", "tensor_parallel_size"};

bool is_one_of(std::string_view name, const auto& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_harmless(const std::string& path, const Family& family) {
  // A name may contain a dot: "transformers.js_config".
  const std::size_t dot = path.rfind('.');
  const std::string_view name = std::string_view(path).substr(dot == path.npos ? 0 : dot + 1);
  return is_one_of(name, kHarmless) || is_one_of(std::string_view(path), kHarmless) ||
         is_one_of(std::string_view(path), family.harmless) || name.find("dropout") != name.npos ||
         name.find("drop_path") != name.npos || name.ends_with("_pdrop");
}

std::vector<std::string> unused_fields(const Family& family, const CheckpointFiles& checkpoint) {
  std::vector<std::string> unused;
  for (std::string& path : checkpoint.config.unread()) {
    if (!is_harmless(path, family)) {
      unused.push_back(std::move(path));
    }
  }
  return unused;
}

namespace {

std::string list_of_fields(const std::vector<std::string>& fields) {
  constexpr std::size_t kNamed = 12;
  std::string list;
  for (std::size_t n = 0; n < std::min(fields.size(), kNamed); ++n) {
    list += (n == 0 ? "" : ", ") + shown(fields[n]);
  }
  return list + (fields.size() > kNamed ? " and " + std::to_string(fields.size() - kNamed) + " more" : "");
}

}  // namespace

std::string unused_fields_warning(const std::vector<std::string>& fields, const std::string& file) {
  return file + ": not used: " + list_of_fields(fields);
}

Error unread_by_file(const Family& family, const std::vector<std::string>& fields, const std::string& file) {
  return unsupported("expected fields that " + std::string(family.file) + " reads, settles or ignores, found " +
                         list_of_fields(fields),
                     file);
}

}  // namespace locus::families
