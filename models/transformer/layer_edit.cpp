#include "models/transformer/layer_edit.h"

#include <limits>

namespace locus::transformer {

at::Tensor LayerEdit::sinks(const at::Tensor& own) const {
  if (!own.defined() || replaced.empty()) {
    return own;
  }
  return own.index_fill(0, at::tensor(replaced, at::kLong).to(own.device()), -std::numeric_limits<double>::infinity());
}

void LayerEdit::change_output(attention::Attended& attended) const {
  for (const std::int64_t head : silent) {
    attended.output.select(1, head).zero_();
  }
  for (const std::int64_t head : averaged) {
    at::Tensor own = attended.output.select(1, head);  // (B, R, D)
    own.copy_(own.mean(1, true).expand_as(own));
  }
}

}  // namespace locus::transformer
