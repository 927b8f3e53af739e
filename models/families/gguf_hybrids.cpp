#include "models/families/gguf_hybrids.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/shown.h"
#include "models/families/state_space_fields.h"
#include "models/formats/gguf/gguf_metadata.h"
#include "models/formats/tensor_table.h"

namespace locus::families {

namespace {

using formats::TensorInfo;
using Stems = GgufStems;

constexpr std::string_view kBlockPrefix = "blk.";

std::string block_name(std::int64_t layer, std::string_view tensor) {
  return std::string(kBlockPrefix) + std::to_string(layer) + "." + std::string(tensor);
}

// "blk.3.attn_q.weight": its layer and "attn_q.weight"; −1 for another name.
std::pair<std::int64_t, std::string_view> place_of_block(std::string_view name) {
  std::int64_t layer = -1;
  if (!name.starts_with(kBlockPrefix)) {
    return {-1, name};
  }
  const char* const begin = name.data() + kBlockPrefix.size();
  const auto read = std::from_chars(begin, name.data() + name.size(), layer);
  if (read.ec != std::errc() || layer < 0 || read.ptr == name.data() + name.size() || *read.ptr != '.') {
    return {-1, name};
  }
  return {layer, name.substr(static_cast<std::size_t>(read.ptr + 1 - name.data()))};
}

// The other name of `tensor` in the table: of the whole, or of what stands before .weight or .bias.
std::string other_name(const Stems& stems, std::string_view tensor) {
  const std::size_t dot = tensor.rfind('.');
  for (const auto& [from, to] : stems) {
    if (tensor == from) {
      return std::string(to);
    }
  }
  for (const auto& [from, to] : stems) {
    if (dot != tensor.npos && tensor.substr(0, dot) == from) {
      return std::string(to) + std::string(tensor.substr(dot));
    }
  }
  return {};
}

void set_shape(TensorInfo& tensor, std::vector<std::int64_t> shape) {
  std::int64_t count = 0;
  tensor.shape = std::move(shape);
  formats::row_major(tensor.shape, tensor.strides, count);
}

// Experts, one by one.
Result<std::vector<GgufTensor>> split_experts(const TensorInfo& tensor, const std::string& name) {
  std::vector<GgufTensor> experts;
  const std::int64_t whole = tensor.shape.size() == 3 || tensor.shape.size() == 2 ? tensor.shape.front() : 0;
  const auto count = static_cast<std::size_t>(whole);
  if (whole < 1 || count > tensor.storage.size() || tensor.storage.size() % count != 0) {
    return bad_input("expected experts of the same size, found " + formats::shape_text(tensor.shape),
                     formats::tensor_context(tensor.file, tensor.name));
  }
  if (count > formats::kTensorLimit) {
    return too_large(std::to_string(count) + " experts", formats::tensor_context(tensor.file, tensor.name));
  }
  const std::size_t bytes = tensor.storage.size() / count;
  const std::size_t place = name.find(".J.");
  for (std::size_t n = 0; n < count; ++n) {
    TensorInfo own = tensor;
    own.storage = tensor.storage.subspan(n * bytes, bytes);
    set_shape(own, {tensor.shape.begin() + 1, tensor.shape.end()});
    experts.push_back({std::move(own), name.substr(0, place + 1) + std::to_string(n) + name.substr(place + 2)});
  }
  return experts;
}

// ---- fields

Result<std::int64_t> divided(const GgufReading& reading, std::string_view value, std::string_view by) {
  LOCUS_TRY(const std::int64_t whole, reading.integer(value));
  LOCUS_TRY(const std::int64_t parts, reading.integer(by));
  if (parts < 1 || whole < 1 || whole % parts != 0) {
    return bad_input("expected a multiple of " + std::to_string(parts) + ", found " + std::to_string(whole),
                     reading.context(value));
  }
  return whole / parts;
}

GgufFields kinds_of(const std::vector<bool>& marked, const char* yes, const char* no) {
  GgufFields kinds = GgufFields::array();
  for (const bool each : marked) {
    kinds.push_back(each ? yes : no);
  }
  return kinds;
}

}  // namespace

Status add_gguf_experts(const GgufReading& reading, GgufFields& fields, const char* count, const char* chosen,
                        const char* inner) {
  LOCUS_TRY(const std::int64_t experts, reading.integer("expert_count", 0));
  fields[count] = experts;
  if (experts == 0) {
    return {};
  }
  LOCUS_TRY(fields[chosen], reading.integer("expert_used_count"));
  if (*inner != 0) {
    LOCUS_TRY(fields[inner], reading.integer("expert_feed_forward_length"));
  }
  return {};
}

GgufStems joined_stems(std::initializer_list<GgufStems> tables) {
  GgufStems all;
  for (const GgufStems& each : tables) {
    all.insert(all.end(), each.begin(), each.end());
  }
  return all;
}

GgufStems routed_experts() {
  return {{"ffn_gate_exps", "mlp.experts.J.gate_proj"},
          {"ffn_up_exps", "mlp.experts.J.up_proj"},
          {"ffn_down_exps", "mlp.experts.J.down_proj"}};
}

GgufStems shared_experts() {
  return {{"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
          {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
          {"ffn_down_shexp", "mlp.shared_experts.down_proj"}};
}

Result<bool> has_sigmoid_gate(const GgufReading& reading, std::optional<bool> fallback) {
  constexpr std::int64_t kSoftmax = 1;
  constexpr std::int64_t kSigmoid = 2;
  const std::optional<std::int64_t> absent =
      fallback ? std::optional(*fallback ? kSigmoid : kSoftmax) : std::optional<std::int64_t>();
  LOCUS_TRY(const std::int64_t gating, reading.integer("expert_gating_func", absent));
  if (gating != kSoftmax && gating != kSigmoid) {
    return unsupported("expected 1, a soft-max, or 2, a sigmoid, found " + std::to_string(gating),
                       reading.context("expert_gating_func"));
  }
  return gating == kSigmoid;
}

Status expect_sigmoid_gate(const GgufReading& reading) {
  constexpr std::int64_t kSigmoid = 2;
  LOCUS_TRY(const std::int64_t gating, reading.integer("expert_gating_func", kSigmoid));
  return gating == kSigmoid ? Status()
                            : Status(unsupported("expected 2, a sigmoid, found " + std::to_string(gating),
                                                 reading.context("expert_gating_func")));
}

Status add_gguf_inner_width(const GgufReading& reading, GgufFields& fields, const char* field) {
  const TensorInfo* const up = reading.first("ffn_up.weight");
  if (up == nullptr || up->shape.size() != 2) {
    return bad_input("expected a matrix blk.0.ffn_up.weight, found none", reading.context("feed_forward_length"));
  }
  fields[field] = up->shape.front();
  return {};
}

Status add_gguf_router(const GgufReading& reading, GgufFields& fields, const char* normalised, const char* factor) {
  LOCUS_TRY(fields[normalised], reading.boolean("expert_weights_norm", true));
  LOCUS_TRY(fields[factor], reading.number("expert_weights_scale", 1.0));
  return expect_sigmoid_gate(reading);
}

namespace {

Status add_qwen(const GgufReading& reading, GgufFields& fields) {
  if (reading.first("ssm_in.weight") != nullptr) {
    return unsupported(
        "expected attn_qkv and attn_gate, found ssm_in of an early converter: convert the model again",
        reading.first("ssm_in.weight")->file.string() + ": tensor " + reading.first("ssm_in.weight")->name);
  }
  LOCUS_TRY(fields["linear_conv_kernel_dim"], reading.integer("ssm.conv_kernel"));
  LOCUS_TRY(fields["linear_key_head_dim"], reading.integer("ssm.state_size"));
  LOCUS_TRY(const std::int64_t keys, reading.integer("ssm.group_count"));
  LOCUS_TRY(const std::int64_t values, reading.integer("ssm.time_step_rank"));
  fields["linear_num_key_heads"] = keys;
  fields["linear_num_value_heads"] = values;
  LOCUS_TRY(fields["linear_value_head_dim"], divided(reading, "ssm.inner_size", "ssm.time_step_rank"));
  fields["layer_types"] = kinds_of(reading.having("ssm_a"), "linear_attention", "full_attention");
  fields["linear_value_heads_tiled"] = fields["model_type"] != "qwen3_next" && keys != values;
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  if (fields["num_experts"] == 0) {
    fields.erase("num_experts");
    return {};
  }
  LOCUS_TRY(fields["shared_expert_intermediate_size"], reading.integer("expert_shared_feed_forward_length"));
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", true));
  const std::vector<bool> sparse = reading.having("ffn_gate_inp.weight");
  fields["mlp_only_layers"] = GgufFields::array();
  for (std::size_t n = 0; n < sparse.size(); ++n) {
    if (!sparse[n]) {
      fields["mlp_only_layers"].push_back(n);
    }
  }
  if (std::find(sparse.begin(), sparse.end(), false) == sparse.end()) {
    fields.erase("intermediate_size");
  }
  return {};
}

Status add_state_space(const GgufReading& reading, GgufFields& fields, const StateSpaceFields& names = {}) {
  LOCUS_TRY(fields[names.heads], reading.integer("ssm.time_step_rank"));
  LOCUS_TRY(fields[names.head_width], divided(reading, "ssm.inner_size", "ssm.time_step_rank"));
  LOCUS_TRY(fields[names.states], reading.integer("ssm.state_size"));
  LOCUS_TRY(fields[names.groups], reading.integer("ssm.group_count"));
  LOCUS_TRY(fields[names.kernel], reading.integer("ssm.conv_kernel"));
  fields[names.kernel_bias] = reading.first("ssm_conv1d.bias") != nullptr;
  return {};
}

Status add_expansion(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(fields["mamba_expand"], divided(reading, "ssm.inner_size", "embedding_length"));
  return {};
}

// In these files the value says whether positions are rotated at all.
bool rotates(const GgufReading& reading) {
  const Result<bool> said = reading.boolean("rope.scaling.finetuned", true);
  return said.ok() && *said;
}

Status add_granite(const GgufReading& reading, GgufFields& fields) {
  const auto width = fields["head_dim"].get<double>();
  LOCUS_TRY(fields["attention_multiplier"], reading.number("attention.scale", 1 / std::sqrt(width)));
  LOCUS_TRY(fields["embedding_multiplier"], reading.number("embedding_scale", 1.0));
  LOCUS_TRY(fields["residual_multiplier"], reading.number("residual_scale", 1.0));
  LOCUS_TRY(fields["logits_scaling"], reading.number("logit_scale", 1.0));
  LOCUS_CHECK(add_state_space(reading, fields));
  LOCUS_CHECK(add_expansion(reading, fields));
  fields["layer_types"] = kinds_of(reading.having("ssm_a"), "mamba", "attention");
  fields["position_embedding_type"] = rotates(reading) ? "rope" : "nope";
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_local_experts", "num_experts_per_tok", ""));
  // Without experts the file gives another width than that of its feed-forward.
  const TensorInfo* const gate =
      reading.first(fields["num_local_experts"] == 0 ? "ffn_gate.weight" : "ffn_gate_shexp.weight");
  if (gate == nullptr || gate->shape.empty()) {
    return unsupported("expected a feed-forward of all tokens, found none", reading.context("block_count"));
  }
  fields["shared_intermediate_size"] = gate->shape.front();
  if (!rotates(reading)) {
    fields.erase("rope_theta");
    fields.erase("partial_rotary_factor");
  }
  return {};
}

// Bamba comes under Granite's name, with rotation and without its factors.
bool is_bamba(const GgufReading& reading) {
  return rotates(reading) && !reading.has("embedding_scale") && !reading.has("residual_scale") &&
         !reading.has("logit_scale");
}

Status add_bamba(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_state_space(reading, fields));
  LOCUS_CHECK(add_expansion(reading, fields));
  fields["attn_layer_indices"] = GgufFields::array();
  const std::vector<bool> mixes = reading.having("ssm_a");
  for (std::size_t n = 0; n < mixes.size(); ++n) {
    if (!mixes[n]) {
      fields["attn_layer_indices"].push_back(n);
    }
  }
  LOCUS_TRY(const std::int64_t experts, reading.integer("expert_count", 0));
  return experts == 0 ? Status()
                      : Status(unsupported("expected Bamba, without experts, found " + std::to_string(experts),
                                           reading.context("expert_count")));
}

Status add_nemotron(const GgufReading& reading, GgufFields& fields) {
  fields["layer_norm_epsilon"] = fields["rms_norm_eps"];
  LOCUS_CHECK(add_state_space(
      reading, fields,
      {"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "use_conv_bias"}));
  for (const char* field : {"rope_theta", "partial_rotary_factor", "rms_norm_eps"}) {
    fields.erase(field);
  }
  const std::vector<bool> mixes = reading.having("ssm_a");
  const std::vector<bool> attends = reading.having("attn_q.weight");
  const std::vector<bool> sparse = reading.having("ffn_gate_inp.weight");
  fields["layers_block_type"] = GgufFields::array();
  for (std::size_t n = 0; n < mixes.size(); ++n) {
    fields["layers_block_type"].push_back(mixes[n]     ? "linear_attention"
                                          : attends[n] ? "full_attention"
                                          : sparse[n]  ? "moe"
                                                       : "mlp");
  }
  if (reading.has("moe_latent_size")) {
    return unsupported("expected experts as wide as the model", reading.context("moe_latent_size"));
  }
  if (std::find(sparse.begin(), sparse.end(), true) == sparse.end()) {
    return {};
  }
  fields.erase("intermediate_size");
  LOCUS_CHECK(add_gguf_experts(reading, fields, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_CHECK(add_gguf_router(reading, fields, "norm_topk_prob", "routed_scaling_factor"));
  LOCUS_TRY(fields["n_shared_experts"], reading.integer("expert_shared_count", 0));
  LOCUS_TRY(fields["moe_shared_expert_intermediate_size"], reading.integer("expert_shared_feed_forward_length", 1));
  LOCUS_TRY(fields["n_group"], reading.integer("expert_group_count", 1));
  LOCUS_TRY(fields["topk_group"], reading.integer("expert_group_used_count", 1));
  return {};
}

Status add_falcon(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_state_space(reading, fields));
  LOCUS_TRY(fields["mamba_d_ssm"], reading.integer("ssm.inner_size"));
  fields["mamba_rms_norm"] = reading.first("ssm_norm.weight") != nullptr;
  fields["mamba_norm_before_gate"] = false;
  return {};
}

Status add_short_convolution(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(fields["conv_L_cache"], reading.integer("shortconv.l_cache"));
  fields["conv_bias"] = reading.first("shortconv.conv.bias") != nullptr;
  fields["layer_types"] = kinds_of(reading.having("shortconv.conv.weight"), "conv", "full_attention");
  fields["norm_eps"] = fields["rms_norm_eps"];
  fields.erase("rms_norm_eps");
  LOCUS_TRY(const std::int64_t window, reading.integer("attention.sliding_window", 0));
  return window == 0 ? Status()
                     : Status(unsupported("expected attention without a window, found " + std::to_string(window),
                                          reading.context("attention.sliding_window")));
}

Status add_lfm2(const GgufReading& reading, GgufFields& fields) {
  fields["block_auto_adjust_ff_dim"] = false;
  return add_short_convolution(reading, fields);
}

Status add_lfm2_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_short_convolution(reading, fields));
  LOCUS_TRY(fields["num_dense_layers"], reading.integer("leading_dense_block_count", 0));
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  fields["use_expert_bias"] = reading.first("exp_probs_b.bias") != nullptr;
  return add_gguf_router(reading, fields, "norm_topk_prob", "routed_scaling_factor");
}

Status add_kimi(const GgufReading& reading, GgufFields& fields) {
  for (const char* field : {"num_key_value_heads", "head_dim", "partial_rotary_factor", "rope_theta"}) {
    fields.erase(field);
  }
  LOCUS_TRY(const std::int64_t rotated, reading.integer("rope.dimension_count"));
  LOCUS_TRY(const std::int64_t whole, reading.integer("attention.key_length_mla"));
  if (whole <= rotated) {
    return bad_input("expected more than the " + std::to_string(rotated) + " of rope.dimension_count, found " +
                         std::to_string(whole),
                     reading.context("attention.key_length_mla"));
  }
  fields["qk_rope_head_dim"] = rotated;
  fields["qk_nope_head_dim"] = whole - rotated;
  LOCUS_TRY(fields["v_head_dim"], reading.integer("attention.value_length_mla"));
  LOCUS_TRY(fields["kv_lora_rank"], reading.integer("attention.kv_lora_rank"));
  LOCUS_TRY(fields["q_lora_rank"], reading.integer("attention.q_lora_rank", 0));
  fields["linear_num_heads"] = fields["num_attention_heads"];
  LOCUS_TRY(fields["linear_head_dim"], reading.integer("kda.head_dim"));
  LOCUS_TRY(fields["linear_conv_kernel_dim"], reading.integer("ssm.conv_kernel"));
  fields["layer_types"] = kinds_of(reading.having("ssm_a"), "linear_attention", "full_attention");
  LOCUS_TRY(fields["first_k_dense_replace"], reading.integer("leading_dense_block_count", 0));
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_token", "moe_intermediate_size"));
  LOCUS_TRY(fields["num_shared_experts"], reading.integer("expert_shared_count", 0));
  LOCUS_TRY(fields["num_expert_group"], reading.integer("expert_group_count", 1));
  LOCUS_TRY(fields["topk_group"], reading.integer("expert_group_used_count", 1));
  return add_gguf_router(reading, fields, "moe_renormalize", "routed_scaling_factor");
}

// Marked layers as one of every `period`, from `offset` on. Errors: kUnsupported for other places.
Status add_period(const GgufReading& reading, const std::vector<bool>& marked, const char* what, const char* period,
                  const char* offset, GgufFields& fields) {
  const auto count = static_cast<std::int64_t>(marked.size());
  std::vector<std::int64_t> places;
  for (std::int64_t n = 0; n < count; ++n) {
    if (marked[static_cast<std::size_t>(n)]) {
      places.push_back(n);
    }
  }
  const std::int64_t first = places.empty() ? count : places.front();
  const std::int64_t each = places.size() < 2 ? count + 1 : places[1] - places[0];
  for (std::int64_t n = 0; n < count; ++n) {
    if (marked[static_cast<std::size_t>(n)] != (n % each == first)) {
      return unsupported("expected " + std::string(what) + " in one of every " + std::to_string(each) +
                             " layers, found another order at layer " + std::to_string(n),
                         reading.context("block_count"));
    }
  }
  fields[period] = each;
  fields[offset] = first;
  return {};
}

Status add_jamba(const GgufReading& reading, GgufFields& fields) {
  fields.erase("rope_theta");
  fields.erase("partial_rotary_factor");
  LOCUS_TRY(fields["mamba_d_conv"], reading.integer("ssm.conv_kernel"));
  LOCUS_TRY(fields["mamba_d_state"], reading.integer("ssm.state_size"));
  LOCUS_TRY(fields["mamba_dt_rank"], reading.integer("ssm.time_step_rank"));
  LOCUS_CHECK(add_expansion(reading, fields));
  fields["mamba_conv_bias"] = reading.first("ssm_conv1d.bias") != nullptr;
  std::vector<bool> attends = reading.having("ssm_a");
  attends.flip();
  LOCUS_CHECK(add_period(reading, attends, "attention", "attn_layer_period", "attn_layer_offset", fields));
  const std::vector<bool> sparse = reading.having("ffn_gate_inp.weight");
  LOCUS_CHECK(add_period(reading, sparse, "experts", "expert_layer_period", "expert_layer_offset", fields));
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", ""));
  if (std::find(sparse.begin(), sparse.end(), true) == sparse.end()) {
    fields["num_experts"] = 1;
  }
  return {};
}

// ---- tensors

const Stems kDeltaStems{{"post_attention_norm", "post_attention_layernorm"},
                        {"attn_qkv", "linear_attn.in_proj_qkv"},
                        {"attn_gate", "linear_attn.in_proj_z"},
                        {"ssm_ba", "linear_attn.in_proj_ba"},
                        {"ssm_beta", "linear_attn.in_proj_b"},
                        {"ssm_alpha", "linear_attn.in_proj_a"},
                        {"ssm_conv1d", "linear_attn.conv1d"},
                        {"ssm_a", "linear_attn.A_log"},
                        {"ssm_dt.bias", "linear_attn.dt_bias"},
                        {"ssm_norm", "linear_attn.norm"},
                        {"ssm_out", "linear_attn.out_proj"},
                        {"ffn_gate_inp", "mlp.gate"},
                        {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                        {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                        {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                        {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
                        {"ffn_gate_exps", "mlp.experts.J.gate_proj"},
                        {"ffn_up_exps", "mlp.experts.J.up_proj"},
                        {"ffn_down_exps", "mlp.experts.J.down_proj"}};

const Stems kMambaStems{
    {"ssm_in", "mamba.in_proj"}, {"ssm_conv1d", "mamba.conv1d"}, {"ssm_a", "mamba.A_log"},        {"ssm_d", "mamba.D"},
    {"ssm_norm", "mamba.norm"},  {"ssm_out", "mamba.out_proj"},  {"ssm_dt.bias", "mamba.dt_bias"}};

// The names of a feed-forward that has a module and a norm of its own.
const Stems kFeedForwardStems{{"ffn_norm", "pre_ff_layernorm.weight"},
                              {"ffn_norm.weight", "pre_ff_layernorm.weight"},
                              {"ffn_gate", "feed_forward.gate_proj"},
                              {"ffn_up", "feed_forward.up_proj"},
                              {"ffn_down", "feed_forward.down_proj"}};

const Stems kGraniteStems{{"ffn_gate", "shared_mlp.gate_proj"},
                          {"ffn_up", "shared_mlp.up_proj"},
                          {"ffn_down", "shared_mlp.output_linear"},
                          {"ffn_gate_shexp", "shared_mlp.gate_proj"},
                          {"ffn_up_shexp", "shared_mlp.up_proj"},
                          {"ffn_down_shexp", "shared_mlp.output_linear"},
                          {"ffn_gate_inp", "block_sparse_moe.router.layer"},
                          {"ffn_gate_exps", "block_sparse_moe.experts.J.gate_proj"},
                          {"ffn_up_exps", "block_sparse_moe.experts.J.up_proj"},
                          {"ffn_down_exps", "block_sparse_moe.experts.J.down_proj"}};

const Stems kNemotronStems{{"attn_norm", "norm"},
                           {"ssm_in", "mixer.in_proj"},
                           {"ssm_conv1d", "mixer.conv1d"},
                           {"ssm_a", "mixer.A_log"},
                           {"ssm_d", "mixer.D"},
                           {"ssm_norm", "mixer.norm"},
                           {"ssm_out", "mixer.out_proj"},
                           {"ssm_dt.bias", "mixer.dt_bias"},
                           {"attn_q", "mixer.q_proj"},
                           {"attn_k", "mixer.k_proj"},
                           {"attn_v", "mixer.v_proj"},
                           {"attn_output", "mixer.o_proj"},
                           {"ffn_up", "mixer.up_proj"},
                           {"ffn_down", "mixer.down_proj"},
                           {"ffn_gate_inp", "mixer.gate"},
                           {"exp_probs_b.bias", "mixer.gate.e_score_correction_bias"},
                           {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
                           {"ffn_down_shexp", "mixer.shared_experts.down_proj"},
                           {"ffn_up_exps", "mixer.experts.J.up_proj"},
                           {"ffn_down_exps", "mixer.experts.J.down_proj"}};

const Stems kConvolutionStems{{"attn_norm", "operator_norm"},
                              {"attn_output", "self_attn.out_proj"},
                              {"attn_q_norm", "self_attn.q_layernorm"},
                              {"attn_k_norm", "self_attn.k_layernorm"},
                              {"shortconv.conv", "conv.conv"},
                              {"shortconv.in_proj", "conv.in_proj"},
                              {"shortconv.out_proj", "conv.out_proj"},
                              {"ffn_norm", "ffn_norm"},
                              {"ffn_gate", "feed_forward.w1"},
                              {"ffn_up", "feed_forward.w3"},
                              {"ffn_down", "feed_forward.w2"},
                              {"ffn_gate_inp", "feed_forward.gate"},
                              {"exp_probs_b.bias", "feed_forward.expert_bias"},
                              {"ffn_gate_exps", "feed_forward.experts.J.w1"},
                              {"ffn_up_exps", "feed_forward.experts.J.w3"},
                              {"ffn_down_exps", "feed_forward.experts.J.w2"}};

const Stems kKimiStems{{"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                       {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
                       {"attn_q_a", "self_attn.q_a_proj"},
                       {"attn_q_a_norm", "self_attn.q_a_layernorm"},
                       {"attn_q_b", "self_attn.q_b_proj"},
                       {"attn_k_b", "self_attn.k_b_proj"},
                       {"attn_v_b", "self_attn.v_b_proj"},
                       {"ssm_conv1d_q", "self_attn.q_conv1d"},
                       {"ssm_conv1d_k", "self_attn.k_conv1d"},
                       {"ssm_conv1d_v", "self_attn.v_conv1d"},
                       {"ssm_a", "self_attn.A_log"},
                       {"ssm_dt.bias", "self_attn.dt_bias"},
                       {"ssm_f_a", "self_attn.f_a_proj"},
                       {"ssm_f_b", "self_attn.f_b_proj"},
                       {"ssm_g_a", "self_attn.g_a_proj"},
                       {"ssm_g_b", "self_attn.g_b_proj"},
                       {"ssm_beta", "self_attn.b_proj"},
                       {"ssm_norm", "self_attn.o_norm"},
                       {"ffn_gate_inp", "block_sparse_moe.gate"},
                       {"exp_probs_b.bias", "block_sparse_moe.gate.e_score_correction_bias"},
                       {"ffn_gate_shexp", "block_sparse_moe.shared_experts.gate_proj"},
                       {"ffn_up_shexp", "block_sparse_moe.shared_experts.up_proj"},
                       {"ffn_down_shexp", "block_sparse_moe.shared_experts.down_proj"},
                       {"ffn_gate_exps", "block_sparse_moe.experts.J.w1"},
                       {"ffn_up_exps", "block_sparse_moe.experts.J.w3"},
                       {"ffn_down_exps", "block_sparse_moe.experts.J.w2"}};

const Stems kJambaStems{{"ssm_in", "mamba.in_proj"},
                        {"ssm_conv1d", "mamba.conv1d"},
                        {"ssm_x", "mamba.x_proj"},
                        {"ssm_dt", "mamba.dt_proj"},
                        {"ssm_a", "mamba.A_log"},
                        {"ssm_d", "mamba.D"},
                        {"ssm_out", "mamba.out_proj"},
                        {"ssm_dt_norm", "mamba.dt_layernorm"},
                        {"ssm_b_norm", "mamba.b_layernorm"},
                        {"ssm_c_norm", "mamba.c_layernorm"},
                        {"ffn_gate_inp", "feed_forward.router"},
                        {"ffn_gate_exps", "feed_forward.experts.J.gate_proj"},
                        {"ffn_up_exps", "feed_forward.experts.J.up_proj"},
                        {"ffn_down_exps", "feed_forward.experts.J.down_proj"}};

std::vector<GgufHybrid> joined_hybrids(std::vector<GgufHybrid> hybrids) {
  hybrids.insert(hybrids.end(), gguf_decoders().begin(), gguf_decoders().end());
  for (const std::vector<GgufHybrid>& more :
       {gguf_latent_decoders(), gguf_older_models(), std::vector<GgufHybrid>{gguf_gemma4()}}) {
    hybrids.insert(hybrids.end(), more.begin(), more.end());
  }
  return hybrids;
}

}  // namespace

const std::vector<GgufHybrid>& gguf_hybrids() {
  static const std::vector<GgufHybrid> hybrids = joined_hybrids(
      {{{"qwen3next", "qwen3_next", false, true, kDeltaStems}, add_qwen},
       {{"qwen35", "qwen3_5_text", false, true, kDeltaStems}, add_qwen},
       {{"qwen35moe", "qwen3_5_moe_text", false, true, kDeltaStems}, add_qwen},
       {{"granitehybrid", "bamba", true, false, joined_stems({kMambaStems, kFeedForwardStems})},
        add_bamba,
        {{"output_norm", "model.final_layernorm"}},
        is_bamba},
       {{"granitehybrid", "granitemoehybrid", true, false, joined_stems({kMambaStems, kGraniteStems})}, add_granite},
       {{"nemotron_h", "nemotron_h", true, false, kNemotronStems},
        add_nemotron,
        {{"token_embd", "model.embeddings"}, {"output_norm", "model.norm_f"}}},
       {{"nemotron_h_moe", "nemotron_h", true, false, kNemotronStems},
        add_nemotron,
        {{"token_embd", "model.embeddings"}, {"output_norm", "model.norm_f"}}},
       {{"falcon-h1", "falcon_h1", false, false, joined_stems({kMambaStems, kFeedForwardStems})},
        add_falcon,
        {{"output_norm", "model.final_layernorm"}}},
       {{"lfm2", "lfm2", false, false, kConvolutionStems}, add_lfm2, {{"token_embd_norm", "model.embedding_norm"}}},
       {{"lfm2moe", "lfm2_moe", false, false, kConvolutionStems},
        add_lfm2_moe,
        {{"token_embd_norm", "model.embedding_norm"}}},
       {{"kimi-linear", "kimi_linear", false, false, kKimiStems}, add_kimi},
       {{"jamba", "jamba", false, false, joined_stems({kJambaStems, kFeedForwardStems})},
        add_jamba,
        {{"output_norm", "model.final_layernorm"}}}});
  return hybrids;
}

// ---- GgufReading

GgufReading::GgufReading(const formats::TensorSource& file, std::string_view architecture)
    : file_(&file), prefix_(std::string(architecture) + ".") {}

Result<GgufReading> GgufReading::of(const formats::TensorSource& file, std::string_view architecture) {
  GgufReading reading(file, architecture);
  LOCUS_TRY(const std::int64_t blocks, reading.integer("block_count"));
  LOCUS_TRY(const std::int64_t further, reading.integer("nextn_predict_layers", 0));
  if (blocks < 1 || blocks > static_cast<std::int64_t>(file.tensors().size())) {
    return bad_input("expected 1 to " + std::to_string(file.tensors().size()) +
                         " blocks, as the file has tensors, found " + std::to_string(blocks),
                     reading.context("block_count"));
  }
  if (further < 0 || further >= blocks) {
    return bad_input("expected less than all " + std::to_string(blocks) + " blocks, found " + std::to_string(further),
                     reading.context("nextn_predict_layers"));
  }
  reading.layers_ = blocks - further;
  return reading;
}

const TensorInfo* GgufReading::find(std::int64_t layer, std::string_view tensor) const {
  return file_->find(block_name(layer, tensor));
}

std::vector<bool> GgufReading::having(std::string_view tensor) const {
  std::vector<bool> found;
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    found.push_back(find(layer, tensor) != nullptr);
  }
  return found;
}

const TensorInfo* GgufReading::first(std::string_view tensor) const {
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    if (const TensorInfo* const found = find(layer, tensor); found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

const TensorInfo* GgufReading::outside(std::string_view tensor) const {
  return file_->find(tensor);
}

Result<std::vector<double>> GgufReading::vector_outside(std::string_view tensor) const {
  return gguf_vector(*file_, tensor);
}

bool GgufReading::has(std::string_view value) const {
  return file_->gguf()->has(prefix_ + std::string(value));
}

std::string GgufReading::context(std::string_view value) const {
  return file_->gguf()->context(prefix_ + std::string(value));
}

Result<std::int64_t> GgufReading::integer(std::string_view value, std::optional<std::int64_t> fallback) const {
  const std::string name = prefix_ + std::string(value);
  const formats::GgufMetadata& metadata = *file_->gguf();
  const formats::GgufValue* const found = metadata.find(name);
  if (found == nullptr) {
    return fallback ? Result<std::int64_t>(*fallback) : bad_input("expected a value, found none", context(value));
  }
  if (!found->list) {
    LOCUS_TRY(const auto whole, metadata.integer(name));
    return *whole;
  }
  LOCUS_TRY(const std::vector<std::int64_t> listed, metadata.integers(name));
  std::int64_t one = 0;
  for (const std::int64_t each : listed) {
    if (each != 0 && one != 0 && each != one) {
      return unsupported(
          "expected the same in all layers that have it, found " + std::to_string(one) + " and " + std::to_string(each),
          context(value));
    }
    one = each == 0 ? one : each;
  }
  return one;
}

Result<std::vector<std::int64_t>> GgufReading::integers(std::string_view value) const {
  const std::string name = prefix_ + std::string(value);
  const formats::GgufValue* const found = file_->gguf()->find(name);
  std::vector<std::int64_t> listed;
  if (found != nullptr && found->list) {
    LOCUS_TRY(listed, file_->gguf()->integers(name));
  } else {
    LOCUS_TRY(const std::int64_t all, integer(value));
    listed.assign(static_cast<std::size_t>(layers_), all);
  }
  if (std::ssize(listed) < layers_) {
    return bad_input("expected " + std::to_string(layers_) + " layers, found " + std::to_string(listed.size()),
                     context(value));
  }
  listed.resize(static_cast<std::size_t>(layers_));
  if (const std::int64_t least = *std::min_element(listed.begin(), listed.end()); least < 1) {
    return bad_input("expected at least 1 in each layer, found " + std::to_string(least), context(value));
  }
  return listed;
}

Result<double> GgufReading::number(std::string_view value, std::optional<double> fallback) const {
  LOCUS_TRY(const auto found, file_->gguf()->number(prefix_ + std::string(value)));
  if (!found && !fallback) {
    return bad_input("expected a value, found none", context(value));
  }
  return found ? *found : *fallback;
}

Result<bool> GgufReading::boolean(std::string_view value, bool fallback) const {
  LOCUS_TRY(const auto found, file_->gguf()->boolean(prefix_ + std::string(value)));
  return found.value_or(fallback);
}

Result<std::string> GgufReading::text(std::string_view value, std::string_view fallback) const {
  LOCUS_TRY(const auto found, file_->gguf()->text(prefix_ + std::string(value)));
  return std::string(found.value_or(fallback));
}

Status GgufReading::check_windows(std::int64_t period) const {
  constexpr std::string_view kLayers = "attention.sliding_window_pattern";
  if (!has(kLayers)) {
    return {};
  }
  LOCUS_TRY(const std::vector<bool> windows, file_->gguf()->booleans(prefix_ + std::string(kLayers)));
  if (std::ssize(windows) < layers_) {
    return bad_input("expected " + std::to_string(layers_) + " layers, found " + std::to_string(windows.size()),
                     context(kLayers));
  }
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    if (windows[static_cast<std::size_t>(layer)] != ((layer + 1) % period != 0)) {
      return unsupported("expected a window in all layers but each " + std::to_string(period) + "th, found layer " +
                             std::to_string(layer) + (windows[static_cast<std::size_t>(layer)] ? " with" : " without") +
                             " one",
                         context(kLayers));
    }
  }
  return {};
}

Result<GgufFields> GgufReading::window_types(std::int64_t period) const {
  constexpr std::string_view kLayers = "attention.sliding_window_pattern";
  const std::string name = prefix_ + std::string(kLayers);
  std::vector<bool> windowed;
  const formats::GgufValue* const found = file_->gguf()->find(name);
  if (found != nullptr && found->list) {
    LOCUS_TRY(windowed, file_->gguf()->booleans(name));
  } else {
    LOCUS_TRY(const std::int64_t own, integer(kLayers, period));
    if (own < 1) {
      return bad_input("expected at least 1, found " + std::to_string(own), context(kLayers));
    }
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      windowed.push_back((layer + 1) % own != 0);
    }
  }
  if (std::ssize(windowed) < layers_) {
    return bad_input("expected " + std::to_string(layers_) + " layers, found " + std::to_string(windowed.size()),
                     context(kLayers));
  }
  windowed.resize(static_cast<std::size_t>(layers_));
  return kinds_of(windowed, "sliding_attention", "full_attention");
}

// ---- all of them

Status add_hybrid_fields(const GgufHybrid& hybrid, const GgufReading& reading, GgufFields& fields) {
  fields["model_type"] = hybrid.shared.model_type;
  fields["num_hidden_layers"] = reading.layers();
  LOCUS_TRY(const std::int64_t width, reading.integer("embedding_length"));
  LOCUS_TRY(const std::int64_t heads, reading.integer("attention.head_count"));
  fields["hidden_size"] = width;
  fields["num_attention_heads"] = heads;
  if (!hybrid.own_shapes) {
    LOCUS_TRY(const std::int64_t key_heads, reading.integer("attention.head_count_kv", heads));
    fields["num_key_value_heads"] = key_heads == 0 ? heads : key_heads;
  }
  LOCUS_TRY(const double old_eps, reading.number("attention.layer_norm_epsilon", 1e-5));
  LOCUS_TRY(const double eps, reading.number("attention.layer_norm_rms_epsilon", old_eps));
  fields["rms_norm_eps"] = eps;
  if (width < 1 || heads < 1 || (width % heads != 0 && !reading.has("attention.key_length"))) {
    return bad_input(
        "expected heads that divide the width " + std::to_string(width) + ", found " + std::to_string(heads),
        reading.context("attention.head_count"));
  }
  LOCUS_TRY(const std::int64_t head_width, reading.integer("attention.key_length", width / heads));
  if (head_width < 2 || head_width % 2 != 0) {
    return bad_input("expected an even width of heads, found " + std::to_string(head_width),
                     reading.context("attention.key_length"));
  }
  fields["head_dim"] = head_width;
  LOCUS_TRY(const std::int64_t rotated, reading.integer("rope.dimension_count", head_width));
  if (rotated != head_width) {
    fields["partial_rotary_factor"] = static_cast<double>(rotated) / static_cast<double>(head_width);
  }
  if (reading.has("rope.freq_base")) {
    LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base"));
  }
  if (reading.has("context_length")) {
    LOCUS_TRY(fields["max_position_embeddings"], reading.integer("context_length"));
  }
  if (!hybrid.own_shapes) {
    LOCUS_TRY(const std::int64_t inner, reading.integer("feed_forward_length", 0));
    if (inner > 0) {
      fields["intermediate_size"] = inner;
    }
  }
  return hybrid.add_fields(reading, fields);
}

Result<std::vector<GgufTensor>> hybrid_tensors(const GgufHybrid& hybrid, const GgufReading& reading,
                                               std::int64_t head_width, const TensorInfo& tensor) {
  const auto [layer, own] = place_of_block(tensor.name);
  if (layer >= reading.layers() || (hybrid.unused != nullptr && hybrid.unused(reading, layer, own))) {
    return std::vector<GgufTensor>();
  }
  GgufTensor whole{tensor, {}};
  TensorInfo& info = whole.info;
  if (layer < 0) {
    static const Stems kOutside{
        {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
    whole.name = other_name(joined_stems({hybrid.outside, kOutside}), own);
  } else if (const std::string name = other_name(gguf_stems(hybrid.shared), own); !name.empty()) {
    whole.name = std::string(hybrid.layers) + std::to_string(layer) + "." + name;
  }
  info.one_added = hybrid.shared.one_added && own.ends_with("norm.weight") && own != "ssm_norm.weight";
  info.interleaved = hybrid.shared.interleaved && (own == "attn_q.weight" || own == "attn_k.weight" ||
                                                   own == "attn_q.bias" || own == "attn_k.bias")
                         ? head_width
                         : 0;
  info.negated_exponential = own == "ssm_a";
  if (whole.name.find(".J.") != std::string::npos) {
    if (info.shape.size() == 2 && !own.ends_with(".bias")) {  // writers leave out a dimension of 1
      set_shape(info, {1, info.shape[0], info.shape[1]});
    }
    return split_experts(info, whole.name);
  }
  const bool vector = own == "ssm_norm.weight" ||
                      ((own == "ssm_a" || own == "ssm_d") &&
                       std::count_if(info.shape.begin(), info.shape.end(), [](std::int64_t n) { return n != 1; }) < 2);
  if (info.blocks == nullptr && vector) {
    set_shape(info, {info.elements()});
  } else if (info.blocks == nullptr && own.starts_with("ssm_conv1d") && own.ends_with(".weight") &&
             info.shape.size() > 2 && info.shape.back() > 0) {
    set_shape(info, {info.elements() / info.shape.back(), info.shape.back()});
  } else if (own == "ffn_gate_inp_shexp.weight" && info.shape.size() == 1) {
    set_shape(info, {1, info.shape.front()});
  }
  std::vector<GgufTensor> all;
  all.push_back(std::move(whole));
  return all;
}

}  // namespace locus::families
