#include "core/analysis/cell_means.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/analysis/cell_blocks.h"
#include "core/analysis/distance_bias.h"
#include "core/attention/lane_kernels.h"
#include "core/attention/mask.h"
#include "core/attention/score_field.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

// ---- the cells of a field

using Marks = std::span<const MarkedCells::Mark>;

Marks marks_of(const MarkedCells* marks, std::size_t block) {
  return marks == nullptr ? Marks() : marks->of_block(block);
}

Status add_fused(const attention::FusedScores& fused, const CellGrid& grid, const MarkedCells* marks, std::size_t heads,
                 std::vector<BlockSums>& blocks, const StopToken& stop) {
  std::vector<BlockAdder> adders;
  adders.reserve(blocks.size());
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    adders.emplace_back(grid, blocks[n], marks_of(marks, n / heads));
  }
  return fused.each_chunk(
      [&](std::int64_t task, const attention::LaneChunk& chunk) {
        BlockAdder& adder = adders[static_cast<std::size_t>(task)];
        attention::RowScores& scores = chunk.scores;
        const Cells cells{chunk.rows, chunk.columns, scores.first(), scores.last(), scores.all_visible(chunk.columns)};
        if (chunk.columns.end == scores.visible().end) {
          adder.begin(chunk.rows, scores.visible());
        }
        adder.add_logits(cells, scores.logits());
        attention::lane_kernels().add_row(scores.logits(), chunk.columns.size(), chunk.log_sums, -1.0F);
        adder.add_weights(cells, scores.logits());
        if (chunk.columns.begin == scores.visible().begin) {
          adder.finish(chunk.rows);
        }
      },
      stop);
}

// (columns, 64) of (R, K) scores.
void to_lanes(const at::Tensor& scores, Range columns, float* lanes) {
  std::fill_n(lanes, columns.size() * kLanes, 0.0F);
  const auto from = scores.accessor<float, 2>();
  for (std::int64_t row = 0; row < scores.size(0); ++row) {
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      lanes[(column - columns.begin) * kLanes + row] = from[row][column];
    }
  }
}

// Where scores are had tile by tile: (h, R, K) logits and logarithms of weights of one block of rows.
void add_tiles(const attention::ScoreField& field, const CellGrid& grid, Range rows, Range columns,
               const at::Tensor& logits, const at::Tensor& log_weights, Marks marks, BlockSums* blocks) {
  std::array<std::int32_t, kLanes> first{};
  std::array<std::int32_t, kLanes> last{};
  for (std::int64_t lane = 0; lane < rows.size(); ++lane) {
    const Range seen = field.mask().columns({rows.begin + lane, rows.begin + lane + 1}, grid.length());
    first[static_cast<std::size_t>(lane)] = static_cast<std::int32_t>(seen.begin);
    last[static_cast<std::size_t>(lane)] = static_cast<std::int32_t>(seen.end);
  }
  attention::LaneBuffer lanes;
  lanes.resize(kChunk * kLanes);
  for (std::int64_t head = 0; head < logits.size(0); ++head) {
    BlockAdder adder(grid, blocks[head], marks);
    adder.begin(rows, columns);
    Cells cells{rows, {}, first.data(), last.data(), false};
    for (std::int64_t end = columns.end; end > columns.begin; end -= kChunk) {
      cells.columns = {std::max(columns.begin, end - kChunk), end};
      const Range tile{cells.columns.begin - columns.begin, cells.columns.end - columns.begin};
      to_lanes(logits[head], tile, lanes.data());
      adder.add_logits(cells, lanes.data());
      to_lanes(log_weights[head], tile, lanes.data());
      adder.add_weights(cells, lanes.data());
    }
    adder.finish(rows);
  }
}

Status add_computed(const attention::ScoreField& field, const CellGrid& grid, const MarkedCells* marks,
                    std::vector<BlockSums>& blocks, const StopToken& stop) {
  const at::NoGradGuard no_grad;
  const std::int64_t heads = field.source().heads();
  for (std::int64_t begin = 0; begin < grid.length(); begin += kLanes) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const Range rows{begin, std::min(begin + kLanes, grid.length())};
    const Range columns = field.mask().columns(rows, grid.length());
    at::Tensor carry;
    auto scores = field.source().scores(attention::Quantity::kLogit, {0, heads}, rows, columns, carry);
    if (!scores.ok() && scores.error().code != ErrorCode::kUnsupported) {
      return scores.error();
    }
    carry = at::Tensor();
    LOCUS_TRY(at::Tensor weights,
              field.source().scores(attention::Quantity::kWeight, {0, heads}, rows, columns, carry));
    // A visible cell without a logit (−∞, hard attention's others) has none to add.
    const at::Tensor logits = scores.ok() ? at::nan_to_num(scores->to(at::kCPU), 0.0, 0.0, 0.0).contiguous()
                                          : at::full({heads, rows.size(), columns.size()}, kNaN, at::kFloat);
    add_tiles(field, grid, rows, columns, logits, weights.to(at::kCPU).log().contiguous(),
              marks_of(marks, static_cast<std::size_t>(begin / kLanes)), blocks.data() + begin / kLanes * heads);
  }
  return {};
}

// ---- means

void divide(std::vector<double>& sums, const std::vector<double>& cells) {
  for (std::size_t n = 0; n < sums.size(); ++n) {
    sums[n] = cells[n] > 0 ? sums[n] / cells[n] : kNaN;
  }
}

// The blocks of one head, from the first rows on, as a map of means.
void write_map(const CellGrid& grid, const std::vector<BlockSums>& blocks, std::size_t head, std::size_t heads,
               std::vector<double>& map) {
  constexpr std::int64_t kTile = 8;  // pixels a side: blocks hold their columns, the map its rows
  const std::int64_t size = grid.map_size();
  const std::vector<double>& shares = grid.pixel_shares();
  std::int64_t done = 0;  // rows that another block has added to
  for (std::size_t n = head; n < blocks.size(); n += heads) {
    const BlockSums& block = blocks[n];
    const std::int64_t height = block.pixel_rows.size();
    for (std::int64_t row = 0; row < height; ++row) {
      const std::int64_t place = block.pixel_rows.begin + row;
      if (place >= done) {
        std::fill_n(map.begin() + place * size, size, kNaN);
      }
    }
    for (std::int64_t left = 0; left < block.pixel_columns.size(); left += kTile) {
      const std::int64_t right = std::min(left + kTile, block.pixel_columns.size());
      for (std::int64_t row = 0; row < height; ++row) {
        const std::int64_t place = (block.pixel_rows.begin + row) * size + block.pixel_columns.begin;
        const bool shared = block.pixel_rows.begin + row < done;
        for (std::int64_t column = left; column < right; ++column) {
          const auto at = static_cast<std::size_t>(place + column);
          const double mean = block.map[static_cast<std::size_t>(column * height + row)] * shares[at];
          map[at] = shared && !std::isnan(map[at]) ? map[at] + mean : mean;
        }
      }
    }
    done = block.pixel_rows.end;
  }
}

void add_habits(const attention::StatisticSums& sums, double queries, HeadStatistics& statistics) {
  statistics.entropy += sums.entropy / queries;
  statistics.relative_entropy += sums.relative / queries;
  statistics.mean_distance += sums.distance / queries;
  statistics.previous_token += sums.previous / queries;
  statistics.first_token += sums.first / queries;
  statistics.self += sums.self / queries;
}

// From the sums of weights by distance, the first key's among them. `first`: weight on it of the queries from 64 on.
double far_of(const CellGrid& grid, const std::vector<double>& weight, double first, bool causal) {
  static_assert(kFarTokens == kLanes, "the first key's weights are known by blocks of rows");
  const std::int64_t queries = causal ? grid.length() - kFarTokens : grid.length();
  if (grid.length() <= kFarTokens) {
    return kNaN;
  }
  double sum = -first;
  for (std::size_t bin = grid.bin_of(kFarTokens); bin < grid.bins(); ++bin) {
    sum += weight[bin];
  }
  return std::max(sum / static_cast<double>(queries), 0.0);
}

// The blocks of one head, in their order.
CellMeans means_of(const CellGrid& grid, const std::vector<BlockSums>& blocks, std::size_t head, std::size_t heads,
                   bool causal) {
  CellMeans means;
  double first = 0;
  means.weight.resize(grid.bins());
  means.logit.resize(grid.bins());
  BlockSums bias;
  std::vector<double> received(static_cast<std::size_t>(grid.length()));
  for (std::size_t n = head; n < blocks.size(); n += heads) {
    const BlockSums& block = blocks[n];
    add_habits(block.habits, static_cast<double>(grid.length() - 1), means.statistics);
    for (std::size_t bin = 0; bin < block.weight.size(); ++bin) {
      means.weight[bin] += block.weight[bin];
      means.logit[bin] += block.logit[bin];
    }
    for (std::size_t key = 0; key < means.sink_weight.size(); ++key) {
      means.sink_weight[key] += block.sink_weight[key];
      means.sink_share[key] += block.sink_over[key];
    }
    bias.near += block.near;
    bias.near_squares += block.near_squares;
    bias.far += block.far;
    bias.far_squares += block.far_squares;
    means.largest = std::max(means.largest, block.largest);
    means.marked += block.marked / static_cast<double>(grid.length());
    first += n >= heads ? block.habits.first : 0;
    for (std::size_t key = 0; key < block.received.size(); ++key) {
      received[static_cast<std::size_t>(block.keys.begin) + key] += block.received[key];
    }
  }
  means.statistics.sink = grid.sinks().largest(received);
  means.far = far_of(grid, means.weight, first, causal);
  divide(means.weight, grid.bin_cells());
  divide(means.logit, grid.bin_cells());
  for (std::size_t key = 0; key < means.sink_weight.size(); ++key) {
    const double queries = grid.sink_queries()[key];
    means.sink_weight[key] = queries > 0 ? means.sink_weight[key] / queries : kNaN;
    means.sink_share[key] = queries > 0 ? means.sink_share[key] / queries : kNaN;
  }
  means.statistics.gate_selectivity = kNaN;
  if (!grid.has_bias()) {
    means.bias_mean = means.bias_deviation = kNaN;
    return means;
  }
  means.bias_mean = bias.near - bias.far;
  means.bias_deviation =
      std::sqrt(std::max(bias.near_squares - bias.near * bias.near + bias.far_squares - bias.far * bias.far, 0.0));
  return means;
}

}  // namespace

Result<std::vector<CellMeans>> cell_means(const attention::ScoreField& field, const CellGrid& grid,
                                          const MapVisitor& visit, StopToken stop, const MarkedCells* marks) {
  const auto heads = static_cast<std::size_t>(field.source().heads());
  std::vector<BlockSums> blocks(heads * static_cast<std::size_t>((grid.length() + kLanes - 1) / kLanes));
  const auto* const computed = field.source().computed();
  const auto fused = computed == nullptr ? nullptr : computed->fused(field.mask());
  const Status added = fused != nullptr && fused->has(attention::Quantity::kWeight)
                           ? add_fused(*fused, grid, marks, heads, blocks, stop)
                           : add_computed(field, grid, marks, blocks, stop);
  LOCUS_CHECK(added);
  std::vector<CellMeans> means;
  std::vector<double> map(grid.pixel_shares().size());
  for (std::size_t head = 0; head < heads; ++head) {
    means.push_back(means_of(grid, blocks, head, heads, field.mask().causal));
    if (grid.map_size() > 0) {
      write_map(grid, blocks, head, heads, map);
      visit(head, map);
    }
  }
  return means;
}

namespace {

constexpr std::int64_t kSingle = 64;    // distances below it have bins of their own
constexpr std::int64_t kPerOctave = 8;  // bins beyond it
constexpr Range kNear{0, 101};          // DistanceBiasOptions'
constexpr Range kFar{10000, 10101};

// Nothing where some distance has no cell.
std::optional<std::vector<double>> weights_of(Range range, const std::vector<double>& cells) {
  std::vector<double> weights(cells.size());
  for (std::int64_t distance = range.begin; distance < range.end; ++distance) {
    const double count = cells[static_cast<std::size_t>(distance)];
    if (count <= 0) {
      return std::nullopt;
    }
    weights[static_cast<std::size_t>(distance)] = 1 / (static_cast<double>(range.size()) * count);
  }
  return weights;
}

}  // namespace

std::vector<std::int64_t> distance_edges(std::int64_t length) {
  std::vector<std::int64_t> edges;
  for (std::int64_t distance = 0; distance < std::min(length, kSingle); ++distance) {
    edges.push_back(distance);
  }
  for (std::int64_t octave = kSingle; octave < length; octave *= 2) {
    for (std::int64_t n = 0; n < kPerOctave && octave + n * octave / kPerOctave < length; ++n) {
      edges.push_back(octave + n * octave / kPerOctave);
    }
  }
  edges.push_back(length);
  return edges;
}

CellGrid::CellGrid(const attention::Mask& mask, std::int64_t length, std::int64_t map_size)
    : length_(length), map_size_(std::min(map_size, length)), edges_(distance_edges(length)), sinks_(mask, length) {
  bin_of_.resize(static_cast<std::size_t>(length));
  for (std::size_t bin = 0; bin < bins(); ++bin) {
    std::fill(bin_of_.begin() + edges_[bin], bin_of_.begin() + edges_[bin + 1], bin);
  }
  pixel_of_.resize(static_cast<std::size_t>(length));
  for (std::int64_t pixel = 0; pixel < map_size_; ++pixel) {
    std::fill(pixel_of_.begin() + pixel * length / map_size_, pixel_of_.begin() + (pixel + 1) * length / map_size_,
              pixel);
  }
  bin_cells_.resize(bins());
  if (map_size_ > 0 && length % map_size_ == 0 && attention::kLanes % (length / map_size_) == 0) {
    lanes_of_pixel_ = length / map_size_;
  }
  pixel_shares_.resize(static_cast<std::size_t>(map_size_ * map_size_));
  count(mask);
}

void CellGrid::count(const attention::Mask& mask) {
  std::vector<double> cells(static_cast<std::size_t>(length_));
  for (std::int64_t row = 0; row < length_; ++row) {
    const Range seen = mask.columns({row, row + 1}, length_);
    log_keys_.push_back(std::max(std::log(static_cast<double>(seen.size())), 1e-6));
    for (std::int64_t column = seen.begin; column < seen.end; ++column) {
      cells[static_cast<std::size_t>(std::abs(row - column))] += 1;
      if (map_size_ > 0) {
        pixel_shares_[static_cast<std::size_t>(pixel_of(row) * map_size_ + pixel_of(column))] += 1;
      }
      if (column < std::min(kSinkKeys, row)) {
        sink_queries_[static_cast<std::size_t>(column)] += 1;
      }
    }
  }
  for (double& share : pixel_shares_) {
    share = share > 0 ? 1 / share : kNaN;
  }
  for (std::int64_t distance = 0; distance < length_; ++distance) {
    bin_cells_[bin_of(distance)] += cells[static_cast<std::size_t>(distance)];
  }
  const auto [near, far] = fitting_ranges(kNear, kFar, length_);
  const auto near_weight = weights_of(near, cells);
  const auto far_weight = weights_of(far, cells);
  has_bias_ = near_weight && far_weight;
  near_weight_ = has_bias_ ? *near_weight : std::vector<double>(cells.size());
  far_weight_ = has_bias_ ? *far_weight : std::vector<double>(cells.size());
}

MarkedCells::MarkedCells(std::int64_t length) : blocks_(static_cast<std::size_t>((length + kLanes - 1) / kLanes)) {}

void MarkedCells::add(std::int64_t row, std::int64_t column) {
  blocks_[static_cast<std::size_t>(row / kLanes)].push_back(
      {static_cast<std::int32_t>(column), static_cast<std::int32_t>(row % kLanes)});
}

void MarkedCells::sort() {
  for (std::vector<Mark>& marks : blocks_) {
    std::ranges::sort(marks, {}, [](const Mark& mark) { return std::pair(mark.column, mark.lane); });
  }
}

MarkedCells after_earlier_occurrences(std::span<const std::int64_t> ids) {
  MarkedCells marks(std::ssize(ids));
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> seen;
  for (std::int64_t row = 0; row < std::ssize(ids); ++row) {
    std::vector<std::int64_t>& earlier = seen[ids[static_cast<std::size_t>(row)]];
    for (const std::int64_t place : earlier) {
      marks.add(row, place + 1);
    }
    earlier.push_back(row);
  }
  marks.sort();
  return marks;
}

Result<std::vector<SparseCell>> largest_weights(const attention::ScoreField& field, std::int64_t head,
                                                std::int64_t count, float floor, StopToken stop) {
  LOCUS_TRY(const Field map, field.map({attention::Quantity::kWeight, head, {}, {}}, std::move(stop)));
  std::vector<SparseCell> cells;
  std::vector<SparseCell> row;
  for (std::int64_t query = 0; query < map.rows; ++query) {
    row.clear();
    for (std::int64_t key = 0; key < map.columns; ++key) {
      const float weight = map.at(query, key);
      if (weight >= floor) {
        row.push_back({static_cast<std::int32_t>(query), static_cast<std::int32_t>(key), weight});
      }
    }
    if (std::ssize(row) > count) {
      std::ranges::stable_sort(row, std::ranges::greater(), &SparseCell::weight);
      row.resize(static_cast<std::size_t>(count));
      std::ranges::sort(row, {}, &SparseCell::key);
    }
    cells.insert(cells.end(), row.begin(), row.end());
  }
  return cells;
}

}  // namespace locus::analysis
