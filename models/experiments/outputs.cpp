#include "models/experiments/outputs.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/experiments/exponential_sum.h"

namespace locus::models {

namespace {

constexpr std::int64_t kOutputRows = 256;  // whose soft-max is taken at once

// log Σ exp of one row.
double log_sum(const float* row, std::int64_t count) {
  const ExponentialSum found = exponential_sum(row, count);
  return std::isinf(found.largest) ? static_cast<double>(found.largest)
                                   : std::log(found.sum) + static_cast<double>(found.largest);
}

// (R) float64 log Σ exp of rows (R, V) float32 on the CPU: ATen's makes a copy of all of them.
at::Tensor log_sums(const at::Tensor& rows) {
  if (!rows.device().is_cpu()) {
    return rows.logsumexp(-1).to(at::kCPU, at::kDouble);
  }
  const at::Tensor given = rows.contiguous();
  at::Tensor sums = at::empty({given.size(0)}, at::kDouble);
  const float* const from = given.data_ptr<float>();
  double* const to = sums.data_ptr<double>();
  at::parallel_for(0, given.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      to[row] = log_sum(from + row * given.size(1), given.size(1));
    }
  });
  return sums;
}

}  // namespace

Result<OutputSums> next_token_sums(const Model& model, const Trace& trace, std::int64_t first,
                                   const std::vector<std::int64_t>& next, const std::string& what,
                                   const StopToken& stop) {
  LOCUS_TRY(const TraceData* data, data_of(trace));
  const LoadedModel* const loaded = loaded_model_of(model);
  if (loaded == nullptr || !data->before_head.defined()) {
    return unsupported(what + ": expected the predictions of every token; " + model.info().name + " gives none");
  }
  LOCUS_TRY(const transformer::Transformer* transformer, loaded->checkpoint().ready());
  const at::Tensor rows = data->before_head.slice(0, first, first + std::ssize(next));
  return output_sums(*transformer, rows, {.ids = at::tensor(next), .stop = stop});
}

Result<std::vector<double>> next_token_losses(const Model& model, const Trace& trace, std::int64_t first,
                                              const std::vector<std::int64_t>& next, const std::string& what,
                                              const StopToken& stop) {
  LOCUS_TRY(const OutputSums sums, next_token_sums(model, trace, first, next, what, stop));
  const at::Tensor nats = (sums.log_sum_exp - sums.own.to(at::kDouble)).contiguous();
  return std::vector<double>(nats.data_ptr<double>(), nats.data_ptr<double>() + nats.numel());
}

at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& ids, const std::vector<ImageSpan>& pictures) {
  const std::int64_t count = ids.size(0) - 1;
  at::Tensor losses = at::empty({count}, at::kDouble);
  for (std::int64_t begin = 0; begin < count; begin += kOutputRows) {
    const std::int64_t end = std::min(begin + kOutputRows, count);
    const at::Tensor rows = logits.slice(0, begin, end).to(at::kFloat);
    const at::Tensor own = rows.gather(1, ids.slice(0, begin + 1, end + 1).unsqueeze(1)).squeeze(1);
    losses.slice(0, begin, end).copy_(log_sums(rows) - own.to(at::kCPU, at::kDouble));
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
