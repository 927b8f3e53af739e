#include "models/engine/paired_halves.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/engine/sentence.h"
#include "models/families/list.h"
#include "models/formats/tensor_table.h"
#include "models/text/tokenizer_files.h"
#include "models/transformer/block.h"

namespace locus::models {

namespace {

using families::CheckpointFiles;

// The number of a matrix's outputs, which no field of config.json gives; 0 where the tensor is absent: reading its values
// then names it.
std::int64_t outputs_of(const CheckpointFiles& checkpoint, const std::string& name) {
  const formats::TensorInfo* const tensor = checkpoint.find(name);
  return tensor == nullptr || tensor->shape.empty() ? 0 : tensor->shape.front();
}

Result<at::Tensor> values_of(const CheckpointFiles& checkpoint, const std::string& name,
                             const std::vector<std::int64_t>& shape) {
  return step_tensor(checkpoint.tensors, name, shape, checkpoint.path);
}

Result<DenseStep> dense_of(const CheckpointFiles& checkpoint, const std::string& name, std::int64_t inputs,
                           std::int64_t outputs, bool bias) {
  DenseStep step;
  LOCUS_TRY(step.weight, values_of(checkpoint, name + ".weight", {outputs, inputs}));
  if (bias) {
    LOCUS_TRY(step.bias, values_of(checkpoint, name + ".bias", {outputs}));
  }
  return step;
}

Result<LayerNormStep> norm_of(const CheckpointFiles& checkpoint, const std::string& name,
                              const transformer::Spec& spec) {
  LayerNormStep step;
  LOCUS_TRY(step.weight, values_of(checkpoint, name + ".weight", {spec.width}));
  LOCUS_TRY(step.bias, values_of(checkpoint, name + ".bias", {spec.width}));
  step.eps = spec.norm_eps;
  return step;
}

// PyTorch's attention keeps the rows of q, k and v in one matrix.
Result<ProbeStep> probe_of(const CheckpointFiles& checkpoint, const std::string& head, const transformer::Spec& spec) {
  const std::int64_t width = spec.width;
  ProbeStep step;
  step.heads = spec.first().attention.heads;
  step.activation = spec.first().feed_forward.activation;
  if (width % step.heads != 0) {
    return bad_input(
        "expected a width that the heads divide, found " + std::to_string(width) + " and " + std::to_string(step.heads),
        checkpoint.path.string());
  }
  LOCUS_TRY(const at::Tensor probe, values_of(checkpoint, head + "probe", {1, 1, width}));
  LOCUS_TRY(const at::Tensor weight, values_of(checkpoint, head + "attention.in_proj_weight", {3 * width, width}));
  LOCUS_TRY(const at::Tensor bias, values_of(checkpoint, head + "attention.in_proj_bias", {3 * width}));
  const auto part = [&](std::int64_t n) {
    return DenseStep{weight.narrow(0, n * width, width), bias.narrow(0, n * width, width), {}};
  };
  step.probe = probe.view({width});
  step.query = part(0);
  step.key = part(1);
  step.value = part(2);
  const std::int64_t inner = outputs_of(checkpoint, head + "mlp.fc1.weight");
  LOCUS_TRY(step.output, dense_of(checkpoint, head + "attention.out_proj", width, width, true));
  LOCUS_TRY(step.norm, norm_of(checkpoint, head + "layernorm", spec));
  LOCUS_TRY(step.up, dense_of(checkpoint, head + "mlp.fc1", width, inner, true));
  LOCUS_TRY(step.down, dense_of(checkpoint, head + "mlp.fc2", inner, width, true));
  return step;
}

bool is_siglip(const CheckpointFiles& checkpoint) {
  return families::model_type(checkpoint).starts_with("siglip");
}

// CLIP's files before the id was corrected say 2, and their largest id ends a text; MetaCLIP 2's end is 2.
Result<EndTokenStep> end_token(const CheckpointFiles& checkpoint) {
  LOCUS_TRY(const formats::Config config, families::group(checkpoint.config, "text_config"));
  LOCUS_TRY(const std::int64_t id, config.integer("eos_token_id", 49407));
  if (id < 0) {
    return bad_input("expected 0 or more, found " + std::to_string(id), config.context("eos_token_id"));
  }
  return EndTokenStep{families::model_type(checkpoint) == "clip" && id == 2 ? -1 : id};
}

// The state of the last token, which is padding in a text that is filled up.
Result<std::vector<SentenceSteps::Step>> siglip_text(const CheckpointFiles& checkpoint, const transformer::Spec& spec) {
  const std::string head = "text_model.head";
  LOCUS_TRY(DenseStep dense, dense_of(checkpoint, head, spec.width, outputs_of(checkpoint, head + ".weight"), true));
  return std::vector<SentenceSteps::Step>{PoolStep{{Pooling::kLast}}, std::move(dense), NormaliseStep()};
}

Result<std::vector<SentenceSteps::Step>> clip_text(const CheckpointFiles& checkpoint, const transformer::Spec& spec) {
  std::vector<SentenceSteps::Step> steps;
  if (families::model_type(checkpoint) == "chinese_clip") {
    steps.emplace_back(PoolStep{{Pooling::kFirst}});
  } else {
    LOCUS_TRY(steps.emplace_back(), end_token(checkpoint));
  }
  LOCUS_TRY(steps.emplace_back(), dense_of(checkpoint, "text_projection", spec.width,
                                           outputs_of(checkpoint, "text_projection.weight"), false));
  steps.emplace_back(NormaliseStep());
  return steps;
}

Result<std::vector<SentenceSteps::Step>> siglip_picture(const CheckpointFiles& checkpoint,
                                                        const transformer::Spec& spec) {
  LOCUS_TRY(ProbeStep probe, probe_of(checkpoint, "vision_model.head.", spec));
  return std::vector<SentenceSteps::Step>{std::move(probe), NormaliseStep()};
}

Result<std::vector<SentenceSteps::Step>> clip_picture(const CheckpointFiles& checkpoint,
                                                      const transformer::Spec& spec) {
  std::vector<SentenceSteps::Step> steps{PoolStep{{Pooling::kFirst}}};
  if (!spec.final_norm) {
    LOCUS_TRY(steps.emplace_back(), norm_of(checkpoint, "vision_model.post_layernorm", spec));
  }
  LOCUS_TRY(steps.emplace_back(), dense_of(checkpoint, "visual_projection", spec.width,
                                           outputs_of(checkpoint, "visual_projection.weight"), false));
  steps.emplace_back(NormaliseStep());
  return steps;
}

Result<double> scalar_of(const CheckpointFiles& checkpoint, const std::string& name) {
  const formats::TensorInfo* const tensor = checkpoint.find(name);
  if (tensor == nullptr || tensor->elements() != 1) {
    return bad_input("expected one number, found " + (tensor == nullptr ? "none" : formats::shape_text(tensor->shape)),
                     checkpoint.path.string() + ": tensor " + name);
  }
  LOCUS_TRY(const at::Tensor value, values_of(checkpoint, name, tensor->shape));
  const double number = value.to(at::kDouble).item<double>();
  if (!std::isfinite(number)) {
    return bad_input("expected a finite number, found another", checkpoint.path.string() + ": tensor " + name);
  }
  return number;
}

// A logit scale is stored as its logarithm. What is read replaces the parts only once all of it is.
Status read_half(const CheckpointFiles& checkpoint, const transformer::Spec& spec, CheckpointParts& parts) {
  const bool siglip = is_siglip(checkpoint);
  const auto read = spec.is_image() ? (siglip ? siglip_picture : clip_picture) : (siglip ? siglip_text : clip_text);
  LOCUS_TRY(std::vector<SentenceSteps::Step> steps, read(checkpoint, spec));
  LOCUS_TRY(const double scale, scalar_of(checkpoint, "logit_scale"));
  if (siglip) {
    LOCUS_TRY(parts.logit_bias, scalar_of(checkpoint, "logit_bias"));
  }
  parts.logit_scale = std::exp(scale);
  parts.sentence = SentenceSteps(std::move(steps));
  return {};
}

// The tensor that makes one vector of a half's states. A half without it is a tower that gives states alone.
std::string projection_of(const CheckpointFiles& checkpoint, bool image) {
  return is_siglip(checkpoint) ? (image ? "vision_model.head.probe" : "text_model.head.weight")
                               : (image ? "visual_projection.weight" : "text_projection.weight");
}

}  // namespace

Status open_half(const CheckpointFiles& checkpoint, families::Plan& plan, CheckpointParts& parts) {
  if (!families::has_two_halves(checkpoint) || plan.spec.head || checkpoint.find("logit_scale") == nullptr ||
      checkpoint.find(projection_of(checkpoint, plan.spec.is_image())) == nullptr) {
    return {};
  }
  const Status read = read_half(checkpoint, plan.spec, parts);
  if (!read.ok() && read.error().code == ErrorCode::kUnsupported) {
    plan.warnings.push_back(read.error().describe() + " (no vector is computed)");
    return {};
  }
  return read;
}

Status open_padding(const CheckpointFiles& checkpoint, CheckpointParts& parts) {
  if (parts.options.overrides.half.empty() || !is_siglip(checkpoint) || !parts.tokenizer) {
    return {};
  }
  LOCUS_TRY(const text::TokenizerConfig config, text::read_tokenizer_config(checkpoint.folder));
  const auto named = config.special.find("pad");
  const std::string name = named == config.special.end() ? "" : named->second;
  const Result<std::vector<text::Token>> tokens = parts.tokenizer->encode(name, false);
  if (name.empty() || !tokens.ok() || tokens->size() != 1 || !parts.tokenizer->is_special(tokens->front().id)) {
    parts.unread = bad_input("pad_token: expected a special token, with which texts are filled up, found " +
                                 (name.empty() ? "none" : shown(name)),
                             (checkpoint.folder / "tokenizer_config.json").string());
    return {};
  }
  parts.padded_length = parts.transformer->spec().trained_length;
  parts.pad_id = tokens->front().id;
  return {};
}

}  // namespace locus::models
