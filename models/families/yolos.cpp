// YOLOS: ViT with detection tokens behind the patches, and learned positions that are added again behind every layer but
// the last. What reads the detection tokens, classes and boxes, is not computed.
#include <algorithm>

#include "core/base/listed.h"
#include "models/families/engine/heads.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

const std::vector<std::string_view> kYolosPrefixes{"vit.", "", "module.vit."};
constexpr const char* kYolosAnchor = "embeddings.cls_token";

// Sets the patch grid from the height and width in image_size.
Status shape_yolos(const Config& config, transformer::Spec& spec) {
  constexpr const char* kField = "image_size";
  constexpr std::int64_t kLargest = std::int64_t{1} << 24;
  std::vector<std::int64_t> size{512, 864};
  if (config.has(kField)) {
    LOCUS_TRY(size, config.integers(kField));
  }
  const std::int64_t patch = spec.image.patch;
  const bool fits = size.size() == 2 && std::all_of(size.begin(), size.end(), [&](std::int64_t side) {
                      return patch >= 1 && side >= patch && side <= kLargest;
                    });
  if (!fits) {
    return bad_input("expected a height and a width of at least one patch of " + std::to_string(patch) +
                         " pixels, found " + listed(size, [](std::int64_t side) { return std::to_string(side); }),
                     config.context(kField));
  }
  spec.image.rows = size.front() / patch;
  spec.image.columns = size.back() / patch;
  spec.trained_length = 1 + spec.image.rows * spec.image.columns + spec.image.detections;
  return {};
}

Status finish_yolos(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  transformer::Spec& spec = plan.spec;
  if (spec.image.detections < 1) {
    return bad_input("expected at least 1, found " + std::to_string(spec.image.detections),
                     config.context("num_detection_tokens"));
  }
  LOCUS_CHECK(shape_yolos(config, spec));
  LOCUS_TRY(spec.image.positions_after_layers, config.boolean("use_mid_position_embeddings", true));
  learned_grid(spec);
  spec.encodings.front().options.set("after_rows", spec.image.detections);
  const std::string encoder = checkpoint.prefix_of(kYolosPrefixes, kYolosAnchor) + "encoder.";
  const std::int64_t tables = spec.image.positions_after_layers ? spec.depth() - 1 : 0;
  for (std::int64_t n = 0; n < tables; ++n) {
    for (const char* const name : {"mid_position_embeddings", "interpolation.mid_position_embeddings"}) {
      plan.name("position.after_layers." + std::to_string(n) + ".position_embedding", encoder + name, Layout::kReshaped,
                {n, tables});
    }
  }
  leave_out_parts(checkpoint, {"class_labels_classifier", "bbox_predictor"}, plan);
  return {};
}

}  // namespace

const Family kYolos = [] {
  Family family = vit("yolos");
  family.fixed = [](Draft& draft) {
    fix_vit(draft);
    draft.spec.head = false;
    draft.spec.encodings = {{"learned", {}}};
  };
  family.set({{"num_detection_tokens"}, slot::detections, std::int64_t{100}});
  family.finish = finish_yolos;
  family.prefixes = kYolosPrefixes;
  family.anchor = kYolosAnchor;
  family.outside = {};
  family.names.push_back({"detection_tokens", "embeddings.detection_tokens", Layout::kReshaped});
  family.harmless = {"auxiliary_loss",        "bbox_cost", "bbox_loss_coefficient", "class_cost", "eos_coefficient",
                     "giou_loss_coefficient", "giou_cost"};
  return family;
}();

}  // namespace locus::families
