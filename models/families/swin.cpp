// Swin and Swin v2: ViTs in stages, whose layers see windows of the patches, every second one shifted by half of one. At
// the end of a stage each 2 × 2 patches become one of twice the width. A checkpoint opens at one stage: the stages before
// it are part of the stem, those behind it are not read.
#include <algorithm>

#include "models/families/engine/computed.h"
#include "models/families/engine/heads.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::Stages;

constexpr const char* kSwinAnchor = "embeddings.patch_embeddings.projection.weight";
constexpr double kSwinEps = 1e-5;

// The fields of a config, for the stages up to the one that is wanted.
struct Swin : StageFields {
  Stages kind = Stages::kSwin;
  std::vector<std::int64_t> pretrained;
  std::int64_t patch = 0;
  std::int64_t grid = 0;  // patches a side of the first stage
  std::int64_t window = 0;
  bool bias = true;

  bool second() const { return kind == Stages::kSwin2; }
  std::int64_t grid_of(std::size_t stage) const { return grid >> stage; }
  // Swin v2 makes a window that is larger than the grid as large as the grid.
  std::int64_t window_of(std::size_t stage) const { return second() ? std::min(window, grid_of(stage)) : window; }
};

// Errors: kUnsupported for a picture that is not whole windows in each stage.
Status check_size(const Swin& swin, std::int64_t image_size, const Config& config) {
  for (std::size_t n = 0; n <= swin.stage; ++n) {
    const std::int64_t side = swin.grid_of(n);
    const std::int64_t window = swin.window_of(n);
    if (side < 1 || side << n != swin.grid || side % window != 0) {
      return unsupported("expected pictures of whole windows of " + std::to_string(window) + " × " +
                             std::to_string(window) + " patches in stage " + std::to_string(n + 1) +
                             ", found image size " + std::to_string(image_size) + " and patch size " +
                             std::to_string(swin.patch) + ": " + std::to_string(side) + " patches a side",
                         config.context("image_size"));
    }
  }
  return {};
}

Result<Swin> read_fields(const CheckpointFiles& checkpoint, Stages kind) {
  constexpr std::int64_t kMaxPicture = 16384;
  constexpr std::int64_t kMaxPatch = 16;
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"use_absolute_embeddings", {false}}, {"layer_norm_eps", {kSwinEps}}}));
  Swin swin;
  swin.kind = kind;
  LOCUS_TRY(static_cast<StageFields&>(swin), read_stage_fields(checkpoint));
  LOCUS_TRY(swin.heads, integers_within(config, "num_heads", swin.all, 1, kMaxStageHeads, ", one per stage"));
  swin.pretrained.assign(swin.all, 0);
  if (swin.second() && config.has("pretrained_window_sizes")) {
    // A list for four stages is the library's default, which it cuts to those that there are.
    LOCUS_TRY(swin.pretrained, integers_within(config, "pretrained_window_sizes", 0, 0, kMaxPicture));
    const bool some = std::any_of(swin.pretrained.begin(), swin.pretrained.end(), [](auto size) { return size == 1; });
    if (swin.pretrained.size() < swin.all || some) {
      return bad_input("expected one per stage, each 0 or at least 2", config.context("pretrained_window_sizes"));
    }
  }
  LOCUS_TRY(swin.patch, integer_or(config, "patch_size", 4));
  LOCUS_TRY(const std::int64_t image_size, integer_or(config, "image_size", 224));
  LOCUS_TRY(swin.window, integer_or(config, "window_size", 7));
  LOCUS_TRY(swin.bias, config.boolean("qkv_bias", true));
  for (const auto& [field, found, most] :
       {std::tuple{"patch_size", swin.patch, kMaxPatch}, std::tuple{"image_size", image_size, kMaxPicture},
        std::tuple{"window_size", swin.window, kMaxSwinWindow}}) {
    if (found > most) {
      return unsupported("expected at most " + std::to_string(most) + ", found " + std::to_string(found),
                         config.context(field));
    }
  }
  // The library fills the last patches of a picture with zeros.
  if (image_size % swin.patch != 0) {
    return unsupported(
        "expected whole patches of " + std::to_string(swin.patch) + " pixels, found " + std::to_string(image_size),
        config.context("image_size"));
  }
  swin.grid = image_size / swin.patch;
  LOCUS_CHECK(check_size(swin, image_size, config));
  return swin;
}

// The layers of a stage. Errors: kBadInput for heads that do not divide the width.
Result<std::vector<LayerSpec>> layers_of(const Swin& swin, std::size_t stage, const Config& config) {
  constexpr double kNoEps = 1e-24;  // the library divides by the length of q and k, or 10⁻¹²
  LOCUS_TRY(LayerSpec layer, stage_layer(swin, stage, config));
  transformer::AttentionSpec& attention = layer.attention;
  attention.qkv = transformer::QkvLayout::kSeparate;
  attention.query_bias = attention.value_bias = swin.bias;
  attention.key_bias = swin.bias && !swin.second();
  attention.output_bias = true;
  attention.tile = swin.window_of(stage);
  if (swin.second()) {
    // Cosines: RMSNorms make q and k as long as √D.
    attention.norm = {transformer::QueryNormForm::kOwn, transformer::Norm::kRms, true, false, kNoEps};
    attention.scale = 1 / static_cast<double>(attention.head_width);
    layer.attention_norm = layer.feed_forward_norm = transformer::NormPlace::kAfter;
  }
  std::vector<LayerSpec> layers(static_cast<std::size_t>(swin.depths[stage]), layer);
  const bool one = swin.second() && swin.grid_of(stage) <= attention.tile;
  for (std::size_t n = 1; n < layers.size(); n += 2) {
    layers[n].attention.shift = one ? 0 : swin.window / 2;
  }
  return layers;
}

transformer::EncodingSpec bias_of(const Swin& swin, std::size_t stage) {
  const std::int64_t window = swin.window_of(stage);
  return {"relative-grid",
          {{"grid_rows", window}, {"grid_columns", window}, {"per_layer", true}, {"shared", false}, {"windows", true}}};
}

// Names of a stage's tensors: its parameters stand behind `own` and its layers behind `layers`, tensors behind `theirs`.
void name_stage(const Swin& swin, const std::string& own, const std::string& number, const std::string& theirs,
                Plan& plan) {
  const std::string layer = own + "layers." + number + ".";
  const std::string norm = swin.second() ? "_after_norm" : "_norm";
  plan.name(layer + "attention" + norm, theirs + "layernorm_before");
  plan.name(layer + "attention.{query,key,value}", theirs + "attention.self.{query,key,value}");
  plan.name(layer + "attention.output", theirs + "attention.output.dense");
  plan.name(layer + "feed_forward" + norm, theirs + "layernorm_after");
  plan.name(layer + "feed_forward.{up,down}", theirs + "{intermediate,output}.dense");
  plan.name(own + "position.layers." + number + ".relative_position_bias_table",
            theirs + "attention.self." + (swin.second() ? "bias_table" : "relative_position_bias_table"));
}

void name_tensors(const Swin& swin, const std::string& prefix, Plan& plan) {
  const std::string stages = prefix + "encoder.layers.";
  const std::string own = stages + std::to_string(swin.stage);
  plan.name("patch", prefix + "embeddings.patch_embeddings.projection");
  plan.name("patch_norm", prefix + "embeddings.norm");
  name_stage(swin, "before.N.", "J", stages + "N.blocks.J.", plan);
  plan.name("before.N.merge_norm", stages + "N.downsample.norm");
  plan.name("before.N.merge", stages + "N.downsample.reduction");
  // A head of a stage before is a third number, which rows of names do not count.
  const auto most = std::max_element(swin.heads.begin(), swin.heads.end());
  for (std::int64_t head = 0; swin.second() && head < *most; ++head) {
    const std::string end = "." + std::to_string(head);
    plan.name("before.N.layers.J.attention.{query,key}_norm" + end,
              stages + "N.blocks.J.attention.self.{query,key}_scale" + end);
  }
  name_stage(swin, "", "N", own + ".blocks.N.", plan);
  plan.name("layers.N.attention.{query,key}_norm.J", own + ".blocks.N.attention.self.{query,key}_scale.J");
  plan.name("final_norm", prefix + "layernorm");
  // Buffers, the token of masked patches, and what Swin v2's tables and factors are computed from.
  plan.skipped = {"relative_position_index", "relative_coords_table", "attn_mask", "embeddings.mask_token"};
  if (swin.second()) {
    plan.skipped.insert(plan.skipped.end(),
                        {"continuous_position_bias_mlp.0.weight", "continuous_position_bias_mlp.0.bias",
                         "continuous_position_bias_mlp.2.weight", "attention.self.logit_scale"});
  }
}

Status compute_scores(const Swin& swin, const CheckpointFiles& checkpoint, const std::string& prefix, Plan& plan) {
  std::vector<OfCosines> attentions;
  for (std::size_t n = 0; n <= swin.stage; ++n) {
    for (std::int64_t layer = 0; layer < swin.depths[n]; ++layer) {
      attentions.push_back(
          {prefix + "encoder.layers." + std::to_string(n) + ".blocks." + std::to_string(layer) + ".attention.self",
           swin.window_of(n), swin.pretrained[n], swin.heads[n], swin.width_of(n) / swin.heads[n]});
    }
  }
  return compute_cosines(checkpoint, attentions, plan);
}

Result<Plan> read_swin(const CheckpointFiles& checkpoint, Stages kind, const std::vector<std::string_view>& prefixes) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const Swin swin, read_fields(checkpoint, kind));
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::string head, begin_stages(swin, checkpoint, spec));
  LOCUS_TRY(spec.layers, layers_of(swin, swin.stage, config));
  spec.encodings = {bias_of(swin, swin.stage)};
  spec.norm_eps = kSwinEps;
  spec.image.stages = kind;
  spec.image.patch = swin.patch << swin.stage;
  spec.image.rows = spec.image.columns = swin.grid_of(swin.stage);
  spec.image.patch_norm = true;
  spec.trained_length = spec.image.rows * spec.image.columns;
  for (std::size_t n = 0; n < swin.stage; ++n) {
    transformer::StageSpec before{swin.width_of(n), {}, bias_of(swin, n)};
    LOCUS_TRY(before.layers, layers_of(swin, n, config));
    spec.image.before.push_back(std::move(before));
  }
  LOCUS_CHECK(check_spec(spec, config));
  const std::string prefix = checkpoint.prefix_of(prefixes, kSwinAnchor);
  name_tensors(swin, prefix, plan);
  plan.name("head", head + "classifier");
  leave_out_parts(checkpoint, {"decoder"}, plan);
  const std::string stages = prefix + "encoder.layers.";
  end_at_stage(swin, config, stages,
               {prefix + "layernorm.*", head + "classifier.*", stages + std::to_string(swin.stage) + ".downsample.*"},
               plan);
  if (swin.second() && checkpoint.tensors != nullptr) {
    LOCUS_CHECK(compute_scores(swin, checkpoint, prefix, plan));
  }
  return plan;
}

}  // namespace

const Family kSwin = [] {
  Family family;
  family.name = "swin";
  family.read = [](const CheckpointFiles& checkpoint) {
    return read_swin(checkpoint, Stages::kSwin, {"swin.", "", "module.swin."});
  };
  // The width of the last stage, which follows, and the number of stages.
  family.harmless = {"hidden_size", "num_layers", "path_norm"};
  return family;
}();

const Family kSwin2 = [] {
  Family family;
  family.name = "swinv2";
  family.read = [](const CheckpointFiles& checkpoint) {
    return read_swin(checkpoint, Stages::kSwin2, {"swinv2.", "", "module.swinv2."});
  };
  family.harmless = {"hidden_size", "num_layers", "path_norm"};
  return family;
}();

}  // namespace locus::families
