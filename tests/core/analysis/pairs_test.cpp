// Pairs of channels against a twin that forms every cell: parts, energies, profiles, carriers, planes.
#include "core/analysis/pairs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "tests/support/encodings.h"
#include "tests/support/test_name.h"

namespace locus::test {
namespace {

using position::Positions;

constexpr std::int64_t kTokens = 37;
constexpr std::int64_t kWidth = 16;

using Channels = std::vector<std::vector<std::int64_t>>;

// Which channels a pair has, written out again: first, step to the next pair, step to the partner.
Channels pairs_at(std::int64_t count, std::int64_t step, std::int64_t partner) {
  Channels channels;
  for (std::int64_t m = 0; m < count; ++m) {
    channels.push_back({m * step, m * step + partner});
  }
  return channels;
}

struct Case {
  std::string label;
  std::string name;
  Settings options;
  Channels channels;  // of q and k as the score sees them; the last one is the rest where `rest`
  bool rest = false;
  bool image = false;
  std::int64_t kv_heads = 2;
  attention::Mask mask{};
  double step = 1;  // between positions
  bool pictured = false;

  bool grid() const { return image || pictured; }
};

// M-RoPE's positions of 3 words, a picture of 2 × 2 cells, 2 words, one of 4 × 5, 8 words; its cells are the tokens of
// kCells.
constexpr std::int64_t kCells[2] = {9, 29};
Positions pictured_positions() {
  std::vector<double> ids;
  double next = 11;
  const auto add = [&](double rows, double columns) {
    for (double y = 0; y < rows; ++y) {
      for (double x = 0; x < columns; ++x) {
        ids.insert(ids.end(), {next, next + y, next + x});
      }
    }
    next += std::max(rows, columns);
  };
  const auto words = [&](int count) {
    for (int n = 0; n < count; ++n) {
      add(1, 1);
    }
  };
  words(3);
  add(2, 2);
  words(2);
  add(4, 5);
  words(8);
  return {at::tensor(ids, at::kDouble).view({-1, 3}), 0};
}

std::vector<std::int64_t> from(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> list;
  for (std::int64_t n = begin; n < end; ++n) {
    list.push_back(n);
  }
  return list;
}

std::vector<Case> cases() {
  const Channels half = pairs_at(8, 1, 8);
  const Channels interleaved = pairs_at(8, 2, 1);
  Channels partial = pairs_at(3, 1, 3);
  partial.push_back(from(6, kWidth));
  Channels partial_interleaved = pairs_at(2, 2, 1);
  partial_interleaved.push_back(from(4, kWidth));
  Channels wide;  // TAPE, vectors: 4 numbers for each of a block's 2 channels
  for (std::int64_t m = 0; m < 8; ++m) {
    wide.push_back({});
    for (std::int64_t x = 0; x < 8; ++x) {
      wide.back().push_back(x * 8 + m);
    }
  }
  const std::vector<double> factors{1, 1.5, 2, 3, 4, 5, 6, 7};
  const auto scaled = [](const char* kind) {
    return Settings{
        {"scaling", std::string(kind)}, {"factor", 4.0}, {"original_max_position_embeddings", std::int64_t{16}}};
  };
  Settings longrope{{"scaling", std::string("longrope")},
                    {"original_max_position_embeddings", std::int64_t{16}},
                    {"max_position_embeddings", std::int64_t{64}},
                    {"short_factor", factors},
                    {"long_factor", factors}};
  const Settings fourier{{"start", std::string("fourier")}};
  const Settings vectors{{"rows", std::int64_t{1}}, {"columns", std::int64_t{4}}};
  return {
      {"rope half", "rope", {}, half},
      {"rope interleaved", "rope", {{"layout", std::string("interleaved")}}, interleaved},
      {"rope of another base", "rope", {{"base", 500.0}}, half},
      {"rope partial", "rope", {{"fraction", 0.375}}, partial, true},
      {"rope partial interleaved",
       "rope",
       {{"fraction", 0.25}, {"layout", std::string("interleaved")}},
       partial_interleaved,
       true},
      {"rope linear", "rope", scaled("linear"), half},
      {"rope ntk", "rope", scaled("ntk"), half},
      {"rope dynamic", "rope", scaled("dynamic"), half},
      {"rope yarn", "rope", scaled("yarn"), half},
      {"rope llama3", "rope", scaled("llama3"), half},
      {"rope longrope", "rope", longrope, half},
      {"rope in a window", "rope", {}, half, false, false, 2, {true, 9, 0}},
      {"rope in chunks", "rope", {}, half, false, false, 2, {true, 0, 10}},
      {"rope both ways", "rope", {}, half, false, false, 4, {false, 0, 0}},
      {"rope both ways in a window", "rope", {}, half, false, false, 4, {false, 7, 0}},
      {"rope by thirds", "rope", {}, half, false, false, 1, {}, 1.0 / 3},
      {"randpe", "randpe", {}, half},
      {"xpos", "xpos", {}, interleaved},
      {"xpos half", "xpos", {{"layout", std::string("half")}, {"scale_base", 20.0}}, half},
      {"tape", "tape", {}, half, false, false, 4},
      {"tape interleaved", "tape", {{"layout", std::string("interleaved")}}, interleaved, false, false, 2},
      {"tape yarn", "tape", scaled("yarn"), half, false, false, 2},
      {"tape fourier", "tape", fourier, half, false, false, 2},
      {"tape vectors", "tape", vectors, wide, false, false, 2},
      {"tapa", "tapa", {}, {from(0, 8), from(8, kWidth)}},
      {"tapa linear", "tapa", {{"phase", std::string("linear")}, {"theta", 0.25}}, {from(0, 4), from(4, kWidth)}},
      {"rope-axial", "rope-axial", {}, interleaved, false, true, 2, {false, 0, 0}},
      {"rope-axial of the span",
       "rope-axial",
       {{"coordinates", std::string("normalised")}, {"first", std::string("rows")}, {"layout", std::string("half")}},
       half,
       false,
       true,
       2,
       {false, 0, 0}},
      {"rope-axial with angles of a class token",
       "rope-axial",
       {{"class_angles", std::int64_t{1}}},
       interleaved,
       false,
       true,
       2,
       {false, 0, 0}},
      {"rope-mixed", "rope-mixed", {}, interleaved, false, true, 4, {false, 0, 0}},
      {"m-rope", "rope", {{"sections", std::vector<double>{2, 3, 3}}}, half, false, false, 2, {}, 1, true},
      {"m-rope in turns",
       "rope",
       {{"sections", std::vector<double>{4, 2, 2}}, {"section_layout", std::string("interleaved")}},
       half,
       false,
       false,
       2,
       {},
       1,
       true},
      {"m-rope by heads",
       "rope",
       {{"sections", std::vector<double>{1, 1, 1}}, {"section_layout", std::string("heads")}},
       half,
       false,
       false,
       4,
       {},
       1,
       true},
      {"m-rope by heads of a group",
       "rope",
       {{"sections", std::vector<double>{0, 1, 1}}, {"section_layout", std::string("heads")}},
       half,
       false,
       false,
       2,
       {},
       1,
       true},
      {"heads that do not turn",
       "rope",
       {{"sections", std::vector<double>{1, 0, 0}}, {"section_layout", std::string("heads")}},
       half},
      {"m-rope both ways",
       "rope",
       {{"sections", std::vector<double>{2, 3, 3}}, {"fraction", 1.0}},
       half,
       false,
       false,
       4,
       {false, 0, 0},
       1,
       true},
  };
}

// A layer of random queries and keys, and what the twin knows of it.
struct Layer {
  explicit Layer(const Case& each) : test(each) {
    at::manual_seed(7);
    shape = shape_of(4, kWidth, each.kv_heads);
    shape.causal = each.mask.causal;
    encoding = std::shared_ptr<const position::PositionEncoding>(test::encoding(each.name, each.options, shape));
    positions = each.image      ? Positions::grid(5, 7, 2)
                : each.pictured ? pictured_positions()
                                : Positions::sequence(kTokens, 11);
    positions.ids.mul_(each.step);
    projections = random_projections(shape, 1, positions.size());
    projections.query.add_(0.4);  // means of their own, that a carrier has something to tell
    projections.key.select(3, 3).sub_(0.7);
    prepared = encoding->prepare(encoding->begin(positions, 1), 0, projections);
    scores = std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, at::Tensor());
    logits = whole_map(*encoding, prepared).logits[0].to(at::kDouble);
  }

  analysis::PairSource source() const { return {*scores, test.mask}; }
  bool modulated() const { return test.name == "tapa"; }
  std::int64_t tokens() const { return positions.size(); }

  // (H, T, T) of one row, from a query of which the other channels are 0.
  at::Tensor part(std::size_t row) const {
    if (modulated()) {
      const at::Tensor content = whole_map(*encoding, prepared, 0, {.content = true}).content[0].to(at::kDouble);
      return row == 0 ? content : logits - content;
    }
    position::Prepared own = prepared;
    own.query = at::zeros_like(prepared.query);
    for (const std::int64_t channel : test.channels[row]) {
      own.query.select(3, channel).copy_(prepared.query.select(3, channel));
    }
    return whole_map(*encoding, own).logits[0].to(at::kDouble);
  }

  // The distance of a cell; −1: no cell of a profile.
  std::int64_t distance(std::int64_t i, std::int64_t j) const {
    if (test.image) {
      const double* id = positions.ids.data_ptr<double>();
      return i < positions.prefix || j < positions.prefix
                 ? -1
                 : std::llround(std::hypot(id[2 * i] - id[2 * j], id[2 * i + 1] - id[2 * j + 1]));
    }
    if (test.pictured) {
      const auto cell = [](std::int64_t t) { return t >= kCells[0] && t < kCells[1]; };
      const double* const a = positions.ids.data_ptr<double>() + 3 * i;
      const double* const b = positions.ids.data_ptr<double>() + 3 * j;
      return cell(i) && cell(j) && test.mask.visible(i, j) ? std::llround(std::hypot(a[1] - b[1], a[2] - b[2])) : -1;
    }
    return test.mask.visible(i, j) ? std::abs(i - j) : -1;
  }

  // Means of a map (T, T) by distance, NaN where there is no cell.
  std::vector<double> by_distance(const at::Tensor& map, std::size_t bins,
                                  std::vector<double>* counts = nullptr) const {
    std::vector<double> sums(bins);
    std::vector<double> cells(bins);
    const at::Tensor host = map.contiguous();
    for (std::int64_t i = 0; i < tokens(); ++i) {
      for (std::int64_t j = 0; j < tokens(); ++j) {
        if (const std::int64_t at = distance(i, j); at >= 0) {
          sums.at(static_cast<std::size_t>(at)) += host.data_ptr<double>()[i * tokens() + j];
          cells.at(static_cast<std::size_t>(at)) += 1;
        }
      }
    }
    for (std::size_t n = 0; n < bins; ++n) {
      sums[n] /= cells[n];
    }
    if (counts != nullptr) {
      *counts = cells;
    }
    return sums;
  }

  // The map of a text in which every token has the mean query and the mean key.
  at::Tensor mean_map() const {
    position::Projections means = projections;
    const std::int64_t first = test.pictured ? kCells[0] : positions.prefix;
    const std::int64_t last = test.pictured ? kCells[1] : tokens();
    means.query = projections.query.slice(2, first, last).mean(2, true).expand_as(projections.query).contiguous();
    means.key = projections.key.slice(2, first, last).mean(2, true).expand_as(projections.key).contiguous();
    return whole_map(*encoding, encoding->prepare(encoding->begin(positions, 1), 0, means)).logits[0].to(at::kDouble);
  }

  Case test;
  position::ModelShape shape;
  std::shared_ptr<const position::PositionEncoding> encoding;
  Positions positions;
  position::Projections projections;
  position::Prepared prepared;
  std::shared_ptr<const attention::ComputedScores> scores;
  at::Tensor logits;  // (H, T, T) float64
};

void expect_near(double value, double expected, double tolerance, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(value)) << what << ": " << value;
    return;
  }
  EXPECT_LE(std::abs(value - expected), tolerance * (1 + std::abs(expected)))
      << what << ": " << value << ", expected " << expected;
}

class Pairs : public testing::TestWithParam<std::size_t> {
 protected:
  const Layer layer_{cases()[GetParam()]};
};

INSTANTIATE_TEST_SUITE_P(All, Pairs, testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& info) { return test::test_name(cases()[info.param].label); });

TEST_P(Pairs, rowsAreThePairsAndTheRest) {
  const auto list = analysis::pair_list(layer_.source(), 3);
  ASSERT_TRUE(list.ok()) << list.error().describe();
  EXPECT_EQ(list->rows.size(), layer_.test.channels.size());
  EXPECT_EQ(list->has_rest(), layer_.test.rest);
  EXPECT_EQ(list->grid, layer_.test.grid());
  EXPECT_EQ(list->unit, layer_.test.image ? "patch" : layer_.test.pictured ? "cell" : "token");
  EXPECT_EQ(list->span, layer_.test.image ? 7 : layer_.test.pictured ? 5 : static_cast<double>(kTokens));
}

TEST_P(Pairs, partsOfACellAreTheTwinsAndSumToTheLogit) {
  const std::int64_t first = layer_.positions.prefix;
  for (const auto& [i, j] : {std::pair(30, 7), std::pair(21, 20), std::pair(12, 12), std::pair(36, 0)}) {
    for (const std::int64_t head : {0, 3}) {
      const auto cell = analysis::pair_parts(layer_.source(), head, i, j);
      ASSERT_TRUE(cell.ok()) << cell.error().describe();
      ASSERT_EQ(cell->parts.size(), layer_.test.channels.size());
      const std::string where = std::to_string(i + first) + ", " + std::to_string(j);
      expect_near(cell->logit, layer_.logits[head][i][j].item<double>(), 1e-5, "logit " + where);
      for (std::size_t row = 0; row < cell->parts.size(); ++row) {
        expect_near(cell->parts[row], layer_.part(row)[head][i][j].item<double>(), 1e-5,
                    "part " + std::to_string(row) + " of " + where);
      }
    }
  }
}

TEST_P(Pairs, energiesAreMeanNorms) {
  const at::Tensor query = layer_.prepared.query[0].to(at::kDouble);
  const at::Tensor key = layer_.prepared.key[0]
                             .to(at::kDouble)
                             .repeat_interleave(layer_.prepared.query.size(1) / layer_.prepared.key.size(1), 0);
  const auto by_query = analysis::pair_energy(layer_.source(), analysis::PairNorm::kQuery);
  const auto by_key = analysis::pair_energy(layer_.source(), analysis::PairNorm::kKey);
  const auto by_product = analysis::pair_energy(layer_.source(), analysis::PairNorm::kProduct);
  ASSERT_TRUE(by_query.ok() && by_key.ok() && by_product.ok());
  EXPECT_EQ(by_query->rows, 4);
  const auto all = analysis::pair_energies(layer_.source());  // the same in one pass
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[0].values, by_query->values);
  EXPECT_EQ((*all)[1].values, by_key->values);
  EXPECT_EQ((*all)[2].values, by_product->values);
  for (std::size_t row = 0; row < layer_.test.channels.size(); ++row) {
    const at::Tensor channels = at::tensor(layer_.test.channels[row]);
    const at::Tensor q = query.index_select(2, channels).norm(2, {2}, false);
    const at::Tensor k = key.index_select(2, channels).norm(2, {2}, false);
    for (std::int64_t head = 0; head < 4; ++head) {
      const auto m = static_cast<std::int64_t>(row);
      const std::string what = "row " + std::to_string(row) + " of head " + std::to_string(head);
      expect_near(by_query->at(head, m), q[head].mean().item<double>(), 1e-6, "query, " + what);
      expect_near(by_key->at(head, m), k[head].mean().item<double>(), 1e-6, "key, " + what);
      expect_near(by_product->at(head, m), (q * k)[head].mean().item<double>(), 1e-6, "product, " + what);
    }
  }
}

TEST_P(Pairs, profilesAreMeansOverTheCellsOfADistance) {
  const std::int64_t head = 2;
  const auto profile = analysis::pair_profile(layer_.source(), head);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  const std::size_t bins = profile->count.size();
  // hypot(4, 6) rounds to 7, hypot(3, 4) is 5
  EXPECT_EQ(bins, layer_.test.image ? 8U : layer_.test.pictured ? 6U : static_cast<std::size_t>(kTokens));
  std::vector<double> counts;
  const std::vector<double> logit = layer_.by_distance(layer_.logits[head], bins, &counts);
  for (std::size_t n = 0; n < bins; ++n) {
    EXPECT_EQ(profile->count[n], counts[n]) << n;
    expect_near(profile->logit[n], logit[n], 1e-5, "mean logit at " + std::to_string(n));
  }
  for (std::size_t row = 0; row < layer_.test.channels.size(); ++row) {
    const std::vector<double> part = layer_.by_distance(layer_.part(row)[head], bins);
    for (std::size_t n = 0; n < bins; ++n) {
      expect_near(profile->parts.at(static_cast<std::int64_t>(row), static_cast<std::int64_t>(n)), part[n], 1e-5,
                  "row " + std::to_string(row) + " at " + std::to_string(n));
    }
  }
}

// Without the first keys: means over the other cells, and a carrier of the other keys' mean.
TEST_P(Pairs, profilesCanLeaveOutTheFirstKeys) {
  constexpr std::int64_t kSkipped = 2;
  const std::int64_t head = 2;
  const auto profile = analysis::pair_profile(layer_.source(), head, kSkipped);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  if (layer_.test.image || layer_.test.pictured) {
    EXPECT_EQ(profile->count, analysis::pair_profile(layer_.source(), head)->count);
    return;
  }
  std::vector<double> sums(profile->count.size());
  std::vector<double> counts(profile->count.size());
  const at::Tensor logits = layer_.logits[head].to(at::kDouble).contiguous();
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    for (std::int64_t j = kSkipped; j < logits.size(1); ++j) {
      if (layer_.test.mask.visible(i, j)) {
        sums[static_cast<std::size_t>(std::abs(i - j))] += logits[i][j].item<double>();
        counts[static_cast<std::size_t>(std::abs(i - j))] += 1;
      }
    }
  }
  for (std::size_t n = 0; n < counts.size(); ++n) {
    EXPECT_EQ(profile->count[n], counts[n]) << n;
    if (counts[n] > 0) {
      expect_near(profile->logit[n], sums[n] / counts[n], 1e-5, "mean logit at " + std::to_string(n));
    }
  }
  EXPECT_EQ(analysis::pair_profile(layer_.source(), head, kTokens).error().code, ErrorCode::kBadInput);
}

TEST_P(Pairs, carriersAreTheProfileOfMeanQueryAndMeanKey) {
  const std::int64_t head = 1;
  const auto profile = analysis::pair_profile(layer_.source(), head);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  if (layer_.test.label == "tape fourier" || layer_.test.label == "tape vectors") {
    EXPECT_TRUE(profile->carrier.empty());
    EXPECT_TRUE(std::isnan(profile->explained));
    return;
  }
  const std::vector<double> carrier = layer_.by_distance(layer_.mean_map()[head], profile->count.size());
  ASSERT_EQ(profile->carrier.size(), carrier.size());
  double cells = 0;
  double sum = 0;
  for (std::size_t n = 0; n < carrier.size(); ++n) {
    expect_near(profile->carrier[n], carrier[n], 2e-5, "carrier at " + std::to_string(n));
    cells += profile->count[n];
    sum += profile->count[n] > 0 ? profile->count[n] * profile->logit[n] : 0;
  }
  double residual = 0;
  double variance = 0;
  for (std::size_t n = 0; n < carrier.size(); ++n) {
    if (profile->count[n] > 0) {
      residual += profile->count[n] * std::pow(profile->logit[n] - carrier[n], 2);
      variance += profile->count[n] * std::pow(profile->logit[n] - sum / cells, 2);
    }
  }
  expect_near(profile->explained, 1 - residual / variance, 1e-4, "R²");
}

TEST_P(Pairs, sharesOfTheVarianceSumToOne) {
  const auto profile = analysis::pair_profile(layer_.source(), 0);
  ASSERT_TRUE(profile.ok());
  double sum = 0;
  double still = 0;
  for (std::size_t row = 0; row < profile->share.size(); ++row) {
    sum += profile->share[row];
    const double wavelength = profile->pairs.rows[row].wavelength;
    still += std::isfinite(wavelength) && wavelength > profile->pairs.span ? profile->share[row] : 0;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  if (!std::isnan(profile->still_share)) {
    EXPECT_NEAR(profile->still_share, still, 1e-12);
  }
}

TEST_P(Pairs, planesHoldUnrotatedAndRotatedPoints) {
  const std::int64_t head = 3;
  const std::int64_t pair = 1;
  const auto plane = analysis::pair_plane(layer_.source(), head, pair);
  if (layer_.modulated() || layer_.test.label == "tape fourier" || layer_.test.label == "tape vectors") {
    ASSERT_FALSE(plane.ok());
    EXPECT_EQ(plane.error().code, ErrorCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(plane.ok()) << plane.error().describe();
  const std::vector<std::int64_t>& channels = layer_.test.channels[static_cast<std::size_t>(pair)];
  const std::int64_t group = 4 / layer_.test.kv_heads;
  double x = 0;
  double y = 0;
  for (std::int64_t t = 0; t < layer_.tokens(); ++t) {
    const auto n = static_cast<std::size_t>(t);
    const at::Tensor q = layer_.projections.query[0][head][t];
    const at::Tensor k = layer_.projections.key[0][head / group][t];
    expect_near(plane->query.real[n], q[channels[0]].item<double>(), 2e-6, "q");
    expect_near(plane->query.imaginary[n], q[channels[1]].item<double>(), 2e-6, "ιq");
    expect_near(plane->key.real[n], k[channels[0]].item<double>(), 2e-6, "k");
    expect_near(plane->key.imaginary[n], k[channels[1]].item<double>(), 2e-6, "ιk");
    const at::Tensor turned = layer_.prepared.query[0][head][t];
    EXPECT_EQ(plane->turned_query.real[n], turned[channels[0]].item<float>());
    EXPECT_EQ(plane->turned_query.imaginary[n], turned[channels[1]].item<float>());
    if (t >= layer_.positions.prefix) {
      const double angle = std::atan2(q[channels[1]].item<double>(), q[channels[0]].item<double>());
      x += std::cos(angle);
      y += std::sin(angle);
    }
  }
  expect_near(plane->query_concentration,
              std::hypot(x, y) / static_cast<double>(layer_.tokens() - layer_.positions.prefix), 1e-5, "concentration");
}

TEST_P(Pairs, otherDistancesAreWhatTheEncodingGivesThere) {
  const std::vector<double> distances{0, 1, 5, 20};
  const std::int64_t head = 1;
  const auto cell = analysis::pair_parts(layer_.source(), head, 23, 11, distances);
  ASSERT_TRUE(cell.ok());
  if (layer_.test.grid() || layer_.test.name == "tape") {
    EXPECT_TRUE(cell->elsewhere.values.empty());
    return;
  }
  for (std::size_t n = 0; n < distances.size(); ++n) {
    // The same query and key at the ends of two tokens that far apart, in a text as long: a dynamic scaling sees it.
    position::Projections moved = layer_.projections;
    moved.query = layer_.projections.query.select(2, 23).unsqueeze(2).expand_as(layer_.projections.query).contiguous();
    moved.key = layer_.projections.key.select(2, 11).unsqueeze(2).expand_as(layer_.projections.key).contiguous();
    const auto prepared = layer_.encoding->prepare(layer_.encoding->begin(layer_.positions, 1), 0, moved);
    const auto i = static_cast<std::int64_t>(std::llround(distances[n] / layer_.test.step));
    if (i >= layer_.tokens()) {
      continue;
    }
    double sum = 0;
    for (std::int64_t row = 0; row < cell->elsewhere.rows; ++row) {
      sum += static_cast<double>(cell->elsewhere.at(row, static_cast<std::int64_t>(n)));
    }
    expect_near(sum, whole_map(*layer_.encoding, prepared).logits[0][head][i][0].item<double>(), 1e-5,
                "logit at " + std::to_string(distances[n]));
  }
}

TEST(Pairs, wavelengthsFollowTheAngles) {
  const auto wave = [](const Settings& options, std::int64_t pair) {
    Case each{"", "rope", options, {}};
    const Layer layer(each);
    return analysis::pair_list(layer.source(), 0)->rows[static_cast<std::size_t>(pair)].wavelength;
  };
  const double turn = 2 * std::numbers::pi;
  EXPECT_DOUBLE_EQ(wave({}, 0), turn);
  EXPECT_NEAR(wave({}, 4), turn * 100, 1e-9);
  EXPECT_NEAR(wave({{"base", 256.0}}, 4), turn * 16, 1e-9);
  EXPECT_NEAR(wave({{"scaling", std::string("linear")}, {"factor", 4.0}}, 4), turn * 400, 1e-9);
  EXPECT_TRUE(std::isinf(wave({{"fraction", 0.5}}, 4)));
}

TEST(Pairs, mRopesPairsAreNamedByTheirComponent) {
  Case each{
      "", "rope", {{"sections", std::vector<double>{4, 2, 2}}, {"section_layout", std::string("interleaved")}}, {}};
  each.pictured = true;
  const Layer layer(each);
  const auto list = analysis::pair_list(layer.source(), 0);
  std::string names;
  for (const analysis::PairRow& row : list->rows) {
    names += row.name + " ";
  }
  EXPECT_EQ(names, "t0 h1 w2 t3 h4 w5 t6 t7 ");
  EXPECT_NEAR(list->rows[5].wavelength, 2 * std::numbers::pi * std::pow(10000.0, 5.0 / 8), 1e-9);
}

TEST(Pairs, pairsOfAHeadAreNamedByItsComponent) {
  Case each{"", "rope", {{"sections", std::vector<double>{1, 1, 1}}, {"section_layout", std::string("heads")}},
            {}, false,  false,
            4};
  each.pictured = true;
  const Layer layer(each);
  const std::vector<std::string> expected{"t0 t1 t2 t3 t4 t5 t6 t7 ", "h0 h1 h2 h3 h4 h5 h6 h7 ",
                                          "w0 w1 w2 w3 w4 w5 w6 w7 ", "0 1 2 3 4 5 6 7 "};
  for (std::int64_t head = 0; head < 4; ++head) {
    const auto list = analysis::pair_list(layer.source(), head);
    std::string names;
    for (const analysis::PairRow& row : list->rows) {
      names += row.name + " ";
      EXPECT_EQ(std::isfinite(row.wavelength), head < 3);
    }
    EXPECT_EQ(names, expected[static_cast<std::size_t>(head)]);
  }
}

TEST(Pairs, distancesOfMRopeNeedAPicture) {
  Case each{"", "rope", {{"sections", std::vector<double>{2, 3, 3}}}, pairs_at(8, 1, 8)};
  each.pictured = true;
  Layer layer(each);
  layer.positions.ids = at::arange(kTokens, at::kDouble).unsqueeze(1).expand({kTokens, 3}).contiguous();  // words alone
  layer.prepared = layer.encoding->prepare(layer.encoding->begin(layer.positions, 1), 0, layer.projections);
  layer.scores = std::make_shared<const attention::ComputedScores>(layer.encoding, 0, layer.prepared, at::Tensor());
  const auto profile = analysis::pair_profile(layer.source(), 0);
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(profile.error().message.find("picture"), std::string::npos) << profile.error().message;
}

TEST(Pairs, yarnsMagnitudeIsInTheNormsAndNotInThePlane) {
  Case each{"",
            "rope",
            {{"scaling", std::string("yarn")},
             {"factor", 4.0},
             {"attention_factor", 1.5},
             {"original_max_position_embeddings", std::int64_t{16}}},
            pairs_at(8, 1, 8)};
  const Layer layer(each);
  EXPECT_DOUBLE_EQ(analysis::pair_list(layer.source(), 0)->magnitude, 1.5);
  const auto energy = analysis::pair_energy(layer.source(), analysis::PairNorm::kQuery);
  const at::Tensor plain = layer.projections.query[0][0].index_select(1, at::tensor({2, 10})).norm(2, {1}, false);
  expect_near(energy->at(0, 2), 1.5 * plain.mean().item<double>(), 1e-6, "norm");
}

TEST(Pairs, encodingsWithoutPairsSayWhatTheyDoInstead) {
  for (const auto& [name, why] : {std::pair("none", "knows no positions"), std::pair("alibi", "changes the logit"),
                                  std::pair("learned", "adds to the token embeddings"),
                                  std::pair("cope", "counts gates"), std::pair("t5", "changes the logit")}) {
    const Layer layer(Case{"", name, {}, {}});
    const auto list = analysis::pair_list(layer.source(), 0);
    ASSERT_FALSE(list.ok()) << name;
    EXPECT_EQ(list.error().code, ErrorCode::kUnsupported) << name;
    EXPECT_NE(list.error().message.find(why), std::string::npos) << list.error().message;
    EXPECT_FALSE(analysis::pair_energy(layer.source(), analysis::PairNorm::kQuery).ok());
    EXPECT_FALSE(analysis::pair_profile(layer.source(), 0).ok());
    EXPECT_FALSE(analysis::pair_parts(layer.source(), 0, 1, 0).ok());
    EXPECT_FALSE(analysis::pair_plane(layer.source(), 0, 0).ok());
  }
  const Layer sinusoidal(Case{"", "randpe", {{"over", std::string("sinusoidal")}}, {}});
  EXPECT_EQ(analysis::pair_list(sinusoidal.source(), 0).error().code, ErrorCode::kUnsupported);
  const Layer general(Case{"", "tapa", {{"phase", std::string("general")}}, {}});
  EXPECT_EQ(analysis::pair_list(general.source(), 0).error().code, ErrorCode::kUnsupported);
}

TEST(Pairs, whatDoesNotExistIsRefused) {
  const Layer layer(Case{"", "rope", {}, pairs_at(8, 1, 8)});
  EXPECT_EQ(analysis::pair_profile(layer.source(), 4).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::pair_parts(layer.source(), 0, kTokens, 0).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::pair_parts(layer.source(), 0, 0, -1).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::pair_plane(layer.source(), 0, 8).error().code, ErrorCode::kBadInput);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(analysis::pair_profile(layer.source(), 0, 0, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(analysis::pair_energy(layer.source(), analysis::PairNorm::kKey, stop.get_token()).error().code,
            ErrorCode::kCancelled);
}

TEST(Pairs, statisticsSummariseEnergyAndProfile) {
  const Layer layer(Case{"", "rope", {}, pairs_at(8, 1, 8)});
  const auto statistics = analysis::pair_statistics(layer.source());
  ASSERT_TRUE(statistics.ok());
  ASSERT_EQ(statistics->size(), 4U);
  const auto energy = analysis::pair_energy(layer.source(), analysis::PairNorm::kProduct);
  const auto profile = analysis::pair_profile(layer.source(), 2);
  double weight = 0;
  double sum = 0;
  std::int64_t strongest = 0;
  for (std::int64_t m = 0; m < 8; ++m) {
    weight += static_cast<double>(energy->at(2, m));
    sum += static_cast<double>(energy->at(2, m)) *
           std::log(2 * std::numbers::pi * std::pow(10000.0, static_cast<double>(m) / 8));
    strongest = energy->at(2, m) > energy->at(2, strongest) ? m : strongest;
  }
  expect_near((*statistics)[2].centroid, std::exp(sum / weight), 1e-6, "centroid");
  const auto pair = [&](std::int64_t m) { return static_cast<double>(energy->at(2, m)); };
  expect_near((*statistics)[2].fastest, (pair(0) + pair(1)) / weight, 1e-6, "fastest quarter");
  expect_near((*statistics)[2].slowest, (pair(6) + pair(7)) / weight, 1e-6, "slowest quarter");
  EXPECT_EQ((*statistics)[2].explained, profile->explained);
  EXPECT_EQ((*statistics)[2].still_share, profile->still_share);
  const auto plane = analysis::pair_plane(layer.source(), 2, strongest);
  EXPECT_DOUBLE_EQ((*statistics)[2].concentration, plane->query_concentration * plane->key_concentration);
}

// Quarters are of the pairs that turn, ordered by wavelength, whatever their numbers.
TEST(Pairs, quartersAreOfThePairsThatTurn) {
  constexpr double kStill = std::numeric_limits<double>::infinity();
  analysis::PairList list;
  for (const double wavelength : {40.0, 10.0, kStill, 20.0, 30.0, kStill}) {
    list.rows.push_back({"", wavelength});
  }
  list.pairs = 5;  // and the rest
  Field energy = Field::zeros(1, 6);
  energy.values = {1, 2, 100, 3, 4, 50};
  const analysis::PairQuarters quarters = analysis::pair_quarters(list, energy, 0);
  EXPECT_DOUBLE_EQ(quarters.fastest, 0.2);
  EXPECT_DOUBLE_EQ(quarters.slowest, 0.1);
  list.pairs = 4;
  EXPECT_TRUE(std::isnan(analysis::pair_quarters(list, energy, 0).fastest));
  energy.values.assign(6, 0);
  list.pairs = 5;
  EXPECT_TRUE(std::isnan(analysis::pair_quarters(list, energy, 0).slowest));
}

TEST(Pairs, theStateOfTapeMayBeAnything) {
  Case each{"", "tape", {}, pairs_at(8, 1, 8), false, false, 4};
  Layer layer(each);
  position::State state = layer.encoding->begin(layer.positions, 1);
  state.table = state.table + at::randn_like(state.table);
  layer.prepared = layer.encoding->prepare(state, 0, layer.projections);
  layer.scores = std::make_shared<const attention::ComputedScores>(layer.encoding, 0, layer.prepared, at::Tensor());
  layer.logits = whole_map(*layer.encoding, layer.prepared).logits[0].to(at::kDouble);
  const auto profile = analysis::pair_profile(layer.source(), 0);
  ASSERT_TRUE(profile.ok());
  const std::vector<double> logit = layer.by_distance(layer.logits[0], profile->count.size());
  for (std::size_t n = 0; n < logit.size(); ++n) {
    expect_near(profile->logit[n], logit[n], 1e-5, "mean logit");
  }
  const auto plane = analysis::pair_plane(layer.source(), 0, 2);
  ASSERT_TRUE(plane.ok());
  expect_near(plane->query.real[5], layer.projections.query[0][0][5][2].item<double>(), 1e-6, "content");
}

}  // namespace
}  // namespace locus::test
