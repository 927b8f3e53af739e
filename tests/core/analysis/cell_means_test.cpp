// One pass over the cells against the definitions, cell by cell from whole maps.
#include "core/analysis/cell_means.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/analysis/distance_bias.h"
#include "core/attention/score_field.h"
#include "core/base/numbers.h"
#include "tests/support/encodings.h"

namespace locus::analysis {
namespace {

using attention::Quantity;

attention::ScoreField cell_field(const std::string& name, std::int64_t length, attention::Mask mask) {
  const at::NoGradGuard no_grad;
  at::manual_seed(5);
  const position::ModelShape shape = test::shape_of(2, 8);
  std::shared_ptr<const position::PositionEncoding> encoding = test::encoding(name, {}, shape);
  position::Projections projections = test::random_projections(shape, 1, length);
  projections.query = projections.query * 3;
  const position::Prepared prepared =
      encoding->prepare(encoding->begin(position::Positions::sequence(length), 1), 0, projections);
  const attention::Attended attended =
      *attention::attend_streaming({*encoding, prepared, 0, projections.value, {}, mask});
  return {std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, attended.log_sum_exp), mask};
}

// Mean and count of numbers.
struct Mean {
  double sum = 0;
  double count = 0;
  void add(double value) {
    sum += value;
    count += 1;
  }
  double value() const { return count > 0 ? sum / count : kNaN; }
};

void expect_near(double found, double expected, double tolerance, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << what << ": " << found;
    return;
  }
  EXPECT_NEAR(found, expected, tolerance * (1 + std::abs(expected))) << what;
}

struct Twin {
  std::map<std::int64_t, Mean> weight, logit;  // by bin
  std::map<std::int64_t, Mean> pixels;
  std::map<std::int64_t, Mean> sink, over;         // by key
  std::map<std::int64_t, Mean> received;           // by key, of other queries
  std::map<std::int64_t, Mean> distance, squares;  // logits by distance
  Mean entropy, relative, away, previous, first, self;
  double largest = 0, far = 0, marked = 0;
};

// Tokens that repeat.
std::vector<std::int64_t> repeated_ids(std::int64_t length) {
  std::vector<std::int64_t> ids;
  for (std::int64_t n = 0; n < length; ++n) {
    ids.push_back(n * n % 11);
  }
  return ids;
}

Twin twin_of(const attention::ScoreField& field, std::int64_t head, std::int64_t map_size) {
  const std::int64_t length = field.source().length();
  const std::vector<std::int64_t> edges = distance_edges(length);
  const Field weights = field.map({Quantity::kWeight, head, {}, {}}).value();
  const Field logits = field.map({Quantity::kLogit, head, {}, {}}).value();
  const auto bin_of = [&](std::int64_t distance) {
    return std::upper_bound(edges.begin(), edges.end(), distance) - edges.begin() - 1;
  };
  const auto pixel_of = [&](std::int64_t token) {
    std::int64_t pixel = 0;
    while ((pixel + 1) * length / map_size <= token) {
      ++pixel;
    }
    return pixel;
  };
  const std::vector<std::int64_t> ids = repeated_ids(length);
  Twin twin;
  for (std::int64_t i = 0; i < length; ++i) {
    double entropy = 0;
    double away = 0;
    double keys = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      if (!field.mask().visible(i, j)) {
        continue;
      }
      const auto weight = static_cast<double>(weights.at(i, j));
      const auto logit = static_cast<double>(logits.at(i, j));
      const std::int64_t distance = std::abs(i - j);
      twin.weight[bin_of(distance)].add(weight);
      twin.logit[bin_of(distance)].add(logit);
      twin.distance[distance].add(logit);
      twin.squares[distance].add(logit * logit);
      if (map_size > 0) {
        twin.pixels[pixel_of(i) * map_size + pixel_of(j)].add(weight);
      }
      if (j < i && j < kSinkKeys) {
        twin.sink[j].add(weight);
        twin.over[j].add(weight > kSinkThreshold ? 1 : 0);
      }
      if (i > 0 && i != j) {
        twin.received[j].add(weight);
      }
      twin.largest = i > 0 && j > 0 ? std::max(twin.largest, weight) : twin.largest;
      twin.far += j > 0 && distance >= 64 ? weight : 0;
      if (j > 0 && j <= i) {  // the key after an earlier occurrence
        twin.marked += ids[static_cast<std::size_t>(j - 1)] == ids[static_cast<std::size_t>(i)] ? weight : 0;
      }
      entropy -= weight > 0 ? weight * std::log(weight) : 0;
      away += weight * static_cast<double>(distance);
      keys += 1;
    }
    if (i > 0) {
      twin.entropy.add(entropy);
      twin.relative.add(entropy / std::max(std::log(keys), 1e-6));  // of one key: 0
      twin.away.add(away);
      twin.previous.add(static_cast<double>(weights.at(i, i - 1)));
      twin.first.add(static_cast<double>(weights.at(i, 0)));
      twin.self.add(static_cast<double>(weights.at(i, i)));
    }
  }
  return twin;
}

// The key of the largest mean, of those that enough queries see.
std::pair<std::int64_t, double> sink_of(const Twin& twin) {
  double most = 0;
  for (const auto& [key, mean] : twin.received) {
    most = std::max(most, mean.count);
  }
  std::pair<std::int64_t, double> sink{-1, kNaN};
  for (const auto& [key, mean] : twin.received) {
    const bool seen = mean.count >= 16 && mean.count >= most / 4;
    if (seen && (sink.first < 0 || mean.value() > sink.second)) {
      sink = {key, mean.value()};
    }
  }
  return sink;
}

void expect_like_twin(const attention::ScoreField& field, std::int64_t map_size) {
  const std::int64_t length = field.source().length();
  const CellGrid grid(field.mask(), length, map_size);
  const auto cells = static_cast<std::size_t>(grid.map_size() * grid.map_size());
  std::vector<double> maps(static_cast<std::size_t>(field.source().heads()) * cells);
  const MarkedCells marks = after_earlier_occurrences(repeated_ids(length));
  const MapVisitor keep = [&](std::size_t head, std::span<const double> map) {
    ASSERT_EQ(map.size(), cells);
    std::copy(map.begin(), map.end(), maps.begin() + static_cast<std::ptrdiff_t>(head * cells));
  };
  const auto means = cell_means(field, grid, keep, {}, &marks);
  ASSERT_TRUE(means.ok()) << means.error().describe();
  ASSERT_EQ(static_cast<std::int64_t>(means->size()), field.source().heads());
  constexpr double kTolerance = 2e-5;
  for (std::int64_t head = 0; head < field.source().heads(); ++head) {
    const CellMeans& found = (*means)[static_cast<std::size_t>(head)];
    Twin twin = twin_of(field, head, grid.map_size());
    for (std::size_t bin = 0; bin < grid.bins(); ++bin) {
      const auto n = static_cast<std::int64_t>(bin);
      EXPECT_EQ(grid.bin_cells()[bin], twin.weight[n].count);
      expect_near(found.weight[bin], twin.weight[n].value(), kTolerance, "weight of bin " + std::to_string(n));
      expect_near(found.logit[bin], twin.logit[n].value(), kTolerance, "logit of bin " + std::to_string(n));
    }
    for (std::int64_t pixel = 0; pixel < grid.map_size() * grid.map_size(); ++pixel) {
      expect_near(maps[static_cast<std::size_t>(head) * cells + static_cast<std::size_t>(pixel)],
                  twin.pixels[pixel].value(), kTolerance, "pixel " + std::to_string(pixel));
    }
    for (std::int64_t key = 0; key < kSinkKeys; ++key) {
      const auto n = static_cast<std::size_t>(key);
      expect_near(found.sink_weight[n], twin.sink[key].value(), kTolerance, "sink " + std::to_string(key));
      expect_near(found.sink_share[n], twin.over[key].value(), kTolerance, "share " + std::to_string(key));
    }
    expect_near(found.statistics.entropy, twin.entropy.value(), kTolerance, "entropy");
    expect_near(found.statistics.relative_entropy, twin.relative.value(), kTolerance, "relative entropy");
    expect_near(found.statistics.mean_distance, twin.away.value(), kTolerance, "distance");
    expect_near(found.statistics.previous_token, twin.previous.value(), kTolerance, "previous");
    expect_near(found.statistics.first_token, twin.first.value(), kTolerance, "first");
    expect_near(found.statistics.self, twin.self.value(), kTolerance, "self");
    const auto [key, weight] = sink_of(twin);
    EXPECT_EQ(found.statistics.sink.key, key);
    expect_near(found.statistics.sink.weight, weight, kTolerance, "sink");
    const std::int64_t far_queries = field.mask().causal ? length - 64 : length;
    expect_near(found.largest, twin.largest, kTolerance, "largest");
    expect_near(found.far, length > 64 ? twin.far / static_cast<double>(far_queries) : kNaN, kTolerance, "far");
    expect_near(found.marked, twin.marked / static_cast<double>(length), kTolerance, "marked");

    const auto [near, far] = fitting_ranges({0, 101}, {10000, 10101}, length);
    Mean near_mean, near_square, far_mean, far_square;
    for (std::int64_t distance = near.begin; distance < near.end; ++distance) {
      near_mean.add(twin.distance[distance].value());
      near_square.add(twin.squares[distance].value());
    }
    for (std::int64_t distance = far.begin; distance < far.end; ++distance) {
      far_mean.add(twin.distance[distance].value());
      far_square.add(twin.squares[distance].value());
    }
    const double variance =
        near_square.value() - std::pow(near_mean.value(), 2) + far_square.value() - std::pow(far_mean.value(), 2);
    expect_near(found.bias_mean, near_mean.value() - far_mean.value(), kTolerance, "bias");
    expect_near(found.bias_deviation, std::sqrt(variance), kTolerance, "bias deviation");
  }
}

TEST(CellMeans, AreWhatTheDefinitionsSay) {
  for (const char* encoding : {"none", "rope", "alibi", "cope", "fire", "tape"}) {
    SCOPED_TRACE(encoding);
    expect_like_twin(cell_field(encoding, 40, {.causal = true}), 40);
    expect_like_twin(cell_field(encoding, 150, {.causal = true}), 17);
  }
}

// Pixels of 1, 2, 4, 8 and 16 tokens, with and without a last block of fewer rows.
TEST(CellMeans, PixelsOfWholeNumbersOfTokens) {
  expect_like_twin(cell_field("rope", 128, {.causal = true}), 128);
  expect_like_twin(cell_field("rope", 200, {.causal = true}), 100);
  expect_like_twin(cell_field("rope", 128, {.causal = false}), 32);
  expect_like_twin(cell_field("rope", 136, {.causal = true}), 17);
  expect_like_twin(cell_field("rope", 160, {.causal = true}), 10);
}

TEST(CellMeans, KnowWindowsAndBothDirections) {
  expect_like_twin(cell_field("rope", 150, {.causal = true, .window = 20}), 30);
  expect_like_twin(cell_field("rope", 130, {.causal = false}), 128);
  expect_like_twin(cell_field("rope", 96, {.causal = true, .chunk = 32}), 0);
  expect_like_twin(cell_field("tape", 90, {.causal = true, .window = 20}), 9);
}

// The bias over all pairs is what a large sample of pairs comes to: within 5 standard errors.
TEST(CellMeans, BiasIsThatOfSampledPairs) {
  const attention::ScoreField field = cell_field("rope", 150, {.causal = true});
  const CellGrid grid(field.mask(), 150, 0);
  const std::vector<CellMeans> means = cell_means(field, grid, {}).value();
  DistanceBiasOptions options;
  options.pairs = 20000;
  const DistanceBias sampled = distance_bias({&field.source()}, options).value();
  const double error = sampled.deviation / std::sqrt(20000.0);
  EXPECT_NEAR(means[0].bias_mean, sampled.mean, 5 * error);
  EXPECT_NEAR(means[0].bias_deviation, sampled.deviation, 0.03 * sampled.deviation);
}

// Against rows sorted whole; of equal weights the earlier keys stay.
TEST(CellMeans, LargestWeightsOfEachQuery) {
  const attention::ScoreField field = cell_field("rope", 90, {.causal = true, .window = 40});
  for (const std::int64_t head : {0, 1}) {
    const Field map = field.map({Quantity::kWeight, head, {}, {}}).value();
    std::vector<SparseCell> expected;
    for (std::int64_t i = 0; i < 90; ++i) {
      std::vector<std::pair<float, std::int64_t>> row;
      for (std::int64_t j = 0; j < 90; ++j) {
        row.emplace_back(-map.at(i, j), j);
      }
      std::ranges::sort(row);
      row.resize(8);
      std::ranges::sort(row, {}, &std::pair<float, std::int64_t>::second);
      for (const auto& [weight, j] : row) {
        if (-weight >= 0.005F) {
          expected.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), -weight});
        }
      }
    }
    EXPECT_EQ(largest_weights(field, head, 8, 0.005F).value(), expected);
    EXPECT_LT(expected.size(), 8U * 90);
  }
  const attention::ScoreField equal = cell_field("none", 12, {.causal = true});
  EXPECT_EQ(largest_weights(equal, 0, 8, 2.0F).value().size(), 0U);
  EXPECT_FALSE(largest_weights(equal, 5, 8, 0.005F).ok());
}

TEST(CellMeans, DistancesAreBinnedByOctaves) {
  EXPECT_EQ(distance_edges(3), (std::vector<std::int64_t>{0, 1, 2, 3}));
  const std::vector<std::int64_t> edges = distance_edges(150);
  EXPECT_EQ(edges[63], 63);
  EXPECT_EQ(edges[64], 64);
  EXPECT_EQ(edges[65], 72);
  EXPECT_EQ(edges[72], 128);
  EXPECT_EQ(edges[73], 144);
  EXPECT_EQ(edges.back(), 150);
  EXPECT_EQ(edges.size(), 75U);
}

TEST(CellMeans, CanBeStopped) {
  std::stop_source stop;
  stop.request_stop();
  const attention::ScoreField field = cell_field("rope", 64, {.causal = true});
  const auto means = cell_means(field, CellGrid(field.mask(), 64, 0), {}, stop.get_token());
  ASSERT_FALSE(means.ok());
  EXPECT_EQ(means.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus::analysis
