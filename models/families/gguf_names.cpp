// The tables of gguf.h: architectures, tensors, values.
#include <array>

#include "models/families/gguf.h"

namespace locus::families {

namespace {

using Stem = std::pair<std::string_view, std::string_view>;
using Kind = GgufField::Kind;

constexpr std::string_view kBlocks = "blk.";
constexpr std::string_view kLayers = "model.layers.";

constexpr std::array<Stem, 3> kOutside{
    {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}}};

constexpr std::array<Stem, 11> kInside{{{"attn_norm", "input_layernorm"},
                                        {"attn_q", "self_attn.q_proj"},
                                        {"attn_k", "self_attn.k_proj"},
                                        {"attn_v", "self_attn.v_proj"},
                                        {"attn_output", "self_attn.o_proj"},
                                        {"attn_q_norm", "self_attn.q_norm"},
                                        {"attn_k_norm", "self_attn.k_norm"},
                                        {"ffn_norm", "post_attention_layernorm"},
                                        {"ffn_gate", "mlp.gate_proj"},
                                        {"ffn_up", "mlp.up_proj"},
                                        {"ffn_down", "mlp.down_proj"}}};

const std::vector<Stem> kGemmaStems{{"ffn_norm", "pre_feedforward_layernorm"},
                                    {"post_attention_norm", "post_attention_layernorm"},
                                    {"post_ffw_norm", "post_feedforward_layernorm"}};

const std::array<GgufArchitecture, 6> kArchitectures{
    {{"llama", "llama", true, false},
     {"qwen2", "qwen2", false, false},
     {"qwen3", "qwen3", false, false},
     {"gemma2", "gemma2", false, true, kGemmaStems},
     {"gemma3", "gemma3_text", false, true, kGemmaStems},
     {"phi3", "phi3", false, false, {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}}}}};

constexpr std::array<GgufField, 12> kFields{{{"embedding_length", "hidden_size", Kind::kInteger, true},
                                             {"block_count", "num_hidden_layers", Kind::kInteger, true},
                                             {"attention.head_count", "num_attention_heads", Kind::kInteger, true},
                                             {"feed_forward_length", "intermediate_size", Kind::kInteger, true},
                                             {"attention.layer_norm_rms_epsilon", "rms_norm_eps", Kind::kNumber, true},
                                             {"attention.head_count_kv", "num_key_value_heads"},
                                             {"attention.key_length", "head_dim"},
                                             {"context_length", "max_position_embeddings"},
                                             {"attention.sliding_window", "sliding_window"},
                                             {"rope.freq_base", "rope_theta", Kind::kNumber},
                                             {"attn_logit_softcapping", "attn_logit_softcapping", Kind::kNumber},
                                             {"final_logit_softcapping", "final_logit_softcapping", Kind::kNumber}}};

// Converts `name` from one side of the tables to the other: the part before the layer's number, and the stem.
std::string renamed(const std::vector<Stem>& stems, std::string_view name, bool to_family) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) {
    return {};
  }
  const std::string_view ending = name.substr(dot);
  const auto matches = [&](const Stem& stem, std::string_view part) {
    return (to_family ? stem.first : stem.second) == part;
  };
  const auto other = [&](const Stem& stem) { return std::string(to_family ? stem.second : stem.first); };
  const std::string_view before = to_family ? kBlocks : kLayers;
  if (!name.starts_with(before)) {
    for (const Stem& stem : kOutside) {
      if (matches(stem, name.substr(0, dot))) {
        return other(stem) + std::string(ending);
      }
    }
    return {};
  }
  const std::size_t end = name.find('.', before.size());
  if (end >= dot) {
    return {};
  }
  for (const Stem& stem : stems) {
    if (matches(stem, name.substr(end + 1, dot - end - 1))) {
      return std::string(to_family ? kLayers : kBlocks) + std::string(name.substr(before.size(), end - before.size())) +
             "." + other(stem) + std::string(ending);
    }
  }
  return {};
}

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() {
  return kArchitectures;
}

std::span<const GgufField> gguf_fields() {
  return kFields;
}

std::vector<Stem> gguf_stems(const GgufArchitecture& architecture) {
  std::vector<Stem> stems = architecture.stems;
  stems.insert(stems.end(), kInside.begin(), kInside.end());
  return stems;
}

std::string family_name(const GgufArchitecture& architecture, std::string_view tensor) {
  return renamed(gguf_stems(architecture), tensor, true);
}

std::string gguf_name(const GgufArchitecture& architecture, std::string_view tensor) {
  return renamed(gguf_stems(architecture), tensor, false);
}

}  // namespace locus::families
