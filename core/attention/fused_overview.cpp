// FusedScores::overview(): the exact mean or maximum of each pixel's cells.
#include <algorithm>
#include <cmath>

#include "core/attention/fused_parts.h"
#include "core/attention/tasks.h"

namespace locus::attention {

namespace {

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// Lanes that share a pixel row.
struct Run {
  std::int64_t row = 0;  // of the task's pixel rows
  Range lanes;
};

std::vector<Run> runs_of(const Pixels& rows, Range cells, std::int64_t first_row) {
  std::vector<Run> runs;
  for (std::int64_t cell = cells.begin; cell < cells.end;) {
    const std::int64_t row = rows.of(cell);
    const std::int64_t end = std::min(rows.begin(row + 1), cells.end);
    runs.push_back({row - first_row, {cell - cells.begin, end - cells.begin}});
    cell = end;
  }
  return runs;
}

float folded(const Lanes& values, Range lanes, bool mean) {
  float folded = mean ? 0.0F : -kUnbounded;
  for (std::int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    const float value = values[static_cast<std::size_t>(lane)];
    folded = mean ? folded + value : std::max(folded, value);
  }
  return folded;
}

// Cells of the columns that the lanes see.
std::int64_t seen(const RowScores& scores, Range lanes, Range columns) {
  std::int64_t count = 0;
  for (std::int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    count += std::max<std::int64_t>(0, std::min<std::int64_t>(columns.end, scores.last()[lane]) -
                                           std::max<std::int64_t>(columns.begin, scores.first()[lane]));
  }
  return count;
}

}  // namespace

Status FusedScores::overview(Quantity quantity, std::int64_t head, const Pixels& rows, const Pixels& columns,
                             Range band, Reduction reduction, Field& field, const StopToken& stop) const {
  const Rectangle rectangle{quantity, head, rows.cells, columns.cells};
  const bool mean = reduction == Reduction::kMean;
  const bool logarithms = quantity == Quantity::kWeight && head != kMeanHead;
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, kLanes * rows.count / rows.cells.size());

  const auto reduce = [&](Range pixel_rows, Range cells, Scratch& scratch) {
    const LaneKernels& kernels = lane_kernels();
    const auto tokens = tokens_of(cells);
    const std::vector<Run> runs = runs_of(rows, cells, pixel_rows.begin);
    scan(
        rectangle, tokens, scratch,
        [&](RowScores& scores, float* values, Range chunk) {
          if (logarithms && mean) {
            kernels.exponentiate(values, chunk.size(), kNoShift.data());
          }
          const bool whole = scores.all_visible(chunk);
          if (!whole) {
            kernels.hide(values, chunk.size(), chunk.begin, scores.first(), scores.last(), mean ? 0.0F : -kUnbounded);
          }
          for (std::int64_t begin = chunk.begin; begin < chunk.end;) {
            const std::int64_t pixel = columns.of(begin);
            const std::int64_t end = std::min(columns.begin(pixel + 1), chunk.end);
            alignas(64) Lanes reduced;
            reduced.fill(mean ? 0.0F : -kUnbounded);
            (mean ? kernels.sum : kernels.maximum)(values + (begin - chunk.begin) * kLanes, end - begin,
                                                   reduced.data());
            for (const Run& run : runs) {
              const std::int64_t count =
                  whole ? run.lanes.size() * (end - begin) : seen(scores, run.lanes, {begin, end});
              if (count > 0) {
                scratch.pixels.take(run.row * columns.count + pixel, folded(reduced, run.lanes, mean), count);
              }
            }
            begin = end;
          }
        },
        false);
  };

  return run_tasks<Scratch>(
      (band.size() + rows_a_task - 1) / rows_a_task, stop, [&](std::int64_t task, Scratch& scratch) {
        const std::int64_t begin = band.begin + task * rows_a_task;
        const Range pixel_rows{begin, std::min(begin + rows_a_task, band.end)};
        scratch.pixels.begin(pixel_rows.size() * columns.count, mean);
        const std::int64_t end_row = rows.begin(pixel_rows.end);
        for (std::int64_t row = rows.begin(pixel_rows.begin); row < end_row && !stop.stop_requested(); row += kLanes) {
          reduce(pixel_rows, {row, std::min(row + kLanes, end_row)}, scratch);
        }
        scratch.pixels.finish([&](std::int64_t pixel, double value) {
          field.values[static_cast<std::size_t>((pixel_rows.begin - band.begin) * columns.count + pixel)] =
              static_cast<float>(logarithms && !mean ? std::exp(value) : value);
        });
      });
}

}  // namespace locus::attention
