#include "models/transformer/stem.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "core/products/linear.h"
#include "core/products/packed.h"

namespace locus::transformer {

Status Stem::make_stages() {
  for (std::size_t n = 0; n < spec_->image.before.size(); ++n) {
    LOCUS_TRY(std::unique_ptr<Stage> stage, Stage::create(*spec_, n));
    stages_.push_back(std::move(stage));
  }
  return {};
}

void Stem::collect(ParameterList& list) {
  const Spec& spec = *spec_;
  if (spec.is_image()) {
    const ImageStem& image = spec.image;
    const std::int64_t first = image.before.empty() ? spec.width : image.before.front().width;
    std::vector<std::int64_t> patch{first, image.channels, image.first_kernel(), image.first_kernel()};
    if (image.frames > 0) {
      patch.insert(patch.begin() + 2, image.frames);
    }
    list.tensor("patch.weight", patch, patch_.weight);
    if (image.patch_bias) {
      list.tensor("patch.bias", {first}, patch_.bias);
    }
    if (image.patch_norm) {
      list.norm("patch_norm", first, patch_norm_);
    }
    if (image.positions_before()) {
      const std::int64_t patches = (image.rows * image.columns) << (2 * image.before.size());
      list.tensor("before.position", {patches, first}, first_position_);
    }
    for (const std::unique_ptr<Stage>& stage : stages_) {
      stage->collect(list);
    }
    if (image.class_tokens > 2) {
      list.tensor("class_token", {image.class_tokens, spec.width}, class_token_);
    } else if (image.class_tokens > 0) {
      list.tensor("class_token", {spec.width}, class_token_);
    }
    if (image.class_tokens == 2) {
      list.tensor("distillation_token", {spec.width}, distillation_token_);
    }
    if (image.position_embedding) {
      list.tensor("patch_position", {image.rows * image.columns, spec.width}, patch_position_);
    }
    if (image.registers > 0) {
      list.tensor("register_tokens", {image.registers, spec.width}, register_tokens_);
    }
    if (image.detections > 0) {
      list.tensor("detection_tokens", {image.detections, spec.width}, detection_tokens_);
    }
  } else {
    list.matrix("embedding.weight", {spec.vocabulary, spec.token_width()}, embedding_);
    if (spec.token_types > 0) {
      list.tensor("token_type.weight", {spec.token_types, spec.token_width()}, token_type_);
    }
  }
  if (spec.embedding_norm) {
    list.norm("embedding_norm", spec.token_width(), spec.norm_weight && spec.embedding_norm_weight,
              spec.norm == Norm::kLayer && spec.norm_bias, embedding_norm_);
  }
  if (spec.embedding_width > 0) {
    list.linear("embedding_projection", spec.width, spec.embedding_width, true, embedding_projection_);
  }
  if (const LayerInputs& inputs = spec.layer_inputs; inputs.width > 0) {
    const std::int64_t all = spec.depth() * inputs.width;
    if (inputs.vocabulary > 0) {
      list.matrix("layer_inputs.embedding.weight", {inputs.vocabulary, all}, input_embedding_);
    }
    list.linear("layer_inputs.projection", all, spec.width, false, input_projection_);
    list.norm("layer_inputs.norm", inputs.width, input_norm_);
  }
}

at::Tensor Stem::layer_input(std::int64_t layer, const at::Tensor& ids, const at::Tensor& embedded) const {
  const LayerInputs& inputs = spec_->layer_inputs;
  const std::int64_t first = layer * inputs.width;
  const at::Tensor rows = products::narrow_rows(input_projection_.weight, first, first + inputs.width);
  const double scale = 1 / std::sqrt(static_cast<double>(spec_->width));
  const at::Tensor projected = norm(linear(embedded, {rows, {}}) * scale, input_norm_);
  if (inputs.vocabulary == 0) {
    return projected;
  }
  // Rows of the table hold all layers; without blocks, the part of one layer is a row of its own.
  const at::Tensor read = inputs.placeholder < 0 ? ids : ids.masked_fill(ids == inputs.placeholder, inputs.filler);
  const at::Tensor own = products::packed_of(input_embedding_) != nullptr
                             ? products::rows(input_embedding_, read).slice(-1, first, first + inputs.width)
                             : products::rows(input_embedding_.view({-1, inputs.width}), read * spec_->depth() + layer);
  return (projected + own * std::sqrt(static_cast<double>(inputs.width))) / std::numbers::sqrt2;
}

at::Tensor Stem::token_type() const {
  return token_type_.defined() ? token_type_.select(0, 0) : at::Tensor();
}

at::Tensor Stem::patch_positions(const Batch& batch, std::int64_t rows, std::int64_t columns) const {
  const ImageStem& image = spec_->image;
  if (!image.position_embedding) {
    return {};
  }
  at::Tensor grid = patch_position_.t().reshape({1, spec_->width, image.rows, image.columns});
  if (rows != image.rows || columns != image.columns) {
    grid = at::upsample_bicubic2d(grid, {rows, columns}, false);
  }
  // A patch that was moved has the embedding of its new place.
  const at::Tensor ids = batch.positions.ids.slice(0, batch.positions.prefix);
  const at::Tensor places = (ids.select(1, 0) * static_cast<double>(columns) + ids.select(1, 1)).to(at::kLong);
  if (!at::equal(places, at::arange(places.size(0), at::kLong))) {
    grid = grid.flatten(2).index_select(2, places.to(grid.device())).view(grid.sizes());
  }
  return grid;
}

at::Tensor Stem::embed_image(const Batch& batch) const {
  const ImageStem& image = spec_->image;
  const at::Tensor pixels = batch.pixels.to(patch_.weight.device());
  if (image.frames > 0) {
    const at::Tensor patches = linear(pixels, {patch_.weight.flatten(1), patch_.bias});
    return image.patch_norm ? norm(patches, patch_norm_) : patches;
  }
  at::Tensor patches = at::conv2d(pixels, patch_.weight, patch_.bias, image.first_patch(), image.padding);
  if (image.patch_norm) {
    patches = norm(patches.permute({0, 2, 3, 1}), patch_norm_).permute({0, 3, 1, 2});
  }
  if (first_position_.defined()) {
    const auto side = [&](std::int64_t patches_now) { return patches_now << image.before.size(); };
    at::Tensor grid = first_position_.t().reshape({1, -1, side(image.rows), side(image.columns)});
    if (grid.size(2) != patches.size(2) || grid.size(3) != patches.size(3)) {
      grid = at::upsample_bicubic2d(grid, {patches.size(2), patches.size(3)}, false);
    }
    patches = patches + grid;
  }
  for (const std::unique_ptr<Stage>& stage : stages_) {
    patches = (*stage)(patches.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
  }
  if (const at::Tensor grid = patch_positions(batch, patches.size(2), patches.size(3)); grid.defined()) {
    patches = patches + grid;
  }
  std::vector<at::Tensor> parts;
  for (const at::Tensor* token : {&class_token_, &distillation_token_}) {
    if (token->defined()) {
      parts.push_back(token->view({1, -1, spec_->width}).expand({patches.size(0), -1, -1}));
    }
  }
  if (register_tokens_.defined()) {
    parts.push_back(register_tokens_.unsqueeze(0).expand({patches.size(0), -1, -1}));
  }
  parts.push_back(patches.flatten(2).transpose(1, 2));
  if (detection_tokens_.defined()) {
    parts.push_back(detection_tokens_.unsqueeze(0).expand({patches.size(0), -1, -1}));
  }
  return at::cat(parts, 1);
}

at::Tensor Stem::content(const Batch& batch) const {
  if (spec_->is_image()) {
    return embed_image(batch);
  }
  // A placeholder token of a picture may have an id beyond the vocabulary.
  return products::rows(embedding_, batch.images ? batch.ids.clamp_max(spec_->vocabulary - 1) : batch.ids);
}

at::Tensor Stem::embed(const Batch& batch, const LayerEncodings& encodings, const std::vector<position::State>& states,
                       std::int64_t first) const {
  at::Tensor x = content(batch);
  if (spec_->embedding_scale != 1) {
    x = x * spec_->embedding_scale;
  }
  if (spec_->dropped_token >= 0) {
    const at::Tensor dropped = batch.ids == spec_->dropped_token;
    const at::Tensor others = 1 - dropped.to(at::kFloat).mean(-1, true).unsqueeze(-1);
    x = x.masked_fill(dropped.unsqueeze(-1), 0) / others;
  }
  x = batch.with_images(first, std::move(x));
  if (token_type_.defined()) {
    x = x + token_type();
  }
  x = spec_->early_norm ? norm(x, embedding_norm_) : x;
  return enter(encodings.added(std::move(x), states));
}

at::Tensor Stem::embedded(const at::Tensor& ids) const {
  at::Tensor x = products::rows(embedding_, ids);
  if (spec_->embedding_scale != 1) {
    x = x * spec_->embedding_scale;
  }
  x = token_type_.defined() ? x + token_type() : x;
  return spec_->early_norm ? norm(x, embedding_norm_) : x;
}

at::Tensor Stem::widened(const at::Tensor& x) const {
  return spec_->embedding_width > 0 ? linear(x, embedding_projection_) : x;
}

at::Tensor Stem::enter(const at::Tensor& x) const {
  return widened(spec_->embedding_norm && !spec_->early_norm ? norm(x, embedding_norm_) : x);
}

}  // namespace locus::transformer
