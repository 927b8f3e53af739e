#include "core/attention/fused_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/attention/fused_parts.h"
#include "core/attention/tasks.h"

namespace locus::attention {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kKeepStep = 512;
constexpr std::int64_t kMaxKeptFloats = std::int64_t{1} << 23;  // 32 MiB

}  // namespace

FusedScores::FusedScores(RowProgram program, const at::Tensor& log_sum_exp) : program_(std::move(program)) {
  if (log_sum_exp.defined()) {
    sums_ = log_sum_exp.to(at::kCPU, at::kFloat).contiguous();
    return;
  }
  sums_ = at::empty({1, program_.heads(), program_.length()}, at::kFloat);
  known_ = std::vector<std::uint8_t>(static_cast<std::size_t>(sums_.numel()), 0);
}

bool FusedScores::has(Quantity quantity) const {
  switch (quantity) {
    case Quantity::kWeight:
    case Quantity::kLogit:
      return true;
    case Quantity::kContent:
    case Quantity::kContribution:
      return program_.has_content();
    case Quantity::kGate:
    case Quantity::kPosition:
      return program_.counts();
    case Quantity::kC2p:
    case Quantity::kP2c:
    case Quantity::kImplied:
    case Quantity::kDeviation:
    case Quantity::kCarried:
      break;
  }
  return false;
}

// ---- rows

void FusedScores::row_sums(std::int64_t head, std::span<const std::int64_t> rows, RowScores& scores,
                           float* sums) const {
  float* const own = sums_.data_ptr<float>() + head * program_.length();
  std::uint8_t* const known = known_ ? known_->data() + head * program_.length() : nullptr;
  const auto is_known = [&](std::int64_t row) { return known == nullptr || known[row] != 0; };
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      sums[n] = own[rows[n]];
    }
    if (std::all_of(rows.begin(), rows.end(), is_known)) {
      return;
    }
  }
  const LaneKernels& kernels = lane_kernels();
  alignas(64) Lanes maximum;
  alignas(64) Lanes sum{};
  alignas(64) Lanes rescale;
  maximum.fill(-kInfinity);
  scores.begin(program_, 0, head, rows);
  for (std::int64_t end = scores.visible().end; end > scores.visible().begin; end -= kChunk) {
    const Range columns{std::max(scores.visible().begin, end - kChunk), end};
    scores.chunk(columns, {});
    if (!scores.all_visible(columns)) {
      kernels.hide(scores.logits(), columns.size(), columns.begin, scores.first(), scores.last(), -kInfinity);
    }
    kernels.online_softmax_step(scores.logits(), columns.size(), std::ssize(rows), maximum.data(), sum.data(),
                                rescale.data());
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    own[rows[n]] = sums[n] = std::log(sum[n]) + maximum[n];
    known[rows[n]] = 1;
  }
}

Result<at::Tensor> FusedScores::log_sum_exp(const StopToken& stop) const {
  const std::int64_t blocks = (program_.length() + kLanes - 1) / kLanes;
  LOCUS_CHECK(run_tasks<Scratch>(program_.heads() * blocks, stop, [&](std::int64_t task, Scratch& scratch) {
    const std::int64_t begin = task / program_.heads() * kLanes;
    const auto rows = tokens_of({begin, std::min(begin + kLanes, program_.length())});
    row_sums(task % program_.heads(), rows, scratch.scores, scratch.sums.data());
  }));
  const std::lock_guard lock(mutex_);
  return sums_;
}

std::shared_ptr<const std::vector<float>> FusedScores::find_kept(std::pair<std::int64_t, std::int64_t> key) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return each.key == key; });
  if (found == kept_.end()) {
    return nullptr;
  }
  kept_.splice(kept_.begin(), kept_, found);
  return kept_.front().sums;
}

void FusedScores::keep(Kept kept) const {
  const std::lock_guard lock(mutex_);
  kept_floats_ += static_cast<std::int64_t>(kept.sums->size());
  kept_.push_front(std::move(kept));
  while (kept_floats_ > kMaxKeptFloats && kept_.size() > 1) {
    kept_floats_ -= static_cast<std::int64_t>(kept_.back().sums->size());
    kept_.pop_back();
  }
}

void FusedScores::count_to(std::int64_t column, std::int64_t head, std::int64_t first_row, RowScores& scores,
                           bool keep_sums) const {
  const auto skip = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t end = from; end > to && !scores.saturated(); end -= kChunk) {
      scores.skip({std::max(to, end - kChunk), end});
    }
  };
  const std::int64_t from = scores.visible().end;
  if (column >= from) {
    return;
  }
  if (!keep_sums) {
    skip(from, column);
    return;
  }
  // One pass over the whole rows, remembered at every boundary; saturated sums are the last ones that matter.
  auto sums = find_kept({head, first_row});
  const std::int64_t boundaries = from / kKeepStep + 1;
  if (sums == nullptr) {
    auto made = std::make_shared<std::vector<float>>(static_cast<std::size_t>(boundaries * RowScores::kSums));
    std::int64_t at = from;
    for (std::int64_t n = boundaries - 1; n >= 0; --n) {
      skip(at, n * kKeepStep);
      at = n * kKeepStep;
      std::copy_n(scores.sums(), RowScores::kSums, made->begin() + n * RowScores::kSums);
    }
    keep({{head, first_row}, made});
    sums = made;
  }
  const std::int64_t boundary = std::min((column + kKeepStep - 1) / kKeepStep, boundaries);
  if (boundary == boundaries) {
    scores.begin_sums();
    skip(from, column);
    return;
  }
  scores.set_sums(sums->data() + boundary * RowScores::kSums);
  skip(boundary * kKeepStep, column);
}

void FusedScores::scan_head(const Rectangle& rectangle, std::int64_t head, std::span<const std::int64_t> rows,
                            Scratch& scratch, const Sink& sink, bool keep_sums) const {
  RowScores& scores = scratch.scores;
  const Quantity quantity = rectangle.quantity;
  if (quantity == Quantity::kWeight) {
    row_sums(head, rows, scores, scratch.sums.data());
  }
  scores.begin(program_, 0, head, rows);
  const Range columns = scores.visible().clamped(rectangle.columns);
  const ChunkWanted wanted = wanted_for(quantity);
  if (program_.counts() && (wanted.logits || wanted.positions)) {
    count_to(columns.end, head, rows.front(), scores, keep_sums);
  }
  for (std::int64_t end = columns.end; end > columns.begin; end -= kChunk) {
    const Range chunk{std::max(columns.begin, end - kChunk), end};
    scores.chunk(chunk, wanted);
    sink(scores, values_of(scores, quantity, scratch.sums.data(), chunk.size()), chunk);
  }
}

// Weights reach the sink as logarithms, so that a maximum needs one exponential a pixel.
void FusedScores::scan(const Rectangle& rectangle, std::span<const std::int64_t> rows, Scratch& scratch,
                       const Sink& sink, bool keep_sums) const {
  if (rectangle.head != kMeanHead) {
    scan_head(rectangle, rectangle.head, rows, scratch, sink, keep_sums);
    return;
  }
  const LaneKernels& kernels = lane_kernels();
  const std::int64_t heads = program_.heads();
  const std::int64_t first = rectangle.columns.begin;
  scratch.mean.resize(rectangle.columns.size() * kLanes);
  float* const mean = scratch.mean.data();
  std::fill_n(mean, rectangle.columns.size() * kLanes, 0.0F);
  for (std::int64_t head = 0; head < heads; ++head) {
    scan_head(
        rectangle, head, rows, scratch,
        [&](RowScores& scores, float* values, Range columns) {
          if (!scores.all_visible(columns)) {
            kernels.hide(values, columns.size(), columns.begin, scores.first(), scores.last(), -kInfinity);
          }
          kernels.exponentiate(values, columns.size(), kNoShift.data());
          kernels.add_line(mean + (columns.begin - first) * kLanes, values, 1.0F / static_cast<float>(heads),
                           columns.size());
        },
        keep_sums);
  }
  const Range columns = scratch.scores.visible().clamped(rectangle.columns);
  for (std::int64_t end = columns.end; end > columns.begin; end -= kChunk) {
    const Range chunk{std::max(columns.begin, end - kChunk), end};
    sink(scratch.scores, mean + (chunk.begin - first) * kLanes, chunk);
  }
}

// ---- what is asked

Status FusedScores::map(const Rectangle& rectangle, Field& field, const StopToken& stop) const {
  // Row blocks of the map's own grid, so that what is kept of a block serves every tile that meets it.
  const std::int64_t first_block = rectangle.rows.begin / kLanes;
  const std::int64_t blocks = (rectangle.rows.end + kLanes - 1) / kLanes - first_block;
  const bool exponent = rectangle.quantity == Quantity::kWeight && rectangle.head != kMeanHead;
  return run_tasks<Scratch>(blocks, stop, [&](std::int64_t task, Scratch& scratch) {
    const std::int64_t begin = (first_block + task) * kLanes;
    const auto tokens = tokens_of({begin, std::min(begin + kLanes, program_.length())});
    const Range lanes{std::max(rectangle.rows.begin, begin) - begin, std::min(rectangle.rows.end - begin, kLanes)};
    const auto write = [&](RowScores& scores, float* values, Range columns) {
      const LaneKernels& kernels = lane_kernels();
      if (exponent) {
        kernels.exponentiate(values, columns.size(), kNoShift.data());
      }
      if (scores.all_visible(columns)) {
        // The block's first row, which may lie above the field: rows from lanes.begin on are written.
        float* const first = field.values.data() + (begin - rectangle.rows.begin) * field.columns +
                             (columns.begin - rectangle.columns.begin);
        kernels.unpack(values, columns.size(), lanes.begin, lanes.end, first, field.columns);
        return;
      }
      for (std::int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
        const std::int64_t from = std::max<std::int64_t>(columns.begin, scores.first()[lane]);
        const std::int64_t to = std::min<std::int64_t>(columns.end, scores.last()[lane]);
        for (std::int64_t column = from; column < to; ++column) {
          field.at(begin + lane - rectangle.rows.begin, column - rectangle.columns.begin) =
              values[(column - columns.begin) * kLanes + lane];
        }
      }
    };
    scan(rectangle, tokens, scratch, write, true);
  });
}

}  // namespace locus::attention
