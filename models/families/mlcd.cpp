// MLCD's image tower: CLIP's, whose patches have rotary positions; the class token turns by trained angles. The output
// is every token's state before the last norm, as in transformers 5.
#include "models/families/engine/rope.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_mlcd(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t size, config.integer("image_size", 336));
  LOCUS_CHECK(shape_grid(plan.spec, size, config));
  LOCUS_TRY(const double base, axial_base(config, 10000.0, plan.spec.first().attention.head_width));
  plan.spec.head = false;
  leave_out_last_norm(plan);
  plan.spec.encodings = {{"rope-axial",
                          {{"base", base},
                           {"first", std::string("rows")},
                           {"layout", std::string("half")},
                           {"class_angles", std::int64_t{1}}}}};
  return {};
}

Family mlcd(std::string_view name) {
  using namespace slot;
  Family family = clip_vision(name);
  family.set({{"hidden_size"}, width, std::int64_t{1664}});
  family.set({{"num_hidden_layers"}, layers, std::int64_t{48}});
  family.set({{"num_attention_heads"}, heads, std::int64_t{16}});
  family.set({{"intermediate_size"}, inner, std::int64_t{8192}});
  family.set({{"hidden_act"}, activation, "gelu"});
  family.set({{"patch_size"}, patch, std::int64_t{14}});
  // Keys have all heads whatever num_key_value_groups says: with another number the library's own shapes do not fit. It
  // fails too where the file has is_causal.
  family.fixed_fields = {{"num_key_value_groups", {1.0}}, {"is_causal"}};
  family.finish = finish_mlcd;
  std::erase_if(family.names, [](const Name& row) { return row.parameter == "position.position_embedding"; });
  family.names.push_back({"position.class_angles", "class_pos_emb"});
  return family;
}

}  // namespace

const Family kMlcd = mlcd("mlcd");
const Family kMlcdVision = mlcd("mlcd_vision_model");

}  // namespace locus::families
