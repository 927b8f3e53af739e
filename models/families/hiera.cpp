// Hiera: a ViT in stages of plain layers, which see the units of masked pre-training or all patches. The first layer of a
// stage pools its queries over 2 × 2 patches and doubles the width. A checkpoint opens at one stage: the stages before it
// and that layer are part of the stem, those behind it are not read.
#include "models/families/engine/heads.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

// The fields of a config, for the stages up to the one that is wanted.
struct Hiera : StageFields {
  std::vector<bool> units;  // stages whose layers see the patches of a unit alone
  std::int64_t kernel = 0, stride = 0, padding = 0;
  std::int64_t rows = 0, columns = 0;  // the grid of the first stage

  std::int64_t unit() const { return std::int64_t{1} << (all - 1); }
  // The layer of stage n in the file that is the first one here.
  std::int64_t first_of(std::size_t n) const { return n > 0 ? 1 : 0; }
};

// The side of a square of two entries, `fallback` where there is no such field. Errors: kUnsupported for three, which
// are of videos, and for sides that differ.
Result<std::int64_t> hiera_side(const Config& config, const char* field, std::int64_t fallback) {
  constexpr std::int64_t kMaxSide = 256;
  if (!config.has(field)) {
    return fallback;
  }
  LOCUS_TRY(const std::vector<std::int64_t> sides, config.integers(field));
  if (sides.size() == 3) {
    return unsupported("expected 2 entries, of pictures, found 3, of videos", config.context(field));
  }
  if (sides.size() != 2) {
    return bad_input("expected 2 entries, found " + std::to_string(sides.size()), config.context(field));
  }
  if (sides[0] != sides[1]) {
    return unsupported("expected equal sides, found " + std::to_string(sides[0]) + " and " + std::to_string(sides[1]),
                       config.context(field));
  }
  if (sides[0] < 0 || sides[0] > kMaxSide) {
    return bad_input("expected 0 to " + std::to_string(kMaxSide) + ", found " + std::to_string(sides[0]),
                     config.context(field));
  }
  return sides[0];
}

// The grid of the first stage. Errors: kUnsupported where it is not whole units.
Status read_grid(const Config& config, Hiera& hiera) {
  constexpr std::int64_t kMaxPicture = 16384;
  std::vector<std::int64_t> sides{224, 224};
  if (config.has("image_size")) {
    LOCUS_TRY(const std::vector<std::int64_t> given, config.integers("image_size"));
    if (given.size() == 3) {
      return unsupported("expected 2 entries, of pictures, found 3, of videos", config.context("image_size"));
    }
    LOCUS_TRY(sides, integers_within(config, "image_size", 2, 1, kMaxPicture));
  }
  LOCUS_TRY(hiera.kernel, hiera_side(config, "patch_size", 7));
  LOCUS_TRY(hiera.stride, hiera_side(config, "patch_stride", 4));
  LOCUS_TRY(hiera.padding, hiera_side(config, "patch_padding", 3));
  if (hiera.stride < 1 || hiera.kernel < 1) {
    return bad_input("expected a side of at least 1, found 0",
                     config.context(hiera.stride < 1 ? "patch_stride" : "patch_size"));
  }
  // As many patches as strides, which is what the positions and the units are of.
  if (hiera.kernel - hiera.stride > 2 * hiera.padding || 2 * hiera.padding >= hiera.kernel) {
    return unsupported("expected a margin that makes as many patches as strides, found " +
                           std::to_string(hiera.padding) + " with patches of " + std::to_string(hiera.kernel) +
                           " and a stride of " + std::to_string(hiera.stride),
                       config.context("patch_padding"));
  }
  const std::int64_t whole = hiera.stride * hiera.unit();
  if (sides[0] % whole != 0 || sides[1] % whole != 0) {
    return unsupported("expected pictures of whole units of " + std::to_string(whole) + " pixels, found " +
                           std::to_string(sides[0]) + " × " + std::to_string(sides[1]),
                       config.context("image_size"));
  }
  hiera.rows = sides[0] / hiera.stride;
  hiera.columns = sides[1] / hiera.stride;
  return {};
}

// The pooling between stages and the units. Errors: kUnsupported for forms other than one halving between two stages.
Status read_units(const Config& config, Hiera& hiera) {
  LOCUS_TRY(const double factor, config.number("embed_dim_multiplier", 2));
  if (factor != 2) {
    return unsupported("expected 2, found another factor", config.context("embed_dim_multiplier"));
  }
  LOCUS_TRY(const std::int64_t stride, hiera_side(config, "query_stride", 2));
  if (stride != 2) {
    return unsupported("expected 2 × 2, found " + std::to_string(stride), config.context("query_stride"));
  }
  const auto pools = static_cast<std::int64_t>(hiera.all) - 1;
  LOCUS_TRY(const std::int64_t pooled, config.integer("num_query_pool", 3));
  if (pooled != pools) {
    return unsupported(
        "expected " + std::to_string(pools) + ", one between two stages, found " + std::to_string(pooled),
        config.context("num_query_pool"));
  }
  LOCUS_TRY(const std::int64_t unit, hiera_side(config, "masked_unit_size", 8));
  // With larger units the library's windows are not connected parts of the picture.
  if (unit != hiera.unit()) {
    return unsupported("expected " + std::to_string(hiera.unit()) + " × " + std::to_string(hiera.unit()) +
                           " patches, halved between two stages, found " + std::to_string(unit),
                       config.context("masked_unit_size"));
  }
  hiera.units = {true, true, false, false};
  if (config.has("masked_unit_attention")) {
    LOCUS_TRY(hiera.units, config.booleans("masked_unit_attention"));
  }
  if (hiera.units.size() != hiera.all) {
    return bad_input("expected " + std::to_string(hiera.all) + " entries, one per stage, found " +
                         std::to_string(hiera.units.size()),
                     config.context("masked_unit_attention"));
  }
  return {};
}

Result<Hiera> read_hiera_fields(const CheckpointFiles& checkpoint) {
  const Config& config = checkpoint.config;
  Hiera hiera;
  LOCUS_TRY(static_cast<StageFields&>(hiera), read_stage_fields(checkpoint));
  for (std::size_t n = 1; n <= hiera.stage; ++n) {
    if (hiera.depths[n] < 2) {
      return unsupported("expected a layer besides the one that pools in stage " + std::to_string(n + 1) + ", found " +
                             std::to_string(hiera.depths[n]) + " in all",
                         config.context("depths"));
    }
  }
  LOCUS_TRY(hiera.heads, integers_within(config, "num_heads", hiera.all, 1, kMaxStageHeads));
  LOCUS_CHECK(read_units(config, hiera));
  LOCUS_CHECK(read_grid(config, hiera));
  return hiera;
}

// The layers of a stage without the one that pools. Errors: kBadInput for heads that do not divide the width.
Result<std::vector<LayerSpec>> hiera_layers(const Hiera& hiera, std::size_t stage, const Config& config) {
  LOCUS_TRY(LayerSpec layer, stage_layer(hiera, stage, config));
  transformer::AttentionSpec& attention = layer.attention;
  attention.qkv = transformer::QkvLayout::kFused;
  attention.query_bias = attention.key_bias = attention.value_bias = attention.output_bias = true;
  attention.tile = hiera.units[stage] ? hiera.unit() >> stage : 0;
  return std::vector<LayerSpec>(static_cast<std::size_t>(hiera.depths[stage] - hiera.first_of(stage)), layer);
}

// Names of one layer's tensors.
void name_hiera_layer(const std::string& own, const std::string& theirs, Plan& plan) {
  plan.name(own + "attention_norm", theirs + "layernorm_before");
  plan.name(own + "attention.qkv", theirs + "attn.qkv");
  plan.name(own + "attention.output", theirs + "attn.proj");
  plan.name(own + "feed_forward_norm", theirs + "layernorm_after");
  plan.name(own + "feed_forward.{up,down}", theirs + "mlp.{fc1,fc2}");
}

void name_hiera(const Hiera& hiera, const std::string& prefix, Plan& plan) {
  plan.name("patch", prefix + "embeddings.patch_embeddings.projection");
  const std::string table = hiera.stage > 0 ? "before.position" : "position.position_embedding";
  plan.name(table, prefix + "embeddings.position_embeddings", Layout::kReshaped);
  for (std::size_t n = 0; n <= hiera.stage; ++n) {
    const std::string own = n < hiera.stage ? "before." + std::to_string(n) + "." : "";
    const std::string stage = prefix + "encoder.stages." + std::to_string(n) + ".layers.";
    const std::int64_t first = hiera.first_of(n);
    for (std::int64_t layer = first; layer < hiera.depths[n]; ++layer) {
      name_hiera_layer(own + "layers." + std::to_string(layer - first) + ".", stage + std::to_string(layer) + ".",
                       plan);
    }
    if (first > 0) {
      const std::string next = "before." + std::to_string(n - 1) + ".next.";
      name_hiera_layer(next, stage + "0.", plan);
      plan.name(next + "shortcut", stage + "0.proj");
    }
  }
  plan.name("final_norm", prefix + "pooler.layernorm");
}

Result<Plan> read_hiera(const CheckpointFiles& checkpoint) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const Hiera hiera, read_hiera_fields(checkpoint));
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const std::string head, begin_stages(hiera, checkpoint, spec));
  LOCUS_TRY(spec.layers, hiera_layers(hiera, hiera.stage, config));
  LOCUS_TRY(spec.norm_eps, config.number("layer_norm_eps", 1e-6));
  spec.norm_after_pool = true;
  transformer::ImageStem& image = spec.image;
  image.stages = transformer::Stages::kHiera;
  image.patch = hiera.stride << hiera.stage;
  image.rows = hiera.rows >> hiera.stage;
  image.columns = hiera.columns >> hiera.stage;
  image.kernel = hiera.kernel;
  image.padding = hiera.padding;
  image.unit = hiera.unit();
  spec.trained_length = image.rows * image.columns;
  for (std::size_t n = 0; n < hiera.stage; ++n) {
    transformer::StageSpec before{hiera.width_of(n), {}, {"none", {}}};
    LOCUS_TRY(before.layers, hiera_layers(hiera, n, config));
    image.before.push_back(std::move(before));
  }
  spec.encodings = {{"none", {}}};
  if (hiera.stage == 0) {
    learned_grid(spec);
  }
  const std::string prefix =
      checkpoint.prefix_of({"hiera.", "", "module.hiera."}, "embeddings.patch_embeddings.projection.weight");
  // Pre-training and backbones have no pooling.
  const bool pooled = checkpoint.tensors == nullptr || checkpoint.find(prefix + "pooler.layernorm.weight") != nullptr;
  spec.final_norm = spec.final_norm && (spec.head || pooled);
  LOCUS_CHECK(check_spec(spec, config));
  name_hiera(hiera, prefix, plan);
  plan.name("head", head + "classifier");
  leave_out_parts(checkpoint, {"decoder", "multiscale_fusion", "hidden_states_norms"}, plan);
  if (hiera.stage > 0) {
    plan.warnings.push_back(hiera.named(config) +
                            "the layer between two stages, whose queries are pooled, is not shown: layer 0 "
                            "is the second of the stage; positions are added before the first stage");
  }
  end_at_stage(hiera, config, prefix + "encoder.stages.", {prefix + "pooler.*", head + "classifier.*"}, plan);
  return plan;
}

}  // namespace

const Family kHiera = [] {
  Family family;
  family.name = "hiera";
  family.read = read_hiera;
  // The width of the last stage and the number of stages, which follow; settings of training, and of masked
  // pre-training's decoder.
  family.harmless = {"hidden_size",         "num_layers",    "drop_path_rate",    "layer_norm_init",
                     "decoder_hidden_size", "decoder_depth", "decoder_num_heads", "normalize_pixel_loss",
                     "mask_ratio",          "stage_names",   "out_features",      "out_indices"};
  return family;
}();

}  // namespace locus::families
