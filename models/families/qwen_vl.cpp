// Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5: patches two by two become one vector, and a token's position is time, row,
// column.
#include "models/families/list.h"

#include <algorithm>
#include <cmath>

#include "models/families/engine/rope.h"
#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

constexpr double kEps = 1e-6;

Status finish_tower2(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_TRY(const double ratio, checkpoint.config.number("mlp_ratio", 4.0));
  const double inner = static_cast<double>(plan.spec.width) * ratio;
  if (!(inner >= 1 && inner < 1 << 24)) {
    return bad_input("expected a ratio that gives an inner width, found another",
                     checkpoint.config.context("mlp_ratio"));
  }
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.feed_forward.inner = static_cast<std::int64_t>(inner);
  });
  LOCUS_TRY(transformer::EncodingSpec rotation, qwen_rotation(checkpoint.config));
  plan.spec.encodings = {std::move(rotation)};
  return {};
}

// Layers that fullatt_block_indexes does not list attend within tiles of patches.
Status finish_tower25(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t window, integer_or(config, "window_size", 112));
  std::vector<std::int64_t> whole{7, 15, 23, 31};
  if (config.has("fullatt_block_indexes")) {
    LOCUS_TRY(whole, config.integers("fullatt_block_indexes"));
  }
  const std::int64_t cells = window / plan.spec.image.cell / plan.spec.image.patch;
  if (cells < 1) {
    return bad_input("expected a window of at least one cell, found " + std::to_string(window),
                     config.context("window_size"));
  }
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    const bool tiled = std::find(whole.begin(), whole.end(), n) == whole.end();
    layer.attention.tile = tiled ? cells * plan.spec.image.cell : 0;
  });
  LOCUS_TRY(transformer::EncodingSpec rotation, qwen_rotation(config));
  plan.spec.encodings = {std::move(rotation)};
  return {};
}

Status finish_tower3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t count, integer_or(config, "num_position_embeddings", 2304));
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(count))));
  if (side * side != count) {
    return bad_input("expected a square number, found " + std::to_string(count),
                     config.context("num_position_embeddings"));
  }
  plan.spec.image.rows = plan.spec.image.columns = side;
  learned_grid(plan.spec);
  plan.spec.encodings.front().options.set("resample", std::string("bilinear-corners"));
  LOCUS_TRY(transformer::EncodingSpec rotation, qwen_rotation(config));
  plan.spec.encodings.push_back(std::move(rotation));
  plan.spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = 1; });
  return {};
}

Family tower2(std::string_view name) {
  using namespace slot;
  Family family = qwen_tower(name);
  family.set({{"embed_dim"}, width, std::int64_t{1280}});
  family.set({{"depth"}, layers, std::int64_t{32}});
  family.set({{"hidden_act"}, activation, "quick_gelu"});
  family.finish = finish_tower2;
  return family;
}

Family tower25() {
  using namespace slot;
  Family family = qwen_tower("qwen2_5_vl");
  family.fixed = [](Draft& draft) {
    qwen_tower({}).fixed(draft);
    draft.spec.norm = transformer::Norm::kRms;
    draft.layer.feed_forward.gated = true;
  };
  family.set({{"hidden_size"}, width, std::int64_t{3584}});
  family.set({{"depth"}, layers, std::int64_t{32}});
  family.set({{"intermediate_size"}, inner, std::int64_t{3420}});
  family.set({{"hidden_act"}, activation, "silu"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "blocks.N.mlp.{gate,up,down}_proj"});
  family.finish = finish_tower25;
  return family;
}

Family tower3() {
  using namespace slot;
  Family family = qwen_tower("qwen3_vl");
  family.fixed = [](Draft& draft) {
    qwen_tower({}).fixed(draft);
    draft.spec.image.patch_bias = true;
  };
  family.set({{"hidden_size"}, width, std::int64_t{1152}});
  family.set({{"depth"}, layers, std::int64_t{27}});
  family.set({{"intermediate_size"}, inner, std::int64_t{4304}});
  family.set({{"hidden_act"}, activation, "gelu_pytorch_tanh"});
  family.set({{"patch_size"}, patch, std::int64_t{16}});
  family.rename({"layers.N.feed_forward.{up,down}", "blocks.N.mlp.linear_fc{1,2}"});
  family.names.push_back({"position.position_embedding", "pos_embed.weight"});
  family.finish = finish_tower3;
  return family;
}

// Norm, join, two projections with a GELU between them; for deepstack the join comes first.
transformer::ConnectorSpec merger(const VisionPlan& plan, const Plan& text, transformer::Norm norm, std::int64_t state,
                                  bool joined_first) {
  const std::int64_t cell = plan.tower.spec.image.cell;
  const std::int64_t joined = plan.tower.spec.width * cell * cell;
  transformer::ConnectorSpec spec;
  spec.states = {state};
  spec.steps = {norm_step("norm", norm, kEps), join_step(cell), linear_step("first", joined, true),
                activation_step(transformer::Activation::kGelu), linear_step("second", text.spec.width, true)};
  if (joined_first) {
    std::swap(spec.steps[0], spec.steps[1]);
  }
  return spec;
}

// A video's placeholder, where config.json names one.
Status take_videos(const CheckpointFiles& checkpoint, image::VideoRule rule, VisionPlan& plan) {
  LOCUS_TRY(plan.placeholders.video_id, token_id_or_none(checkpoint.config, {"video_token_id"}));
  plan.videos = plan.placeholders.video_id < 0 ? image::VideoRule::kNone : rule;
  return {};
}

// The base of the text where no field of config.json names one: not that of the texts alone.
void set_usual_base(const CheckpointFiles& checkpoint, Plan& text, double base) {
  for (const std::string_view where : {"", "text_config."}) {
    for (const std::string_view field : {"rope_theta", "rope_parameters.rope_theta", "rope_scaling.rope_theta"}) {
      if (checkpoint.config.has(std::string(where) + std::string(field))) {
        return;
      }
    }
  }
  text.spec.encodings.front().options.set("base", base);
}

Status finish_qwen2(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  LOCUS_CHECK(check_sections(checkpoint, text));
  set_usual_base(checkpoint, text, 1e6);
  LOCUS_CHECK(take_videos(checkpoint, image::VideoRule::kIndex, plan));
  plan.connector = merger(plan, text, plan.tower.spec.norm, plan.tower.spec.depth(), false);
  plan.names = {
      {"connector.norm", "merger.ln_q"}, {"connector.first", "merger.mlp.0"}, {"connector.second", "merger.mlp.2"}};
  return {};
}

Status finish_qwen25(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  constexpr double kMaxTokensPerSecond = 1e6;
  LOCUS_CHECK(finish_qwen2(checkpoint, vision, text, plan));
  LOCUS_CHECK(take_videos(checkpoint, image::VideoRule::kSeconds, plan));
  LOCUS_TRY(plan.tokens_per_second, vision.number("tokens_per_second", 4.0));
  return plan.tokens_per_second > 0 && plan.tokens_per_second <= kMaxTokensPerSecond
             ? Status()
             : Status(bad_input("expected a number above 0, at most 1000000, found another",
                                vision.context("tokens_per_second")));
}

// Qwen3.5: Qwen3-VL without deepstack.
Status finish_qwen35(const CheckpointFiles& checkpoint, const Config& /*vision*/, Plan& text, VisionPlan& plan) {
  LOCUS_CHECK(take_videos(checkpoint, image::VideoRule::kStamps, plan));
  LOCUS_CHECK(interleave_sections(text, {11, 11, 10}));
  plan.connector = merger(plan, text, transformer::Norm::kLayer, plan.tower.spec.depth(), false);
  plan.names = {{"connector.norm", "merger.norm"}, {"connector.{first,second}", "merger.linear_fc{1,2}"}};
  return {};
}

Status finish_qwen3(const CheckpointFiles& checkpoint, const Config& vision, Plan& text, VisionPlan& plan) {
  LOCUS_CHECK(check_sections(checkpoint, text));
  set_usual_base(checkpoint, text, 5e5);
  LOCUS_CHECK(finish_qwen35(checkpoint, vision, text, plan));
  std::vector<std::int64_t> after{8, 16, 24};
  if (vision.has("deepstack_visual_indexes")) {
    LOCUS_TRY(after, vision.integers("deepstack_visual_indexes"));
  }
  if (static_cast<std::int64_t>(after.size()) > text.spec.depth()) {
    return bad_input("expected at most " + std::to_string(text.spec.depth()) + ", one per layer of the text, found " +
                         std::to_string(after.size()),
                     vision.context("deepstack_visual_indexes"));
  }
  for (const std::int64_t layer : after) {
    if (layer < 0 || layer >= plan.tower.spec.depth()) {
      return bad_input("expected layers from 0 to " + std::to_string(plan.tower.spec.depth() - 1) + ", found " +
                           std::to_string(layer),
                       vision.context("deepstack_visual_indexes"));
    }
    plan.deepstack.push_back(merger(plan, text, transformer::Norm::kLayer, layer + 1, true));
  }
  plan.names.push_back({"deepstack.N.norm", "deepstack_merger_list.N.norm"});
  plan.names.push_back({"deepstack.N.{first,second}", "deepstack_merger_list.N.linear_fc{1,2}"});
  return {};
}

VisionTable qwen_table() {
  return {
      .tower = [](const Config&) { return Result<Family>(tower2("qwen2_vl")); },
      .tower_tensors = {{"model.visual.", "visual."}, {}},
      .text_tensors = {{"model.language_model.", "model."}, "embed_tokens.weight"},
      .text = [](const CheckpointFiles&, const Config& text) { return family_named("qwen2", text); },
      .flat = true,
      .connector_tensors = {{"model.visual.", "visual."}, "merger.mlp.0.weight"},
      .finish = finish_qwen2,
  };
}

Result<Plan> read_qwen2(const CheckpointFiles& checkpoint) {
  return read_vision(checkpoint, qwen_table());
}

Result<Plan> read_qwen25(const CheckpointFiles& checkpoint) {
  VisionTable table = qwen_table();
  table.tower = [](const Config&) { return Result<Family>(tower25()); };
  table.finish = finish_qwen25;
  return read_vision(checkpoint, table);
}

Result<Plan> read_qwen3(const CheckpointFiles& checkpoint) {
  VisionTable table = qwen_table();
  table.tower = [](const Config&) { return Result<Family>(tower3()); };
  table.text = [](const CheckpointFiles& files, const Config& text) {
    return model_type(files) == "qwen3_vl_moe" ? qwen3_vl_moe_text(files, text) : family_named("qwen3", text);
  };
  table.flat = false;
  table.connector_tensors.anchor = "merger.linear_fc1.weight";
  table.finish = finish_qwen3;
  return read_vision(checkpoint, table);
}

Result<Plan> read_qwen35(const CheckpointFiles& checkpoint) {
  VisionTable table = qwen_table();
  table.tower = [](const Config&) { return Result<Family>(tower3()); };
  table.text = [](const CheckpointFiles& files, const Config& text) {
    return family_named(model_type(files) + "_text", text);
  };
  table.flat = false;
  table.connector_tensors.anchor = "merger.linear_fc1.weight";
  table.finish = finish_qwen35;
  return read_vision(checkpoint, table);
}

}  // namespace

Result<transformer::EncodingSpec> qwen_rotation(const Config& vision) {
  LOCUS_TRY(const double base, axial_base(vision, 10000.0));
  return transformer::EncodingSpec{"rope-axial",
                                   {{"base", base}, {"first", std::string("rows")}, {"layout", std::string("half")}}};
}

Status interleave_sections(Plan& text, const std::vector<double>& usual) {
  Settings& options = text.spec.encodings.front().options;
  std::vector<double> sections = usual;
  if (options.has("sections")) {
    LOCUS_TRY(sections, options.numbers("sections"));
  }
  options.set("section_layout", std::string("interleaved"));
  LOCUS_TRY(const double fraction, options.number("fraction", 1.0));
  const auto width = static_cast<double>(text.spec.first().attention.head_width);
  const double pairs = std::floor(std::floor(width * fraction + 1e-6) / 2);
  const bool whole =
      std::all_of(sections.begin(), sections.end(), [](double each) { return each >= 0 && each == std::floor(each); });
  // Other lists are refused with the encoding.
  if (sections.size() == 3 && whole) {
    for (std::size_t k = 1; k < 3; ++k) {
      sections[k] = std::min(sections[k], std::floor((pairs + 2 - static_cast<double>(k)) / 3));
    }
    sections[0] = pairs - sections[1] - sections[2];
  }
  options.set("sections", std::move(sections));
  return {};
}

Status check_sections(const CheckpointFiles& checkpoint, const Plan& text) {
  return text.spec.encodings.front().options.has("sections")
             ? Status()
             : Status(bad_input("expected mrope_section in rope_scaling or rope_parameters, found none",
                                checkpoint.config.file()));
}

Family qwen_tower(std::string_view name) {
  using namespace slot;
  return {
      .name = name,
      .fixed =
          [](Draft& draft) {
            fix_vit(draft);
            draft.spec.image.class_tokens = 0;
            draft.spec.image.patch_bias = false;
            draft.spec.pool = transformer::Pool::kAll;
            draft.spec.norm_eps = kEps;
            draft.spec.final_norm = false;
            draft.layer.attention.qkv = transformer::QkvLayout::kFused;
            draft.layer.attention.set_qkv_bias(true);
          },
      .fields = {{{"num_heads"}, heads, std::int64_t{16}},
                 {{"in_channels"}, channels, std::int64_t{3}},
                 {{"patch_size"}, patch, std::int64_t{14}},
                 {{"spatial_merge_size"}, cell, std::int64_t{2}},
                 {{"temporal_patch_size"}, frames, std::int64_t{2}}},
      .prefixes = {""},
      .anchor = "patch_embed.proj.weight",
      .names = {{"patch", "patch_embed.proj"},
                {"layers.N.attention_norm", "blocks.N.norm1"},
                {"layers.N.attention.qkv", "blocks.N.attn.qkv"},
                {"layers.N.attention.output", "blocks.N.attn.proj"},
                {"layers.N.feed_forward_norm", "blocks.N.norm2"},
                {"layers.N.feed_forward.{up,down}", "blocks.N.mlp.fc{1,2}"}},
  };
}

// Fields that repeat others, concern videos, or are the same in every file and read by no class.
const std::vector<std::string_view> kQwenHarmless{
    "vision_config.in_chans",          "vision_config.hidden_size",
    "vision_config.out_hidden_size",   "vision_config.spatial_patch_size",
    "vision_config.tokens_per_second", "text_config.rope_scaling.mrope_interleaved"};

const Family kQwen2Vl{.name = "qwen2_vl", .read = read_qwen2, .harmless = kQwenHarmless};
const Family kQwen25Vl{.name = "qwen2_5_vl", .read = read_qwen25, .harmless = kQwenHarmless};
const Family kQwen3Vl{.name = "qwen3_vl", .read = read_qwen3, .harmless = kQwenHarmless};
const Family kQwen3VlMoe = [] {
  Family family{.name = "qwen3_vl_moe", .read = read_qwen3, .harmless = kQwenHarmless};
  family.harmless.insert(family.harmless.end(),
                         {"text_config.norm_topk_prob", "text_config.rope_parameters.mrope_interleaved"});
  return family;
}();
const std::vector<std::string_view> kQwen35Harmless = [] {
  std::vector<std::string_view> all = kQwenHarmless;
  all.insert(all.end(), {"text_config.rope_parameters.mrope_interleaved", "text_config.mamba_ssm_dtype",
                         "text_config.mlp_only_layers", "text_config.mtp_num_hidden_layers",
                         "text_config.mtp_use_dedicated_embeddings", "vision_config.deepstack_visual_indexes"});
  return all;
}();
const Family kQwen35Vl{.name = "qwen3_5", .read = read_qwen35, .harmless = kQwen35Harmless};
const Family kQwen35MoeVl{.name = "qwen3_5_moe", .read = read_qwen35, .harmless = kQwen35Harmless};

}  // namespace locus::families
