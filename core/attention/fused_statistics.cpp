// FusedScores::statistics(): what head_statistics() needs of every weight and gate, in one pass over the rows; and
// each_chunk(), the same pass for others.
#include <algorithm>
#include <cmath>

#include "core/attention/fused_parts.h"
#include "core/attention/tasks.h"

namespace locus::attention {

namespace {

// Hidden cells as logarithms of weights: far enough below to be 0, and finite.
constexpr float kNoWeight = -100;

constexpr std::int64_t kBlocksAtOnce = 32;  // of 64 rows: their sums by key are kept until all are added

// The weight of `token` in a chunk of weights; 0 where it lies outside.
double weight_of(const float* weights, Range columns, std::int64_t token, std::int64_t lane) {
  return columns.contains(token) ? static_cast<double>(weights[(token - columns.begin) * kLanes + lane]) : 0;
}

void add(StatisticSums& sums, const StatisticSums& other) {
  sums.entropy += other.entropy;
  sums.relative += other.relative;
  sums.distance += other.distance;
  sums.previous += other.previous;
  sums.first += other.first;
  sums.self += other.self;
  sums.gates += other.gates;
  sums.gate_squares += other.gate_squares;
  sums.cells += other.cells;
  for (std::int64_t key = other.keys.begin; key < other.keys.end; ++key) {
    sums.received[static_cast<std::size_t>(key)] += other.received[static_cast<std::size_t>(key - other.keys.begin)];
  }
}

// Adds how much queries i ≥ 1 read of the keys of a chunk of weights, themselves left out.
void add_received(const LaneKernels& kernels, Range rows, Range columns, float* weights, StatisticSums& sums) {
  for (std::int64_t column = 0; column < (rows.size() < kLanes ? columns.size() : 0); ++column) {
    std::fill(weights + column * kLanes + rows.size(), weights + (column + 1) * kLanes, 0.0F);
  }
  alignas(64) std::array<float, kChunk> received{};
  kernels.column_sums(weights, columns.size(), received.data());
  for (std::int64_t key = columns.begin; key < columns.end; ++key) {
    const double self = rows.contains(key) ? weight_of(weights, columns, key, key - rows.begin) : 0;
    const double first = rows.begin == 0 && key > 0 ? weight_of(weights, columns, key, 0) : 0;
    sums.received[static_cast<std::size_t>(key - sums.keys.begin)] +=
        static_cast<double>(received[static_cast<std::size_t>(key - columns.begin)]) - self - first;
  }
}

// Adds the gates of a chunk, which are 0 in hidden cells.
void add_gates(const float* gates, std::int64_t columns, std::int64_t lanes, StatisticSums& sums) {
  for (std::int64_t column = 0; column < columns; ++column) {
    float sum = 0;
    float squares = 0;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const float gate = gates[column * kLanes + lane];
      sum += gate;
      squares += gate * gate;
    }
    sums.gates += static_cast<double>(sum);
    sums.gate_squares += static_cast<double>(squares);
  }
}

}  // namespace

StatisticSums FusedScores::block_statistics(std::int64_t head, Range rows, Scratch& scratch) const {
  const LaneKernels& kernels = lane_kernels();
  const auto tokens = tokens_of(rows);
  RowScores& scores = scratch.scores;
  row_sums(head, tokens, scores, scratch.sums.data());
  scores.begin(program_, 0, head, tokens);
  ChunkWanted wanted;
  wanted.gates = program_.counts();
  alignas(64) Lanes here{};
  std::copy(tokens.begin(), tokens.end(), here.begin());
  alignas(64) Lanes entropy{};
  alignas(64) Lanes distance{};
  std::array<double, kLanes> entropies{};
  const std::int64_t skipped = rows.begin == 0 ? 1 : 0;  // the first query has no choice
  StatisticSums sums;
  sums.keys = scores.visible();
  sums.received.resize(static_cast<std::size_t>(sums.keys.size()));
  for (std::int64_t end = scores.visible().end; end > scores.visible().begin; end -= kChunk) {
    const Range chunk{std::max(scores.visible().begin, end - kChunk), end};
    scores.chunk(chunk, wanted);
    float* const weights = values_of(scores, Quantity::kWeight, scratch.sums.data(), chunk.size());
    if (!scores.all_visible(chunk)) {
      kernels.hide(weights, chunk.size(), chunk.begin, scores.first(), scores.last(), kNoWeight);
    }
    if (wanted.gates && !scores.all_visible(chunk)) {  // a window hides keys that are counted
      kernels.hide(scores.gates(), chunk.size(), chunk.begin, scores.first(), scores.last(), 0);
    }
    kernels.attention_statistics(weights, chunk.size(), static_cast<float>(chunk.begin), here.data(), entropy.data(),
                                 distance.data());
    for (std::int64_t lane = skipped; lane < rows.size(); ++lane) {
      const auto n = static_cast<std::size_t>(lane);
      const std::int64_t token = rows.begin + lane;
      entropies[n] += static_cast<double>(entropy[n]);
      sums.distance += static_cast<double>(distance[n]);
      sums.self += weight_of(weights, chunk, token, lane);
      sums.previous += weight_of(weights, chunk, token - 1, lane);
      sums.first += weight_of(weights, chunk, 0, lane);
    }
    add_received(kernels, rows, chunk, weights, sums);
    if (wanted.gates) {
      add_gates(scores.gates(), chunk.size(), rows.size(), sums);
    }
  }
  for (std::int64_t lane = 0; lane < rows.size(); ++lane) {
    const auto keys = static_cast<double>(scores.last()[lane] - scores.first()[lane]);
    sums.cells += keys;
    if (lane >= skipped) {
      sums.entropy += entropies[static_cast<std::size_t>(lane)];
      sums.relative += entropies[static_cast<std::size_t>(lane)] / std::max(std::log(keys), 1e-6);
    }
  }
  return sums;
}

Status FusedScores::each_chunk(const ChunkVisitor& visit, const StopToken& stop) const {
  const std::int64_t blocks = (program_.length() + kLanes - 1) / kLanes;
  const std::int64_t heads = program_.heads();
  return run_tasks<Scratch>(heads * blocks, stop, [&](std::int64_t n, Scratch& scratch) {
    const std::int64_t task = heads * blocks - 1 - n;  // the longest first
    const std::int64_t begin = task / heads * kLanes;
    const Range rows{begin, std::min(begin + kLanes, program_.length())};
    const auto tokens = tokens_of(rows);
    RowScores& scores = scratch.scores;
    row_sums(task % heads, tokens, scores, scratch.sums.data());
    scores.begin(program_, 0, task % heads, tokens);
    for (std::int64_t end = scores.visible().end; end > scores.visible().begin; end -= kChunk) {
      const Range columns{std::max(scores.visible().begin, end - kChunk), end};
      scores.chunk(columns, {});
      visit(task, {task % heads, rows, columns, scores, scratch.sums.data()});
    }
  });
}

Result<std::vector<StatisticSums>> FusedScores::statistics(const StopToken& stop) const {
  const std::int64_t blocks = (program_.length() + kLanes - 1) / kLanes;
  const std::int64_t heads = program_.heads();
  std::vector<StatisticSums> sums(static_cast<std::size_t>(heads));
  for (StatisticSums& head : sums) {
    head.received.resize(static_cast<std::size_t>(program_.length()));
  }
  // Each block is summed by itself, then all in their order: the same whatever the threads.
  for (std::int64_t behind = blocks; behind > 0; behind -= kBlocksAtOnce) {
    const std::int64_t count = std::min(behind, kBlocksAtOnce);
    std::vector<StatisticSums> parts(static_cast<std::size_t>(heads * count));
    LOCUS_CHECK(run_tasks<Scratch>(heads * count, stop, [&](std::int64_t task, Scratch& scratch) {
      const std::int64_t begin = (behind - 1 - task / heads) * kLanes;  // the longest first
      parts[static_cast<std::size_t>(task)] =
          block_statistics(task % heads, {begin, std::min(begin + kLanes, program_.length())}, scratch);
    }));
    for (std::size_t task = 0; task < parts.size(); ++task) {
      add(sums[task % sums.size()], parts[task]);
    }
  }
  return sums;
}

}  // namespace locus::attention
