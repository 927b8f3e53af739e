// FusedScores::sample(): a few cells, without computing those between them.
#include <algorithm>

#include "core/attention/fused_parts.h"
#include "core/attention/tasks.h"

namespace locus::attention {

// Keys between the sampled ones matter only while a row's gates are counted.
void FusedScores::sample_head(const Rectangle& rectangle, std::int64_t head, std::span<const std::int64_t> rows,
                              std::span<const std::int64_t> columns, Scratch& scratch) const {
  const LaneKernels& kernels = lane_kernels();
  RowScores& scores = scratch.scores;
  const bool weights = rectangle.quantity == Quantity::kWeight;
  if (weights) {
    row_sums(head, rows, scores, scratch.sums.data());
  }
  scores.begin(program_, 0, head, rows);
  const ChunkWanted wanted = wanted_for(rectangle.quantity);
  const Range visible = scores.visible();
  const auto index_of = [&](std::int64_t key) {
    return std::lower_bound(columns.begin(), columns.end(), key) - columns.begin();
  };
  const auto take = [&](std::int64_t from, std::int64_t count, auto&& column_of) {
    const float* const values = values_of(scores, rectangle.quantity, scratch.sums.data(), column_of(count - 1) + 1);
    for (std::int64_t n = 0; n < count; ++n) {
      std::copy_n(values + column_of(n) * kLanes, kLanes, scratch.few.data() + (from + n) * kLanes);
    }
    if (weights) {
      kernels.exponentiate(scratch.few.data() + from * kLanes, count, kNoShift.data());
    }
  };
  const std::int64_t begin = index_of(visible.begin);
  std::int64_t counted = visible.end;  // the keys from here on
  for (std::int64_t end = index_of(visible.end); end > begin;) {
    if (scores.settled(wanted)) {
      const std::int64_t from = std::max(begin, end - kChunk);
      const std::span<const std::int64_t> few =
          columns.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(end - from));
      scores.scattered(few, wanted);
      take(from, end - from, [](std::int64_t n) { return n; });
      end = from;
      continue;
    }
    const Range chunk{std::max(visible.begin, counted - kChunk), counted};
    const std::int64_t from = index_of(chunk.begin);
    if (from == end) {
      scores.skip(chunk);
    } else {
      scores.chunk(chunk, wanted);
      take(from, end - from, [&](std::int64_t n) { return columns[static_cast<std::size_t>(from + n)] - chunk.begin; });
    }
    counted = chunk.begin;
    end = from;
  }
}

Status FusedScores::sample(const Rectangle& rectangle, std::span<const std::int64_t> rows,
                           std::span<const std::int64_t> columns, Field& field, const StopToken& stop) const {
  const LaneKernels& kernels = lane_kernels();
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto width = static_cast<std::int64_t>(columns.size());
  const std::int64_t heads = program_.heads();
  return run_tasks<Scratch>((count + kLanes - 1) / kLanes, stop, [&](std::int64_t task, Scratch& scratch) {
    const std::int64_t first = task * kLanes;
    const std::int64_t lanes = std::min(kLanes, count - first);
    const auto block = rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(lanes));
    scratch.few.resize(width * kLanes);
    const float* values = scratch.few.data();
    if (rectangle.head == kMeanHead) {
      scratch.mean.resize(width * kLanes);
      std::fill_n(scratch.mean.data(), width * kLanes, 0.0F);
      for (std::int64_t head = 0; head < heads; ++head) {
        sample_head(rectangle, head, block, columns, scratch);
        kernels.add_line(scratch.mean.data(), scratch.few.data(), 1.0F / static_cast<float>(heads), width);
      }
      values = scratch.mean.data();
    } else {
      sample_head(rectangle, rectangle.head, block, columns, scratch);
    }
    for (std::int64_t begin = 0; begin < width; begin += kChunk) {
      const std::int64_t end = std::min(begin + kChunk, width);
      const Range keys{columns[static_cast<std::size_t>(begin)], columns[static_cast<std::size_t>(end - 1)] + 1};
      if (program_.mask().covers({block.front(), block.back() + 1}, keys)) {
        kernels.unpack(values + begin * kLanes, end - begin, 0, lanes, &field.at(first, begin), field.columns);
        continue;
      }
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        for (std::int64_t n = begin; n < end; ++n) {
          if (program_.mask().visible(block[static_cast<std::size_t>(lane)], columns[static_cast<std::size_t>(n)])) {
            field.at(first + lane, n) = values[n * kLanes + lane];
          }
        }
      }
    }
  });
}

}  // namespace locus::attention
