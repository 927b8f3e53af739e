// ViT and DeiT under timm's names: `blocks.N.attn.qkv`, config.json in timm's hub form.
#include "models/families/list.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace locus::families {

namespace {

// The number that follows `mark` in an architecture's name: "vit_small_patch16_224" -> 16 after "patch".
std::int64_t number_after(const std::string& name, const std::string& mark, std::int64_t fallback) {
  const std::size_t at = name.find(mark);
  const std::size_t begin = at == std::string::npos ? name.size() : at + mark.size();
  std::int64_t value = 0;
  for (std::size_t n = begin; n < name.size() && name[n] >= '0' && name[n] <= '9' && value < 100000; ++n) {
    value = 10 * value + (name[n] - '0');
  }
  return value > 0 ? value : fallback;
}

// A tensor's size in a dimension. Errors: kBadInput for a tensor that is missing or has fewer dimensions.
Result<std::int64_t> size_of(const CheckpointFiles& checkpoint, const std::string& name, std::size_t dimension) {
  const formats::TensorInfo* tensor = checkpoint.find(name);
  if (tensor == nullptr || tensor->shape.size() <= dimension) {
    return bad_input("expected weights with at least " + std::to_string(dimension + 1) + " dimensions, found none",
                     checkpoint.path.string() + ": tensor " + name);
  }
  return tensor->shape[dimension];
}

std::int64_t count_blocks(const CheckpointFiles& checkpoint) {
  std::int64_t count = 0;
  while (count < 4096 && checkpoint.find(layer_prefix("blocks.", count) + "norm1.weight") != nullptr) {
    ++count;
  }
  return count;
}

// timm's ViTs have heads of 64 channels, except for the smallest ones, which have their own field.
std::int64_t usual_heads(std::int64_t width) {
  return width % 64 == 0 ? width / 64 : 1;
}

// num_classes 0: the output is the states.
bool headless(const Config& config) {
  const Result<std::int64_t> classes = config.integer("num_classes", -1);
  return classes.ok() && *classes == 0;
}

// Input of the head: "token", "avg", or "" where the file does not contain it. Errors: kUnsupported for another value.
Result<std::string> pooling(const CheckpointFiles& checkpoint, const Config& arguments) {
  const Config& says = arguments.has("global_pool") ? arguments : checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(says, {{"global_pool", {"token", "avg"}}}));
  return says.text("global_pool", "");
}

// Sets class and register tokens, and the input of the head.
Status read_prefix(const CheckpointFiles& checkpoint, const Config& arguments, transformer::Spec& spec) {
  spec.image.class_tokens = checkpoint.find("cls_token") != nullptr ? 1 : 0;
  if (checkpoint.find("reg_token") != nullptr) {
    LOCUS_TRY(spec.image.registers, size_of(checkpoint, "reg_token", 1));
  }
  const bool after = checkpoint.find("fc_norm.weight") != nullptr;
  LOCUS_TRY(const std::string pool, pooling(checkpoint, arguments));
  if (pool == "token" && spec.image.class_tokens == 0) {
    return bad_input("expected avg for weights without cls_token, found token",
                     checkpoint.config.context("global_pool"));
  }
  if (pool == "avg" || (pool.empty() && (after || spec.image.class_tokens == 0))) {
    spec.pool = transformer::Pool::kPatches;
    spec.norm_after_pool = after;
  }
  return {};
}

// Arguments that tensor names and shapes imply as well. Errors: kBadInput where they differ.
Status check_arguments(const CheckpointFiles& checkpoint, const Config& arguments, const Draft& draft) {
  const transformer::Spec& spec = draft.spec;
  for (const auto& [field, there] :
       {std::pair{"reg_tokens", spec.image.registers}, std::pair{"class_token", spec.image.class_tokens},
        std::pair{"qkv_bias", std::int64_t{draft.qkv_bias}},
        std::pair{"init_values", std::int64_t{draft.layer.layer_scale}}}) {
    if (!arguments.has(field)) {
      continue;
    }
    std::int64_t asked = 0;
    if (arguments.kind(field) == "true or false") {
      LOCUS_TRY(const bool flag, arguments.boolean(field));
      asked = flag ? 1 : 0;
    } else {
      LOCUS_TRY(const double number, arguments.number(field));
      const bool counts = field == std::string_view("reg_tokens");
      asked = counts ? static_cast<std::int64_t>(std::clamp(number, -1.0, 1e6)) : number != 0 ? 1 : 0;
    }
    if (asked != there) {
      return bad_input("expected " + std::to_string(there) + ", as the tensors have, found " + std::to_string(asked),
                       arguments.context(field));
    }
  }
  LOCUS_TRY(const std::int64_t classes, checkpoint.config.integer("num_classes", spec.vocabulary));
  if (spec.head && classes != spec.vocabulary) {
    return bad_input(
        "expected " + std::to_string(spec.vocabulary) + ", as the head has, found " + std::to_string(classes),
        checkpoint.config.context("num_classes"));
  }
  return {};
}

Status read_shape(const CheckpointFiles& checkpoint, const Config& arguments, Draft& draft) {
  transformer::Spec& spec = draft.spec;
  std::int64_t& inner = draft.layer.feed_forward.inner;
  LOCUS_TRY(const std::int64_t width, size_of(checkpoint, "patch_embed.proj.weight", 0));
  LOCUS_TRY(spec.image.channels, size_of(checkpoint, "patch_embed.proj.weight", 1));
  LOCUS_TRY(const std::int64_t patch, size_of(checkpoint, "patch_embed.proj.weight", 2));
  LOCUS_TRY(inner, size_of(checkpoint, "blocks.0.mlp.fc1.weight", 0));
  if (checkpoint.find("head.weight") != nullptr || !headless(checkpoint.config)) {
    LOCUS_TRY(spec.vocabulary, size_of(checkpoint, "head.weight", 0));
  } else {
    spec.head = false;
  }
  LOCUS_TRY(spec.width, arguments.integer("embed_dim", width));
  LOCUS_TRY(spec.image.patch, arguments.integer("patch_size", patch));
  LOCUS_TRY(draft.count, arguments.integer("depth", count_blocks(checkpoint)));
  LOCUS_TRY(draft.layer.attention.heads, arguments.integer("num_heads", usual_heads(spec.width)));
  if (arguments.has("mlp_ratio")) {
    constexpr double kWidest = 1 << 24;
    LOCUS_TRY(const double ratio, arguments.number("mlp_ratio", 4.0));
    const double wanted = std::round(ratio * static_cast<double>(spec.width));
    if (!(wanted >= 1 && wanted <= kWidest)) {
      return bad_input("expected a ratio that gives an inner width, found another", arguments.context("mlp_ratio"));
    }
    inner = static_cast<std::int64_t>(wanted);
  }
  LOCUS_CHECK(read_prefix(checkpoint, arguments, spec));
  // Packed SwiGLU: both matrices are rows of fc1.
  const formats::TensorInfo* const down = checkpoint.find("blocks.0.mlp.fc2.weight");
  const formats::TensorInfo* const up = checkpoint.find("blocks.0.mlp.fc1.weight");
  if (down != nullptr && down->shape.size() == 2 && up->shape[0] == 2 * down->shape[1]) {
    inner = down->shape[1];
    draft.layer.feed_forward.gated = true;
  }
  draft.qkv_bias = checkpoint.find("blocks.0.attn.qkv.bias") != nullptr;
  draft.layer.layer_scale =
      checkpoint.find("blocks.0.gamma_1") != nullptr || checkpoint.find("blocks.0.ls1.gamma") != nullptr;
  LOCUS_TRY(draft.layer.attention.head_width,
            divided_heads(spec.width, draft.layer.attention.heads, checkpoint.config));
  return check_arguments(checkpoint, arguments, draft);
}

// timm's image preprocessing.
Result<image::Preprocessing> read_preprocessing(const Config& config, std::int64_t size) {
  image::Preprocessing preprocessing;
  LOCUS_TRY(const Config trained, group(config, "pretrained_cfg"));
  const auto triple = [&](const char* name, std::array<double, 3>& values) -> Status {
    if (!trained.has(name)) {
      return {};
    }
    LOCUS_TRY(const std::vector<double> found, trained.numbers(name));
    if (found.size() != 3) {
      return bad_input("expected three numbers, found " + std::to_string(found.size()), trained.context(name));
    }
    values = {found[0], found[1], found[2]};
    return {};
  };
  preprocessing.mean = {0.485, 0.456, 0.406};
  preprocessing.deviation = {0.229, 0.224, 0.225};
  LOCUS_CHECK(triple("mean", preprocessing.mean));
  LOCUS_CHECK(triple("std", preprocessing.deviation));
  LOCUS_TRY(const double kept, trained.number("crop_pct", 0.875));
  if (!(kept > 0 && kept <= 1)) {
    return bad_input("field crop_pct: expected a number in (0, 1]", config.file());
  }
  LOCUS_CHECK(check_fixed_fields(trained, {{"crop_mode", {"center"}}}));
  LOCUS_TRY(const std::string interpolation, trained.text("interpolation", "bicubic"));
  preprocessing.interpolation = interpolation == "bilinear"  ? image::Interpolation::kBilinear
                                : interpolation == "nearest" ? image::Interpolation::kNearest
                                                             : image::Interpolation::kBicubic;
  preprocessing.shortest_edge = true;
  preprocessing.height = preprocessing.width = static_cast<std::int64_t>(std::floor(static_cast<double>(size) / kept));
  preprocessing.center_crop = true;
  preprocessing.crop_height = preprocessing.crop_width = size;
  return preprocessing;
}

// The image's edge: model_args, then pretrained_cfg.input_size [3, S, S], then the name's last number.
Result<std::int64_t> image_size(const CheckpointFiles& checkpoint, const Config& arguments) {
  const std::string name = architecture(checkpoint);
  const std::size_t last = name.rfind('_');
  std::int64_t size = last == std::string::npos ? 224 : number_after(name.substr(last), "_", 224);
  constexpr const char* kField = "pretrained_cfg.input_size";
  if (checkpoint.config.has(kField)) {
    LOCUS_TRY(const std::vector<std::int64_t> input, checkpoint.config.integers(kField));
    if (input.size() != 3) {
      return bad_input("expected [channels, height, width], found " + std::to_string(input.size()) + " numbers",
                       checkpoint.config.context(kField));
    }
    size = input[1];
  }
  return arguments.integer("img_size", size);
}

const std::vector<Name> kNames{{"patch", "patch_embed.proj"},
                               {"class_token", "cls_token", Layout::kReshaped},
                               {"layers.N.attention_norm", "blocks.N.norm1"},
                               {"layers.N.attention.qkv", "blocks.N.attn.qkv"},
                               {"layers.N.attention.output", "blocks.N.attn.proj"},
                               {"layers.N.feed_forward_norm", "blocks.N.norm2"},
                               {"layers.N.feed_forward.{up,down}", "blocks.N.mlp.fc{1,2}"},
                               {"layers.N.attention_scale", "blocks.N.ls1.gamma"},
                               {"layers.N.attention_scale", "blocks.N.gamma_1"},
                               {"layers.N.feed_forward_scale", "blocks.N.ls2.gamma"},
                               {"layers.N.feed_forward_scale", "blocks.N.gamma_2"},
                               {"register_tokens", "reg_token", Layout::kReshaped},
                               {"layers.N.feed_forward.gate", "blocks.N.mlp.fc1", Layout::kAsIs, {0, 2}},
                               {"final_norm", "norm"},
                               {"final_norm", "fc_norm"},
                               {"head", "head"}};

// pos_embed has a row per patch, and before them one for the class token, one for it and each register, or none.
Status set_positions(const CheckpointFiles& checkpoint, transformer::Spec& spec) {
  learned_grid(spec);
  if (spec.image.registers == 0 && spec.image.class_tokens == 1 && !spec.layers.front().layer_scale && spec.head) {
    return {};
  }
  LOCUS_TRY(const std::int64_t rows, size_of(checkpoint, "pos_embed", 1));
  const std::int64_t before = spec.image.class_tokens + spec.image.registers;
  const std::int64_t patches = spec.image.rows * spec.image.columns;
  constexpr const char* kField = "model_args.no_embed_class";
  LOCUS_TRY(const bool patches_alone, checkpoint.config.boolean(kField, rows == patches));
  if (before > 0 && patches_alone != (rows == patches)) {
    return bad_input("expected " + std::string(rows == patches ? "true" : "false") + ", as pos_embed has " +
                         std::to_string(rows) + " rows",
                     checkpoint.config.context(kField));
  }
  Settings& options = spec.encodings.front().options;
  options.set("class_rows", std::max<std::int64_t>(rows - spec.image.rows * spec.image.columns, 0));
  options.set("resample", std::string("bicubic-antialias"));
  return {};
}

Result<Plan> read_vit_timm(const CheckpointFiles& checkpoint) {
  LOCUS_TRY(Plan plan, read_timm(checkpoint));
  LOCUS_CHECK(set_positions(checkpoint, plan.spec));
  plan.name("position.position_embedding", "pos_embed", Layout::kReshaped);
  return plan;
}

bool recognises_timm(const CheckpointFiles& checkpoint) {
  return model_type(checkpoint).empty() && checkpoint.find("patch_embed.proj.weight") != nullptr &&
         checkpoint.find("pos_embed") != nullptr;
}

}  // namespace

const Family kVitTimm{
    .name = "vit-timm",
    .recognises = recognises_timm,
    .read = read_vit_timm,
    .harmless = {"num_features", "pretrained_cfg.classifier", "pretrained_cfg.custom_load", "pretrained_cfg.first_conv",
                 "pretrained_cfg.fixed_input_size", "pretrained_cfg.num_classes", "pretrained_cfg.tag",
                 "pretrained_cfg.url", "pretrained_cfg.file", "pretrained_cfg.hf_hub_id", "pretrained_cfg.license",
                 "pretrained_cfg.source", "pretrained_cfg.architecture"}};

std::string architecture(const CheckpointFiles& checkpoint) {
  return text_or_nothing(checkpoint.config, "architecture");
}

Result<Plan> read_timm(const CheckpointFiles& checkpoint) {
  Plan plan;
  Draft draft;
  fix_vit(draft);
  LOCUS_TRY(const Config arguments, group(checkpoint.config, "model_args"));
  // Arguments that change the result without changing a tensor's name or shape.
  LOCUS_CHECK(check_fixed_fields(
      arguments,
      {{"act_layer", {"gelu"}}, {"norm_layer", {"layernorm"}}, {"pre_norm", {false}}, {"qk_norm", {false}}}));
  LOCUS_CHECK(read_shape(checkpoint, arguments, draft));
  LOCUS_TRY(const std::int64_t size, image_size(checkpoint, arguments));
  LOCUS_CHECK(shape_grid(draft.spec, size, checkpoint.config));
  draft.spec.norm_eps = 1e-6;
  draft.layer.attention.kv_heads = kFollows;
  draft.layer.feed_forward.activation =
      draft.layer.feed_forward.gated ? transformer::Activation::kSilu : transformer::Activation::kGelu;
  LOCUS_TRY(plan.preprocessing, read_preprocessing(checkpoint.config, size));
  LOCUS_TRY(plan.spec, spec_of(std::move(draft), checkpoint.config));
  for (const Name& each : kNames) {
    plan.name(each.parameter, each.tensor, each.layout, each.piece);
  }
  for (Name& each : plan.names) {
    if (each.parameter == "layers.N.feed_forward.up" && plan.spec.first().feed_forward.gated) {
      each.piece = {1, 2};
    }
  }
  return plan;
}

}  // namespace locus::families
