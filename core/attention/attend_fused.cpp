#include "core/attention/attend_fused.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/attention/one_query.h"
#include "core/attention/row_scores.h"
#include "core/attention/tasks.h"

namespace locus::attention {

namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();
// Between two words of how far it is: some 0.1 s of one core. Fewer would leave threads idle at the end of each part.
constexpr double kPartCells = 1U << 26;

// Working memory of one thread.
struct Scratch {
  RowScores scores;
  LaneBuffer output;  // columns of V and of the state × 64
  alignas(64) std::array<float, kLanes> maximum{};
  alignas(64) std::array<float, kLanes> sum{};
  alignas(64) std::array<float, kLanes> rescale{};
};

class Fused {
 public:
  Fused(const Attention& attention, RowProgram program, Range rows)
      : value_(attention.value),
        state_(attention.state_values),
        mask_(attention.mask),
        keys_(attention.prepared.key.size(2)),
        program_(std::move(program)),
        rows_(rows) {
    const at::Tensor& query = attention.prepared.query;
    batch_ = query.size(0);
    // Tokens before heads: what the output projection reads, without a copy.
    output_ = at::empty({batch_, rows.size(), program_.heads(), value_.size(-1)}, query.options()).transpose(1, 2);
    if (state_.defined()) {
      state_output_ = at::empty({batch_, program_.heads(), rows.size(), state_.size(-1)}, query.options());
    }
    log_sum_exp_ = at::empty({batch_, program_.heads(), rows.size()}, query.options());
  }

  Result<Attended> run(const StopToken& stop, const Progress& progress) {
    const std::int64_t blocks = (rows_.size() + kLanes - 1) / kLanes;
    const double whole = progress ? cells(0, blocks) : 0;
    double done = 0;
    for (std::int64_t from = 0; from < blocks;) {
      std::int64_t to = blocks;
      if (progress) {
        double part = 0;
        for (to = from; to < blocks && part < kPartCells; ++to) {
          part += cells(to, to + 1);
        }
        done += part;
      }
      LOCUS_CHECK(run_blocks(blocks, from, to, stop));
      report(progress, done / std::max(whole, 1.0), {});
      from = to;
    }
    Attended attended;
    attended.output = output_;
    attended.state_values = state_output_;
    attended.log_sum_exp = log_sum_exp_;
    return attended;
  }

 private:
  // The longest rows first, so that no thread is left with a long one at the end; heads of one block together.
  Range rows_of(std::int64_t block, std::int64_t blocks) const {
    const std::int64_t begin = rows_.begin + (blocks - 1 - block) * kLanes;
    return {begin, std::min(begin + kLanes, rows_.end)};
  }

  // The cells of these blocks, in all heads together.
  double cells(std::int64_t from, std::int64_t to) const {
    const std::int64_t blocks = (rows_.size() + kLanes - 1) / kLanes;
    double total = 0;
    for (std::int64_t block = from; block < to; ++block) {
      const Range rows = rows_of(block, blocks);
      total += static_cast<double>(rows.size()) * static_cast<double>(mask_.columns(rows, keys_).size());
    }
    return total * static_cast<double>(batch_ * program_.heads());
  }

  Status run_blocks(std::int64_t blocks, std::int64_t from, std::int64_t to, const StopToken& stop) {
    const std::int64_t heads = program_.heads();
    const std::int64_t each = batch_ * heads;
    return run_tasks<Scratch>(each * (to - from), stop, [&](std::int64_t task, Scratch& scratch) {
      attend(task / heads % batch_, task % heads, rows_of(from + task / each, blocks), scratch);
    });
  }

  void attend(std::int64_t batch, std::int64_t head, Range rows, Scratch& scratch) {
    const LaneKernels& kernels = lane_kernels();
    const TokenVectors value(value_, batch, head, program_.heads());
    const TokenVectors state(state_, batch, head, program_.heads());
    scratch.output.resize((value.width + state.width) * kLanes);
    float* const output = scratch.output.data();
    std::fill_n(output, (value.width + state.width) * kLanes, 0.0F);
    scratch.maximum.fill(kHidden);
    scratch.sum.fill(0);
    RowScores& scores = scratch.scores;
    scores.begin(program_, batch, head, rows);
    for (std::int64_t end = scores.visible().end; end > scores.visible().begin; end -= kChunk) {
      const Range columns{std::max(scores.visible().begin, end - kChunk), end};
      scores.chunk(columns, {});
      if (!scores.all_visible(columns)) {
        kernels.hide(scores.logits(), columns.size(), columns.begin, scores.first(), scores.last(), kHidden);
      }
      if (kernels.online_softmax_step(scores.logits(), columns.size(), rows.size(), scratch.maximum.data(),
                                      scratch.sum.data(), scratch.rescale.data())) {
        kernels.scale(output, value.width + state.width, scratch.rescale.data());
      }
      take(scores.logits(), value, columns, rows.size(), output);
      take(scores.logits(), state, columns, rows.size(), output + value.width * kLanes);
    }
    finish(batch, head, rows, scratch);
  }

  // output[e][l] += Σ_j weights[j][l] · values[j][e].
  static void take(const float* weights, const TokenVectors& values, Range columns, std::int64_t lanes, float* output) {
    if (values.width > 0) {
      lane_kernels().product(weights, values.at(columns.begin), values.depth_stride, values.token_stride,
                             columns.size(), values.width, lanes, true, output);
    }
  }

  void finish(std::int64_t batch, std::int64_t head, Range rows, Scratch& scratch) {
    const std::int64_t first = rows.begin - rows_.begin;
    float* const sums = log_sum_exp_.data_ptr<float>() + (batch * program_.heads() + head) * rows_.size() + first;
    for (std::int64_t lane = 0; lane < rows.size(); ++lane) {
      const auto n = static_cast<std::size_t>(lane);
      sums[lane] = std::log(scratch.sum[n]) + scratch.maximum[n];
      scratch.rescale[n] = 1.0F / scratch.sum[n];
    }
    const std::int64_t width = value_.size(-1);
    const LaneKernels& kernels = lane_kernels();
    float* const output = scratch.output.data();
    if (width > 0) {
      kernels.scale(output, width, scratch.rescale.data());
      kernels.unpack(output, width, 0, rows.size(), place(output_, batch, head, first), output_.stride(2));
    }
    if (state_.defined()) {
      kernels.scale(output + width * kLanes, state_.size(-1), scratch.rescale.data());
      kernels.unpack(output + width * kLanes, state_.size(-1), 0, rows.size(), place(state_output_, batch, head, first),
                     state_output_.stride(2));
    }
  }

  static float* place(const at::Tensor& tensor, std::int64_t batch, std::int64_t head, std::int64_t row) {
    return tensor.data_ptr<float>() + batch * tensor.stride(0) + head * tensor.stride(1) + row * tensor.stride(2);
  }

  const at::Tensor& value_;
  const at::Tensor& state_;
  Mask mask_;
  std::int64_t keys_;
  RowProgram program_;
  Range rows_;
  std::int64_t batch_ = 1;
  at::Tensor output_;
  at::Tensor state_output_;
  at::Tensor log_sum_exp_;
};

bool fusable(const at::Tensor& tensor) {
  return !tensor.defined() || (tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat);
}

}  // namespace

std::optional<Result<Attended>> attend_fused(const Attention& attention, const StreamingOptions& options) {
  if (options.row_block > 0 || options.column_block > 0 || !fusable(attention.value) ||
      !fusable(attention.state_values)) {
    return std::nullopt;
  }
  std::optional<RowProgram> program =
      RowProgram::make(attention.encoding, attention.prepared, attention.layer, attention.mask, attention.soft_cap);
  if (!program) {
    return std::nullopt;
  }
  const Range rows = options.rows.empty() ? Range{0, program->length()} : options.rows;
  if (rows.size() == 1 && !program->counts() && !options.stop.stop_requested()) {
    if (std::optional<Attended> attended = attend_one_query(attention, rows.begin)) {
      return *std::move(attended);
    }
  }
  return Fused(attention, *std::move(program), rows).run(options.stop, options.progress);
}

}  // namespace locus::attention
