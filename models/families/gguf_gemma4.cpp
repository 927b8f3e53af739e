// Gemma 4's GGUF files: widths and key heads that differ between layers are lists, and the share of the pairs that turn
// in layers without a window is a table of divisors, 1 or 10^30.
#include <algorithm>

#include "models/families/gguf_hybrids.h"

namespace locus::families {

namespace {

constexpr std::string_view kWindowed = "sliding_attention";

Status expect_value(const GgufReading& reading, std::string_view value, std::int64_t expected) {
  LOCUS_TRY(const std::int64_t found, reading.integer(value, expected));
  return found == expected
             ? Status()
             : Status(unsupported("expected " + std::to_string(expected) + ", found " + std::to_string(found),
                                  reading.context(value)));
}

// Heads of the layers without a window, one by one.
Status add_layer_shapes(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(const std::int64_t near_width, reading.integer("attention.key_length_swa"));
  LOCUS_TRY(const std::int64_t full_width, reading.integer("attention.key_length"));
  LOCUS_CHECK(expect_value(reading, "attention.value_length_swa", near_width));
  LOCUS_CHECK(expect_value(reading, "attention.value_length", full_width));
  LOCUS_CHECK(expect_value(reading, "rope.dimension_count_swa", near_width));
  LOCUS_CHECK(expect_value(reading, "rope.dimension_count", full_width));
  LOCUS_TRY(const std::vector<std::int64_t> key_heads, reading.integers("attention.head_count_kv"));
  fields["head_dim"] = near_width;
  fields.erase("partial_rotary_factor");
  fields["per_layer_config"] = GgufFields::object();
  for (std::size_t n = 0; n < key_heads.size(); ++n) {
    if (fields["layer_types"][n] == kWindowed) {
      fields["num_key_value_heads"] = key_heads[n];
    }
  }
  for (std::size_t n = 0; n < key_heads.size(); ++n) {
    if (fields["layer_types"][n] == kWindowed) {
      if (fields["num_key_value_heads"] != key_heads[n]) {
        return unsupported("expected the same in all layers with a window, found " + std::to_string(key_heads[n]) +
                               " in layer " + std::to_string(n),
                           reading.context("attention.head_count_kv"));
      }
    } else {
      fields["per_layer_config"][std::to_string(n)] = {{"head_dim", full_width}, {"num_key_value_heads", key_heads[n]}};
    }
  }
  return {};
}

// The last layers attend to the keys of earlier ones; their feed-forward may be twice as wide.
Status add_shared_layers(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(const std::int64_t shared, reading.integer("attention.shared_kv_layers", 0));
  LOCUS_TRY(const std::vector<std::int64_t> inner, reading.integers("feed_forward_length"));
  if (shared < 0 || shared >= reading.layers()) {
    return bad_input(
        "expected fewer than " + std::to_string(reading.layers()) + " layers, found " + std::to_string(shared),
        reading.context("attention.shared_kv_layers"));
  }
  constexpr std::int64_t kWidest = std::int64_t{1} << 24;
  if (inner.front() > kWidest) {
    return too_large("expected at most " + std::to_string(kWidest) + ", found " + std::to_string(inner.front()),
                     reading.context("feed_forward_length"));
  }
  const std::int64_t wide = inner.back() == inner.front() ? 1 : 2;
  for (std::int64_t n = 0; n < reading.layers(); ++n) {
    const std::int64_t expected = inner.front() * (n < reading.layers() - shared ? 1 : wide);
    if (inner[static_cast<std::size_t>(n)] != expected) {
      return unsupported("expected " + std::to_string(expected) + " in layer " + std::to_string(n) + ", found " +
                             std::to_string(inner[static_cast<std::size_t>(n)]),
                         reading.context("feed_forward_length"));
    }
  }
  fields["intermediate_size"] = inner.front();
  fields["num_kv_shared_layers"] = shared;
  fields["use_double_wide_mlp"] = wide == 2;
  // Where a layer without a window has no values, its keys are the values.
  fields["attention_k_eq_v"] = false;
  for (std::int64_t n = 0; n < reading.layers() - shared; ++n) {
    if (fields["layer_types"][static_cast<std::size_t>(n)] != kWindowed &&
        reading.find(n, "attn_v.weight") == nullptr) {
      fields["attention_k_eq_v"] = true;
    }
  }
  return {};
}

Status add_gemma4_rope(const GgufReading& reading, GgufFields& fields) {
  if (reading.has("rope.scaling.type")) {
    return unsupported("expected RoPE without a scaling, found one", reading.context("rope.scaling.type"));
  }
  LOCUS_TRY(const double base, reading.number("rope.freq_base"));
  LOCUS_TRY(const double near_base, reading.number("rope.freq_base_swa"));
  LOCUS_TRY(const std::vector<double> divisors, reading.vector_outside("rope_freqs.weight"));
  constexpr double kAtRest = 1e29;
  const auto turning = std::count(divisors.begin(), divisors.end(), 1.0);
  const bool in_order = std::all_of(divisors.begin() + turning, divisors.end(), [](double d) { return d > kAtRest; });
  LOCUS_TRY(const std::int64_t width, reading.integer("attention.key_length"));
  if (2 * std::ssize(divisors) != width || !in_order) {
    return unsupported("expected " + std::to_string(width / 2) + " divisors, first 1, then 10^30, found " +
                           (divisors.empty() ? "none" : "others"),
                       reading.context("rope.freq_base") + ", tensor rope_freqs.weight");
  }
  fields["rope_parameters"] = {
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", near_base}}},
      {"full_attention",
       {{"rope_type", "proportional"},
        {"partial_rotary_factor", static_cast<double>(turning) / static_cast<double>(divisors.size())},
        {"rope_theta", base}}}};
  fields.erase("rope_theta");
  return {};
}

Status add_gemma4(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(expect_value(reading, "expert_count", 0));
  LOCUS_TRY(const bool causal, reading.boolean("attention.causal", true));
  if (!causal) {
    return unsupported("expected true, found false", reading.context("attention.causal"));
  }
  LOCUS_TRY(fields["sliding_window"], reading.integer("attention.sliding_window"));
  LOCUS_TRY(fields["layer_types"], reading.window_types(6));
  if (fields["layer_types"].back() == kWindowed) {
    return unsupported("expected a last layer without a window, found one with a window",
                       reading.context("attention.sliding_window_pattern"));
  }
  LOCUS_CHECK(add_layer_shapes(reading, fields));
  LOCUS_CHECK(add_shared_layers(reading, fields));
  LOCUS_CHECK(add_gemma4_rope(reading, fields));
  if (reading.has("final_logit_softcapping")) {
    LOCUS_TRY(fields["final_logit_softcapping"], reading.number("final_logit_softcapping"));
  }
  LOCUS_TRY(const std::int64_t width, reading.integer("embedding_length_per_layer_input", 0));
  fields["hidden_size_per_layer_input"] = width;
  const formats::TensorInfo* const table = reading.outside("per_layer_token_embd.weight");
  if (width > 0 && table != nullptr && table->shape.size() == 2) {
    fields["vocab_size_per_layer_input"] = table->shape.front();
  }
  return {};
}

// Keys and values of layers that attend to those of earlier ones.
bool is_unused(const GgufReading& reading, std::int64_t layer, std::string_view tensor) {
  const Result<std::int64_t> shared = reading.integer("attention.shared_kv_layers", 0);
  return shared.ok() && layer >= reading.layers() - *shared &&
         (tensor == "attn_k.weight" || tensor == "attn_v.weight" || tensor == "attn_k_norm.weight");
}

}  // namespace

GgufHybrid gguf_gemma4() {
  return {{"gemma4",
           "gemma4_text",
           false,
           false,
           {{"ffn_norm", "pre_feedforward_layernorm"},
            {"post_attention_norm", "post_attention_layernorm"},
            {"post_ffw_norm", "post_feedforward_layernorm"},
            {"layer_output_scale.weight", "layer_scalar"},
            {"inp_gate", "per_layer_input_gate"},
            {"proj", "per_layer_projection"},
            {"post_norm", "post_per_layer_input_norm"}}},
          add_gemma4,
          {{"per_layer_token_embd", "model.embed_tokens_per_layer"},
           {"per_layer_model_proj", "model.per_layer_model_projection"},
           {"per_layer_proj_norm", "model.per_layer_projection_norm"}},
          nullptr,
          "model.layers.",
          true,
          is_unused};
}

}  // namespace locus::families
