// ViT and DeiT under timm's names: `blocks.N.attn.qkv`, config.json in timm's hub form.
#include "models/transformer/families/timm.h"

#include <array>
#include <cmath>

#include "models/transformer/families/list.h"
#include "models/transformer/families/vit.h"

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

// A tensor's size in a dimension. Errors: kBadInput for a tensor that is not there or has fewer dimensions.
Result<std::int64_t> size_of(const Checkpoint& checkpoint, const std::string& name, std::size_t dimension) {
  const checkpoint::TensorInfo* tensor = checkpoint.find(name);
  if (tensor == nullptr || tensor->shape.size() <= dimension) {
    return bad_input("expected weights with at least " + std::to_string(dimension + 1) + " dimensions, found none",
                     checkpoint.path.string() + ": tensor " + name);
  }
  return tensor->shape[dimension];
}

std::int64_t count_blocks(const Checkpoint& checkpoint) {
  std::int64_t count = 0;
  while (count < 4096 && checkpoint.find(layer_prefix("blocks.", count) + "norm1.weight") != nullptr) {
    ++count;
  }
  return count;
}

// timm's ViTs have heads of 64 channels, but for the smallest ones that say so.
std::int64_t usual_heads(std::int64_t width) {
  return width % 64 == 0 ? width / 64 : 1;
}

Status read_shape(const Checkpoint& checkpoint, const Config& arguments, transformer::Spec& spec) {
  LOCUS_TRY(const std::int64_t width, size_of(checkpoint, "patch_embed.proj.weight", 0));
  LOCUS_TRY(spec.image.channels, size_of(checkpoint, "patch_embed.proj.weight", 1));
  LOCUS_TRY(const std::int64_t patch, size_of(checkpoint, "patch_embed.proj.weight", 2));
  LOCUS_TRY(spec.inner, size_of(checkpoint, "blocks.0.mlp.fc1.weight", 0));
  LOCUS_TRY(spec.vocabulary, size_of(checkpoint, "head.weight", 0));
  LOCUS_TRY(spec.width, arguments.integer("embed_dim", width));
  LOCUS_TRY(spec.image.patch, arguments.integer("patch_size", patch));
  LOCUS_TRY(spec.layers, arguments.integer("depth", count_blocks(checkpoint)));
  LOCUS_TRY(spec.heads, arguments.integer("num_heads", usual_heads(spec.width)));
  if (arguments.has("mlp_ratio")) {
    LOCUS_TRY(const double ratio, arguments.number("mlp_ratio", 4.0));
    spec.inner = static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(spec.width)));
  }
  spec.qkv_bias = checkpoint.find("blocks.0.attn.qkv.bias") != nullptr;
  spec.layer_scale = checkpoint.find("blocks.0.gamma_1") != nullptr || checkpoint.find("blocks.0.ls1.gamma") != nullptr;
  return divide_heads(spec, checkpoint.config);
}

// How timm turns a picture into pixels.
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
Result<std::int64_t> image_size(const Checkpoint& checkpoint, const Config& arguments) {
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

void bind(const Checkpoint& checkpoint, Plan& plan) {
  const transformer::Spec& spec = plan.spec;
  plan.linear("patch", "patch_embed.proj", true);
  plan.bind("class_token", "cls_token", Layout::kReshaped);
  const bool gamma = checkpoint.find("blocks.0.gamma_1") != nullptr;
  for (std::int64_t n = 0; n < spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix("blocks.", n);
    plan.norm(to + "attention_norm", from + "norm1");
    plan.linear(to + "attention.qkv", from + "attn.qkv", spec.qkv_bias);
    plan.linear(to + "attention.output", from + "attn.proj", true);
    plan.norm(to + "feed_forward_norm", from + "norm2");
    plan.linear(to + "feed_forward.up", from + "mlp.fc1", true);
    plan.linear(to + "feed_forward.down", from + "mlp.fc2", true);
    if (spec.layer_scale) {
      plan.bind(to + "attention_scale", from + (gamma ? "gamma_1" : "ls1.gamma"));
      plan.bind(to + "feed_forward_scale", from + (gamma ? "gamma_2" : "ls2.gamma"));
    }
  }
  plan.norm("final_norm", "norm");
  plan.linear("head", "head", true);
}

Result<Plan> read(const Checkpoint& checkpoint) {
  LOCUS_TRY(Plan plan, read_timm(checkpoint));
  learned_grid(plan.spec);
  plan.bind("position.position_embedding", "pos_embed", Layout::kReshaped);
  return plan;
}

bool recognises(const Checkpoint& checkpoint) {
  return model_type(checkpoint).empty() && checkpoint.find("patch_embed.proj.weight") != nullptr &&
         checkpoint.find("pos_embed") != nullptr;
}

}  // namespace

const Family kVitTimm{"vit-timm", recognises, read};

std::string architecture(const Checkpoint& checkpoint) {
  return text_or_nothing(checkpoint.config, "architecture");
}

Result<Plan> read_timm(const Checkpoint& checkpoint) {
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(const Config arguments, group(checkpoint.config, "model_args"));
  LOCUS_CHECK(read_shape(checkpoint, arguments, spec));
  LOCUS_TRY(const std::int64_t size, image_size(checkpoint, arguments));
  LOCUS_CHECK(shape_vit(spec, size, checkpoint.config));
  spec.norm_eps = 1e-6;
  spec.activation = transformer::Activation::kGelu;
  spec.qkv = transformer::QkvLayout::kFused;
  LOCUS_TRY(plan.preprocessing, read_preprocessing(checkpoint.config, size));
  LOCUS_CHECK(check_spec(spec, checkpoint.config));
  bind(checkpoint, plan);
  return plan;
}

}  // namespace locus::families
