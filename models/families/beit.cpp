// BEiT, and data2vec's image model: ViT with a learned bias for every offset of rows and columns, per layer or shared by
// all.
#include "models/families/list.h"

namespace locus::families {

namespace {

constexpr const char* kAnchor = "embeddings.cls_token";

Status finish_beit(const CheckpointFiles& checkpoint, const std::string& prefix, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const bool mean, config.boolean("use_mean_pooling", true));
  LOCUS_TRY(const double scale, config.number("layer_scale_init_value", 0.1));
  LOCUS_TRY(const bool absolute, config.boolean("use_absolute_position_embeddings", false));
  LOCUS_TRY(const bool per_layer, config.boolean("use_relative_position_bias", false));
  LOCUS_TRY(const bool shared, config.boolean("use_shared_relative_position_bias", false));
  LOCUS_CHECK(shape_grid(spec, config));
  LOCUS_CHECK(read_classes(checkpoint, "classifier.weight", spec));
  // The mean is normalised after pooling; without a head there is no final norm.
  spec.pool = mean ? transformer::Pool::kPatches : transformer::Pool::kClass;
  spec.norm_after_pool = mean;
  spec.final_norm = spec.head || !mean;
  plan.name("final_norm", prefix + (mean ? "pooler.layernorm" : "layernorm"));
  spec.each([&](std::int64_t, transformer::LayerSpec& layer) { layer.layer_scale = scale > 0; });
  spec.encodings.clear();
  if (absolute) {
    learned_grid(spec);
  }
  if (per_layer || shared) {
    spec.encodings.insert(spec.encodings.begin(), {"relative-grid",
                                                   {{"grid_rows", spec.image.rows},
                                                    {"grid_columns", spec.image.columns},
                                                    {"per_layer", per_layer},
                                                    {"shared", shared}}});
    // With the bias of every layer, the learned positions are added to the patches and belong to no layer.
    plan.name("position.N.position_embedding", prefix + "embeddings.position_embeddings", Layout::kReshaped);
  }
  if (spec.encodings.empty()) {
    spec.encodings = {{"none", {}}};
  }
  return {};
}

Family beit(std::string_view name, const std::vector<std::string_view>& prefixes) {
  Family family = vit(name);
  family.fixed = [](Draft& draft) {
    fix_vit(draft);
    draft.layer.attention.query_bias = draft.layer.attention.value_bias = true;
  };
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "qkv_bias"; });
  family.finish = [prefixes](const CheckpointFiles& checkpoint, Plan& plan) {
    return finish_beit(checkpoint, checkpoint.prefix_of(prefixes, kAnchor), plan);
  };
  // Fields of the segmentation head and the vocabulary of pre-training.
  family.harmless = {"add_fpn",
                     "auxiliary_channels",
                     "auxiliary_concat_input",
                     "auxiliary_loss_weight",
                     "auxiliary_num_convs",
                     "pool_scales",
                     "semantic_loss_ignore_index",
                     "use_auxiliary_head",
                     "vocab_size"};
  family.prefixes = prefixes;
  std::erase_if(family.names, [](const Name& row) { return row.parameter == "final_norm"; });
  const std::string table = "relative_position_bias.relative_position_bias_table";
  family.names.push_back({"layers.N.{attention,feed_forward}_scale", "encoder.layer.N.lambda_{1,2}"});
  family.names.push_back({"position.relative_position_bias_table", "encoder." + table});
  family.names.push_back(
      {"position.layers.N.relative_position_bias_table", "encoder.layer.N.attention.attention." + table});
  family.skipped = {"relative_position_index", "embeddings.mask_token", "pooler.layernorm.weight",
                    "pooler.layernorm.bias"};
  return family;
}

}  // namespace

const Family kBeit = beit("beit", {"beit.", "", "module.beit."});
const Family kData2vecVision = beit("data2vec-vision", {"data2vec_vision.", "", "module.data2vec_vision."});

}  // namespace locus::families
