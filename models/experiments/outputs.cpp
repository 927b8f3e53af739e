#include "models/experiments/outputs.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/attention/lane_kernels.h"
#include "core/base/numbers.h"

namespace locus::models {

namespace {

constexpr std::int64_t kOutputRows = 256;  // whose soft-max is taken at once
constexpr float kNone = -std::numeric_limits<float>::infinity();

// log Σ exp of one row. Every 4,096 numbers are summed in float32, and their sums in float64.
double log_sum(const float* row, std::int64_t count) {
  using attention::kLanes;
  constexpr std::int64_t kColumns = 64;
  const attention::LaneKernels& kernels = attention::lane_kernels();
  alignas(64) std::array<float, kLanes> lanes;
  lanes.fill(kNone);
  const std::int64_t whole = count / kLanes * kLanes;
  kernels.maximum(row, whole / kLanes, lanes.data());
  const float largest = std::max(*std::max_element(lanes.begin(), lanes.end()),
                                 whole < count ? *std::max_element(row + whole, row + count) : kNone);
  if (std::isinf(largest)) {
    return std::any_of(row, row + count, [](float x) { return std::isnan(x); }) ? kNaN : static_cast<double>(largest);
  }
  alignas(64) std::array<float, kLanes> shift;
  shift.fill(largest);
  alignas(64) std::array<float, kColumns * kLanes> part;
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kColumns * kLanes) {
    const std::int64_t own = std::min(kColumns * kLanes, count - begin);
    const std::int64_t columns = (own + kLanes - 1) / kLanes;
    std::copy_n(row + begin, own, part.begin());
    std::fill_n(part.begin() + own, columns * kLanes - own, kNone);
    kernels.exponentiate(part.data(), columns, shift.data());
    lanes.fill(0);
    kernels.sum(part.data(), columns, lanes.data());
    for (const float lane : lanes) {
      sum += static_cast<double>(lane);
    }
  }
  return std::log(sum) + static_cast<double>(largest);
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
