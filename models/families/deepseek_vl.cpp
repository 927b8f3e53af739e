// DeepSeek-VL: SigLIP's tower with its last norm, two projections with a GELU between them, and Llama's text.
#include "models/families/engine/vision.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_deepseek_vl(const CheckpointFiles& /*checkpoint*/, const Config& /*vision*/, Plan& text,
                          VisionPlan& plan) {
  keep_table(plan.tower.spec);
  plan.connector.states = {plan.tower.spec.depth()};
  plan.connector.steps = {linear_step("linear_1", text.spec.width, true),
                          activation_step(transformer::Activation::kGelu),
                          linear_step("linear_2", text.spec.width, true)};
  plan.names = {{"connector.linear_1", "linear1"}, {"connector.linear_2", "linear2"}};
  return {};
}

const VisionTable kDeepseekVlTable{
    .tower = siglip_tower_of,
    .tower_tensors = {{"model.vision_model."}, {}},
    .text_tensors = {{"model.language_model."}, "embed_tokens.weight"},
    .connector_tensors = {{"model.aligner."}, "linear1.weight"},
    .finish = finish_deepseek_vl,
};

}  // namespace

const Family kDeepseekVl{.name = "deepseek_vl", .read = [](const CheckpointFiles& checkpoint) {
                           return read_vision(checkpoint, kDeepseekVlTable);
                         }};

}  // namespace locus::families
