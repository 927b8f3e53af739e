#include "models/experiments/outputs.h"

#include <algorithm>

#include "core/base/numbers.h"

namespace locus::models {

namespace {

constexpr std::int64_t kOutputRows = 256;  // whose soft-max is taken at once

}  // namespace

at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& ids, const std::vector<ImageSpan>& pictures) {
  const std::int64_t count = ids.size(0) - 1;
  at::Tensor losses = at::empty({count}, at::kDouble);
  for (std::int64_t begin = 0; begin < count; begin += kOutputRows) {
    const std::int64_t end = std::min(begin + kOutputRows, count);
    const at::Tensor rows = logits.slice(0, begin, end).to(at::kFloat);
    const at::Tensor own = rows.gather(1, ids.slice(0, begin + 1, end + 1).unsqueeze(1)).squeeze(1);
    losses.slice(0, begin, end).copy_(rows.logsumexp(-1) - own);
  }
  leave_out_cells(pictures, losses.data_ptr<double>(), count);
  return losses;
}

double mean_loss(const at::Tensor& logits, const at::Tensor& ids, const std::vector<ImageSpan>& pictures) {
  return token_losses(logits, ids, pictures).nanmean().item<double>();
}

void leave_out_cells(const std::vector<ImageSpan>& pictures, double* losses, std::int64_t count) {
  for (const ImageSpan& picture : pictures) {
    for (std::int64_t cell = 0; cell < picture.count; ++cell) {
      if (const std::int64_t token = picture.token(cell); token > 0 && token <= count) {
        losses[token - 1] = kNaN;
      }
    }
    for (std::int64_t row = 0; picture.ended && row < picture.rows; ++row) {
      if (const std::int64_t token = picture.row_end(row); token > 0 && token <= count) {
        losses[token - 1] = kNaN;
      }
    }
  }
}

double mean_divergence(const at::Tensor& first, const at::Tensor& second) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < first.size(0); begin += kOutputRows) {
    const std::int64_t end = std::min(begin + kOutputRows, first.size(0));
    const at::Tensor before = first.slice(0, begin, end).to(at::kDouble).log_softmax(-1);
    const at::Tensor after = second.slice(0, begin, end).to(at::kDouble).log_softmax(-1);
    sum += (before.exp() * (before - after)).sum().item<double>();
  }
  return std::max(sum / static_cast<double>(first.size(0)), 0.0);
}

}  // namespace locus::models
