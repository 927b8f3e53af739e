#include "models/transformer/batch.h"

#include <limits>

namespace locus::transformer {

namespace {

// (1 or B, N, C).
at::Tensor of_batch(const at::Tensor& vectors) {
  return vectors.dim() == 2 ? vectors.unsqueeze(0) : vectors;
}

// Indices of the picture tokens among `count` tokens from `first` on.
at::Tensor tokens_within(const ImageRows& images, std::int64_t first, std::int64_t count) {
  return images.tokens.ge(first).logical_and(images.tokens.lt(first + count)).nonzero().flatten();
}

}  // namespace

at::Tensor LayerEdit::sinks(const at::Tensor& own) const {
  if (!own.defined() || replaced.empty()) {
    return own;
  }
  return own.index_fill(0, at::tensor(replaced, at::kLong).to(own.device()), -std::numeric_limits<double>::infinity());
}

void LayerEdit::change_output(attention::Attended& attended) const {
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    attention::Attended own;
    own.output = attended.output.narrow(0, static_cast<std::int64_t>(n), 1);  // changed in place
    sequences[n].change_output(own);
  }
  if (!sequences.empty()) {
    return;
  }
  for (const std::int64_t head : silent) {
    attended.output.select(1, head).zero_();
  }
  for (const std::int64_t head : averaged) {
    at::Tensor own = attended.output.select(1, head);  // (B, R, D)
    own.copy_(own.mean(1, true).expand_as(own));
  }
}

at::Tensor Batch::with_images(std::int64_t first, at::Tensor x) const {
  if (images == nullptr) {
    return x;
  }
  const at::Tensor own = tokens_within(*images, first, x.size(1));
  return x.index_copy(1, (images->tokens.index_select(0, own) - first).to(x.device()),
                      of_batch(images->vectors).index_select(1, own.to(x.device())));
}

at::Tensor Batch::with_images_after(std::int64_t layer, std::int64_t first, at::Tensor x) const {
  if (images == nullptr || layer >= static_cast<std::int64_t>(images->added.size())) {
    return x;
  }
  const at::Tensor own = tokens_within(*images, first, x.size(1));
  return x.index_add(1, (images->tokens.index_select(0, own) - first).to(x.device()),
                     of_batch(images->added[static_cast<std::size_t>(layer)]).index_select(1, own.to(x.device())));
}

}  // namespace locus::transformer
