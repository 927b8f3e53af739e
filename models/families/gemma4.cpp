// Gemma 4's text: Gemma 3 with norms that are not 1 + weight, scores that are not scaled, values that are normed, wider
// heads in the layers without a window, whose slow pairs do not turn, and, where the config asks for it, keys that are
// also the values, late layers that attend to the keys of earlier ones, and per-layer embeddings. Its pictures: a tower
// with the same norms, positions from two tables and from axial RoPE, of which cells of patches become one token each.
#include <algorithm>
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/computed.h"
#include "models/families/engine/rope.h"
#include "models/families/engine/slots.h"
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kNear = "sliding_attention";

void fix_gemma4(Draft& draft) {
  LayerSpec& layer = draft.layer;
  layer.attention_norm = layer.feed_forward_norm = transformer::NormPlace::kBoth;
  layer.attention.norm.form = transformer::QueryNormForm::kHead;
  layer.attention.value_norm = true;
  layer.attention.scale = 1;
  layer.output_scale = true;
}

// The type of each layer; the last is never windowed, whatever the config says.
Result<std::vector<std::string>> types_of(const Config& config, std::int64_t depth) {
  LOCUS_TRY(std::vector<std::string> types, layer_types(config, depth));
  if (types.empty()) {
    constexpr std::int64_t kPattern = 6;
    for (std::int64_t n = 1; n <= depth; ++n) {
      types.emplace_back(n % kPattern == 0 ? kFull : kNear);
    }
  }
  for (const std::string& type : types) {
    if (type != kFull && type != kNear) {
      return unsupported("expected full_attention or sliding_attention, found " + shown(type),
                         config.context("layer_types"));
    }
  }
  types.back() = kFull;
  return types;
}

// Widths and key heads of single layers: per_layer_config as transformers writes it, else the fields of the published
// files, which are for the layers without a window.
// `key_heads`: those of these layers; 0: as in all others.
Status set_shapes(const Config& config, const std::vector<std::string>& types, std::int64_t key_heads,
                  transformer::Spec& spec) {
  if (config.has("per_layer_config")) {
    LOCUS_TRY(const Config layers, config.object("per_layer_config"));
    for (const std::string& name : layers.names()) {
      LOCUS_TRY(const Config own, layers.object(name));
      std::int64_t n = -1;
      for (std::int64_t k = 0; k < spec.depth(); ++k) {
        n = std::to_string(k) == name ? k : n;
      }
      if (n < 0) {
        return bad_input("expected a layer from 0 to " + std::to_string(spec.depth() - 1) + ", found " + shown(name),
                         config.context("per_layer_config"));
      }
      transformer::AttentionSpec& attention = spec.layers[static_cast<std::size_t>(n)].attention;
      for (const std::string& field : own.names()) {
        if (field != "head_dim" && field != "num_key_value_heads") {
          return unsupported("expected head_dim or num_key_value_heads, found " + shown(field), layers.context(name));
        }
      }
      LOCUS_TRY(attention.head_width, integer_or(own, "head_dim", attention.head_width));
      LOCUS_TRY(attention.kv_heads, integer_or(own, "num_key_value_heads", attention.kv_heads));
    }
    return {};
  }
  constexpr std::int64_t kUsualWidth = 512;
  LOCUS_TRY(const std::int64_t width, integer_or(config, "global_head_dim", kUsualWidth));
  spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (types[static_cast<std::size_t>(n)] == kFull) {
      layer.attention.head_width = width;
      layer.attention.kv_heads = key_heads > 0 ? key_heads : layer.attention.kv_heads;
    }
  });
  return {};
}

// The last layers attend to the keys of the last layer of their type that has own ones.
Status share_keys(const Config& config, const std::vector<std::string>& types, Plan& plan) {
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::int64_t shared, integer_or(config, "num_kv_shared_layers", 0, 0));
  LOCUS_TRY(const bool wide, config.boolean("use_double_wide_mlp", false));
  const std::int64_t first = spec.depth() - shared;
  for (std::int64_t n = std::max<std::int64_t>(first, 0); n < spec.depth(); ++n) {
    LayerSpec& layer = spec.layers[static_cast<std::size_t>(n)];
    std::int64_t source = first - 1;
    while (source >= 0 && types[static_cast<std::size_t>(source)] != types[static_cast<std::size_t>(n)]) {
      --source;
    }
    if (source < 0) {
      return bad_input("expected fewer than " + std::to_string(spec.depth()) +
                           " layers, with one of each type before them, found " + std::to_string(shared),
                       config.context("num_kv_shared_layers"));
    }
    layer.attention.source = source;
    layer.attention.key_as_value = false;
    layer.feed_forward.inner *= wide ? 2 : 1;
    for (const char* const unused : {"k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias", "k_norm.weight"}) {
      plan.skipped.push_back("layers." + std::to_string(n) + ".self_attn." + unused);
    }
  }
  return {};
}

// RoPE of the windowed layers, then of the others, where `proportion` of the pairs turn unless the config says it.
Result<std::vector<transformer::EncodingSpec>> encodings_of(const Config& config, double proportion) {
  std::vector<transformer::EncodingSpec> encodings;
  for (const std::string_view type : {kNear, kFull}) {
    const std::string path = "rope_parameters." + std::string(type);
    const bool near = type == kNear;
    LOCUS_TRY(const Config block, group(config, path));
    if (config.has("rope_parameters") && block.names().empty()) {
      return bad_input("expected an object with rope_theta, found none", config.context(path));
    }
    LOCUS_TRY(Settings options, rope_options(config, block, near ? 1e4 : 1e6, {.whole = true}));
    if (!near && proportion < 1 && !config.has("rope_parameters")) {
      options.set("scaling", std::string("proportional"));
      options.set("proportion", proportion);
    }
    encodings.push_back({"rope", std::move(options)});
  }
  return encodings;
}

Status finish_gemma4(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  const bool unified = model_type(checkpoint) == "gemma4_unified_text";
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.width));
  LOCUS_TRY(const std::vector<std::string> types, types_of(config, spec.depth()));
  LOCUS_TRY(const bool same, config.boolean("attention_k_eq_v", false));
  LOCUS_TRY(const std::int64_t window, integer_or(config, "sliding_window", unified ? 1024 : 512));
  // "vision": the tokens of a picture see each other; without pictures as null.
  const std::string both_ways = text_or_nothing(config, "use_bidirectional_attention");
  if (config.has("use_bidirectional_attention") && both_ways != "all" && both_ways != "vision") {
    return unsupported("expected null, vision or all, found another value",
                       config.context("use_bidirectional_attention"));
  }
  // Both ways, half of the window and one more token are seen to each side.
  spec.causal = both_ways != "all";
  LOCUS_TRY(spec.encodings, encodings_of(config, 0.25));
  spec.each([&](std::int64_t n, LayerSpec& layer) {
    const bool near = types[static_cast<std::size_t>(n)] == kNear;
    layer.encoding = near ? 0 : 1;
    layer.attention.window = !near ? 0 : spec.causal ? window : window / 2 + 2;
    layer.attention.key_as_value = same && !near;
  });
  LOCUS_TRY(const std::int64_t key_heads, integer_or(config, "num_global_key_value_heads", 0));
  LOCUS_CHECK(set_shapes(config, types, same ? key_heads : 0, spec));
  LOCUS_CHECK(share_keys(config, types, plan));
  if (!unified) {
    LOCUS_TRY(spec.layer_inputs.width, integer_or(config, "hidden_size_per_layer_input", 256, 0));
    LOCUS_TRY(const std::int64_t rows, integer_or(config, "vocab_size_per_layer_input", 262144));
    spec.layer_inputs.vocabulary = spec.layer_inputs.width > 0 ? rows : 0;
  }
  return {};
}

// EmbeddingGemma 2: both ways, keys and values of its own in every layer, per-layer embeddings without a table, and
// states that are projected.
Status finish_embedding(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.width));
  spec.causal = spec.head = false;
  LOCUS_TRY(const std::vector<std::string> types, types_of(config, spec.depth()));
  LOCUS_TRY(const std::int64_t reach, integer_or(config, "sliding_window", 512));  // tokens to each side
  LOCUS_TRY(spec.encodings, encodings_of(config, 1));
  spec.each([&](std::int64_t n, LayerSpec& layer) {
    const bool near = types[static_cast<std::size_t>(n)] == kNear;
    layer.encoding = near ? 0 : 1;
    layer.attention.window = near ? reach + 1 : 0;
  });
  LOCUS_TRY(const std::int64_t key_heads, integer_or(config, "num_global_key_value_heads", 1));
  LOCUS_CHECK(set_shapes(config, types, key_heads, spec));
  LOCUS_TRY(spec.layer_inputs.width, integer_or(config, "hidden_size_per_layer_input", 512));
  LOCUS_TRY(spec.state_width, integer_or(config, "embedding_dim", 768));
  return {};
}

Family gemma4(std::string_view name) {
  Family family = llama(name);
  family.fixed = fix_gemma4;
  family.set({{"hidden_activation"}, slot::activation, "gelu_pytorch_tanh"});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{256}});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.set({{"final_logit_softcapping"}, slot::logit_cap, 0.0});
  family.fixed_fields = {{"enable_moe_block", {false}}};
  family.rename({"layers.N.{attention,feed_forward}_norm", "layers.N.{input,pre_feedforward}_layernorm"});
  for (const auto& [parameter, tensor] :
       {std::pair{"layers.N.{attention,feed_forward}_after_norm",
                  "layers.N.{post_attention,post_feedforward}_layernorm"},
        std::pair{"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"},
        std::pair{"layers.N.output_scale", "layers.N.layer_scalar"},
        std::pair{"layers.N.input.{gate,down}", "layers.N.{per_layer_input_gate,per_layer_projection}"},
        std::pair{"layers.N.input.after_norm", "layers.N.post_per_layer_input_norm"},
        std::pair{"layer_inputs.embedding.weight", "embed_tokens_per_layer.weight"},
        std::pair{"layer_inputs.{projection,norm}", "{per_layer_model_projection,per_layer_projection_norm}"}}) {
    family.names.push_back({parameter, tensor});
  }
  family.harmless = {"num_experts", "top_k_experts", "moe_intermediate_size"};  // of the block that is refused
  family.finish = finish_gemma4;
  return family;
}

constexpr std::string_view kGemma4Tower = "model.vision_tower.";
constexpr std::string_view kGemma4OlderTower = "vision_tower.";

Status finish_gemma4_tower(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::int64_t places, integer_or(config, "position_embedding_size", 10240));
  LOCUS_TRY(const double base, axial_base(config, 100.0, spec.first().attention.head_width));
  spec.encodings = {
      {"learned", {{"grid_rows", places}, {"grid_columns", places}, {"table", std::string("axes")}}},
      {"rope-axial", {{"base", base}, {"first", std::string("columns")}, {"layout", std::string("axes")}}}};
  spec.each([](std::int64_t, LayerSpec& layer) { layer.encoding = 1; });
  LOCUS_TRY(const bool bounded, config.boolean("use_clipped_linears", false));
  spec.each([bounded](std::int64_t, LayerSpec& layer) { layer.bounded = bounded; });
  if (checkpoint.tensors == nullptr) {
    return {};
  }
  const std::string prefix =
      checkpoint.prefix_of({kGemma4Tower, kGemma4OlderTower}, "patch_embedder.input_proj.weight");
  const std::string own = prefix + "patch_embedder.";
  LOCUS_CHECK(compute_centred_kernel(
      checkpoint, {own + "kernel", own + "input_proj.weight", spec.image.patch, spec.image.channels}, plan));
  std::vector<OfBounds> bounds;
  for (std::int64_t n = 0; bounded && n < spec.depth(); ++n) {
    for (const char* const each :
         {"self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o", "mlp.gate", "mlp.up", "mlp.down"}) {
      const std::string from = layer_prefix(prefix + "encoder.layers.", n) + each + "_proj";
      bounds.push_back({from + ".bounds", from});
    }
  }
  return compute_bounds(checkpoint, bounds, plan);
}

Family gemma4_tower() {
  using namespace slot;
  return {
      .name = "gemma4_vision",
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            fix_gemma4(draft);
            draft.layer.output_scale = false;
            draft.spec.norm = transformer::Norm::kRms;
            draft.spec.image.class_tokens = 0;
            draft.spec.pool = transformer::Pool::kAll;
            draft.spec.final_norm = draft.spec.head = false;
            draft.layer.feed_forward.gated = true;
            draft.layer.feed_forward.bias = draft.layer.attention.output_bias = false;
          },
      .fields = {{{"hidden_size"}, width, std::int64_t{768}},
                 {{"num_hidden_layers"}, layers, std::int64_t{16}},
                 {{"num_attention_heads"}, heads, std::int64_t{12}},
                 {{"num_key_value_heads"}, kv_heads, std::int64_t{12}},
                 {{"head_dim"}, head_width, std::int64_t{64}},
                 {{"intermediate_size"}, inner, std::int64_t{3072}},
                 {{"rms_norm_eps"}, norm_eps, 1e-6},
                 {{"hidden_activation"}, activation, "gelu_pytorch_tanh"},
                 {{"patch_size"}, patch, std::int64_t{16}}},
      .finish = finish_gemma4_tower,
      .prefixes = {""},
      .anchor = "patch_embedder.input_proj.weight",
      .names = {{"patch", "patch_embedder.kernel"},
                {"position.position_embedding", "patch_embedder.position_embedding_table", Layout::kReshaped},
                {"layers.N.{attention,feed_forward}_norm", "encoder.layers.N.{input,pre_feedforward}_layernorm"},
                {"layers.N.{attention,feed_forward}_after_norm",
                 "encoder.layers.N.{post_attention,post_feedforward}_layernorm"},
                {"layers.N.attention.{query,key,value,output}", "encoder.layers.N.self_attn.{q,k,v,o}_proj.linear"},
                {"layers.N.attention.{query,key}_norm", "encoder.layers.N.self_attn.{q,k}_norm"},
                {"layers.N.feed_forward.{gate,up,down}", "encoder.layers.N.mlp.{gate,up,down}_proj.linear"},
                {"layers.N.attention.{query,key,value,output}.bounds",
                 "encoder.layers.N.self_attn.{q,k,v,o}_proj.bounds"},
                {"layers.N.feed_forward.{gate,up,down}.bounds", "encoder.layers.N.mlp.{gate,up,down}_proj.bounds"}},
      .skipped = {"patch_embedder.input_proj.weight", "vision_tower.std_bias", "vision_tower.std_scale",
                  "_proj.input_min", "_proj.input_max", "_proj.output_min", "_proj.output_max"},
  };
}

Result<Family> gemma4_tower_of(const Config& vision) {
  const std::string type = text_or_nothing(vision, "model_type");
  if (!type.empty() && type != "gemma4_vision") {
    return unsupported("expected gemma4_vision, found " + shown(type), vision.context("model_type"));
  }
  return gemma4_tower();
}

// A picture's vectors: the mean of each cell, times √C, standardised where the config says so, and normed.
Status finish_gemma4_pictures(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.tower.spec;
  LOCUS_TRY(const std::int64_t cell, integer_or(vision, "pooling_kernel_size", 3));
  LOCUS_TRY(const bool standard, vision.boolean("standardize", false));
  const auto width = static_cast<double>(spec.width);
  plan.connector.states = {spec.depth()};
  plan.connector.steps = {pool_step(cell)};
  plan.names = {{"connector.project", "embedding_projection"}};
  if (standard) {
    plan.connector.steps.push_back(scale_step("standard"));
    plan.names.push_back({"connector.standard", "standard"});
  }
  // Without a shift in between, the norm takes √C away again, but for its epsilon.
  const double eps = standard ? spec.norm_eps : spec.norm_eps / width;
  plan.connector.steps.push_back(norm_step("norm", transformer::Norm::kRms, eps, false));
  plan.connector.steps.push_back(linear_step("project", text.spec.width, false));
  if (standard && checkpoint.tensors != nullptr) {
    const std::string from = checkpoint.prefix_of({kGemma4Tower, kGemma4OlderTower}, "std_bias");
    const std::string to =
        checkpoint.prefix_of({"model.embed_vision.", "embed_vision."}, "embedding_projection.weight");
    LOCUS_CHECK(compute_standard(checkpoint,
                                 {to + "standard", from + "std_bias", from + "std_scale", spec.width, std::sqrt(width)},
                                 plan.tower));
  }
  LOCUS_TRY(const Config own, group(config, "text_config"));
  plan.placeholders.blocks =
      text_or_nothing(own, "use_bidirectional_attention") == "vision" ? ImageBlocks::kWithin : ImageBlocks::kNone;
  LOCUS_TRY(plan.placeholders.unread_sound_id, token_id_or_none(config, {"audio_token_id"}));
  transformer::LayerInputs& inputs = text.spec.layer_inputs;
  if (inputs.vocabulary > 0) {
    LOCUS_TRY(inputs.filler, integer_or(own, "pad_token_id", 0, 0));
    inputs.placeholder = plan.placeholders.id;
    if (inputs.filler >= inputs.vocabulary) {
      return bad_input("expected an id below vocab_size_per_layer_input, " + std::to_string(inputs.vocabulary) +
                           ", found " + std::to_string(inputs.filler),
                       own.context("pad_token_id"));
    }
  }
  for (const char* const part : {"model.audio_tower.*", "model.embed_audio.*", "audio_tower.*", "embed_audio.*"}) {
    text.skipped.emplace_back(part);
  }
  return {};
}

const VisionTable kGemma4Pictures{
    .tower = gemma4_tower_of,
    .tower_tensors = {{kGemma4Tower, kGemma4OlderTower}, {}},
    .text_tensors = {{"model.language_model.", "language_model.model."}, "embed_tokens.weight"},
    .head_prefixes = {"", "language_model."},
    .connector_tensors = {{"model.embed_vision.", "embed_vision."}, "embedding_projection.weight"},
    .finish = finish_gemma4_pictures,
};

Result<Plan> read_gemma4_pictures(const CheckpointFiles& checkpoint) {
  return checkpoint.config.has("vision_config")
             ? read_vision(checkpoint, kGemma4Pictures)
             : read_text_half(checkpoint, "model_type gemma4 is without vision_config here");
}

}  // namespace

const Family kGemma4Vision{
    .name = "gemma4",
    .read = read_gemma4_pictures,
    // Sound, which is not read; ids that the processor writes; fields of the tower that no class reads.
    .harmless = {"audio_config", "audio_token_id", "boi_token_id", "eoi_token_id", "boa_token_id", "eoa_token_id",
                 "eoa_token_index", "image_token_id", "vision_soft_tokens_per_image", "vision_config.attention_bias",
                 "vision_config.max_position_embeddings", "vision_config.default_output_length",
                 "vision_config.global_head_dim"}};

const Family kGemma4 = gemma4("gemma4_text");
const Family kGemma4Unified = gemma4("gemma4_unified_text");

const Family kEmbeddingGemma2 = [] {
  Family family = gemma4("embedding_gemma2_text");
  family.fixed_fields = {};
  family.rename({"layers.N.input.{gate,down}", "layers.N.ple_block.{per_layer_input_gate,per_layer_projection}"});
  family.rename({"layers.N.input.after_norm", "layers.N.ple_block.post_per_layer_input_norm"});
  family.rename({"layer_inputs.{projection,norm}", "ple.{per_layer_model_projection,per_layer_projection_norm}"});
  family.names.push_back({"state_projection.weight", "embedding_projection.weight"});
  family.finish = finish_embedding;
  return family;
}();

}  // namespace locus::families
