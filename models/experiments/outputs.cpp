#include "models/experiments/outputs.h"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/experiments/fields.h"

namespace locus::models {

namespace {

constexpr std::int64_t kOutputRows = 256;  // whose soft-max is taken at once

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
