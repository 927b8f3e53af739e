#include "models/transformer/head.h"

#include <utility>

#include "core/products/linear.h"
#include "core/products/packed.h"

namespace locus::transformer {

void Head::collect(ParameterList& list) {
  const Spec& spec = *spec_;
  if (spec.final_norm) {
    list.norm("final_norm", spec.width, final_norm_);
  }
  if (!spec.head) {
    if (spec.state_width > 0) {
      list.linear("state_projection", spec.state_width, spec.width, false, state_projection_);
    }
    return;
  }
  if (spec.head_transform) {
    const std::int64_t first = spec.head_inner > 0 ? spec.head_inner : spec.head_width();
    list.linear("head_transform", first, spec.width, spec.head_transform_bias, head_transform_);
    if (spec.head_inner > 0) {
      list.linear("head_second", spec.head_width(), first, spec.head_transform_bias, head_second_);
    }
    if (spec.head_transform_norm) {
      list.norm("head_norm", spec.head_width(), head_norm_);
    }
  }
  if (spec.is_image() || !spec.tied_head) {
    const std::int64_t read = (spec.pool == Pool::kClassAndPatches ? 2 : 1) * spec.head_width();
    list.matrix("head.weight", {spec.outputs(), read}, head_.weight);
  }
  if (spec.head_bias) {
    list.tensor("head.bias", {spec.outputs()}, head_.bias);
  }
  if (spec.pool == Pool::kTwoHeads) {
    list.linear("distillation_head", spec.vocabulary, spec.width, spec.head_bias, distillation_head_);
  }
}

at::Tensor Head::pooled(const at::Tensor& x) const {
  const at::Tensor patches = x.slice(1, spec_->prefix_tokens());
  switch (spec_->pool) {
    case Pool::kClass:
      return x.narrow(1, 0, 1);
    case Pool::kPatches:
      return patches.mean(1, true);
    case Pool::kAll:
      return x.mean(1, true);
    case Pool::kClassAndPatches:
      return at::cat({x.narrow(1, 0, 1), patches.mean(1, true)}, -1);
    case Pool::kTwoHeads:
      break;
  }
  return x.narrow(1, 0, 2);
}

at::Tensor Head::states(const at::Tensor& x) const {
  const at::Tensor y = spec_->final_norm && !spec_->norm_after_pool ? norm(x, final_norm_) : x;
  return spec_->state_width > 0 ? linear(y, state_projection_) : y;
}

at::Tensor Head::transformed(at::Tensor y) const {
  const Spec& spec = *spec_;
  if (!spec.head_transform) {
    return y;
  }
  const Activation own = spec.head_inner > 0        ? Activation::kGeluTanh
                         : spec.head_transform_gelu ? Activation::kGelu
                                                    : spec.first().feed_forward.activation;
  y = activate(own, linear(y, head_transform_));
  y = spec.head_inner > 0 ? activate(own, linear(y, head_second_)) : y;
  return spec.head_transform_norm ? norm(y, head_norm_) : y;
}

at::Tensor Head::finished(at::Tensor logits) const {
  if (spec_->logit_scale != 1) {
    logits = logits * spec_->logit_scale;
  }
  return spec_->logit_cap > 0 ? at::tanh(logits / spec_->logit_cap) * spec_->logit_cap : logits;
}

at::Tensor Head::read(const at::Tensor& x) const {
  return transformed(spec_->final_norm && !spec_->norm_after_pool ? norm(x, final_norm_) : x);
}

at::Tensor Head::logits(const at::Tensor& read, Range outputs) const {
  const Linear all = output();
  return logits(read, {products::narrow_rows(all.weight, outputs.begin, outputs.end),
                       all.bias.defined() ? all.bias.slice(0, outputs.begin, outputs.end) : all.bias});
}

Linear Head::output_rows(const at::Tensor& outputs) const {
  const Linear all = output();
  return {products::stored_rows(all.weight, outputs),
          all.bias.defined() ? all.bias.index_select(0, outputs.to(all.bias.device())) : all.bias};
}

at::Tensor Head::whole(const at::Tensor& x) const {
  const Spec& spec = *spec_;
  if (!spec.is_image()) {
    return finished(linear(read(x), output()));
  }
  at::Tensor y = pooled(spec.final_norm && !spec.norm_after_pool ? norm(x, final_norm_) : x);
  y = spec.final_norm && spec.norm_after_pool ? norm(y, final_norm_) : y;
  if (spec.pool == Pool::kTwoHeads) {
    return (linear(y.narrow(1, 0, 1), head_) + linear(y.narrow(1, 1, 1), distillation_head_)) / 2;
  }
  return finished(linear(transformed(y), output()));
}

}  // namespace locus::transformer
