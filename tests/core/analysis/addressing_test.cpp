// Place, word and both of a head's logits against a twin that forms the table of every place and content in float64.
#include "core/analysis/addressing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <random>

#include "core/analysis/addressing_parts.h"
#include "core/attention/attend.h"
#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "tests/support/encodings.h"
#include "tests/support/test_name.h"

namespace locus::test {
namespace {

using analysis::AddressingOptions;
using analysis::AddressingWay;
using analysis::CellWeights;
using position::Positions;

constexpr std::int64_t kAddressingHeads = 4;

struct AddressingCase {
  std::string label;
  std::string name;
  Settings options;
  AddressingWay way = AddressingWay::kPairs;
  std::int64_t kv_heads = 2;
  attention::Mask mask{};
  bool image = false;
  double step = 1;
};

std::vector<AddressingCase> addressing_cases() {
  const auto text = [](const char* value) { return std::string(value); };
  const auto scaled = [&](const char* kind) {
    return Settings{{"scaling", text(kind)}, {"factor", 4.0}, {"original_max_position_embeddings", std::int64_t{16}}};
  };
  return {
      {"rope", "rope", {}},
      {"rope of one key head", "rope", {}, AddressingWay::kPairs, 1},
      {"rope interleaved", "rope", {{"layout", text("interleaved")}}, AddressingWay::kPairs, 4},
      {"rope partial", "rope", {{"fraction", 0.375}}},
      {"rope yarn", "rope", scaled("yarn")},
      {"rope by thirds", "rope", {}, AddressingWay::kPairs, 2, {}, false, 1.0 / 3},
      {"rope in a window", "rope", {}, AddressingWay::kPairs, 2, {true, 9, 0}},
      {"rope in chunks", "rope", {}, AddressingWay::kPairs, 2, {true, 0, 10}},
      {"rope both ways", "rope", {}, AddressingWay::kPairs, 4, {false, 0, 0}},
      {"xpos", "xpos", {}},
      {"pope", "pope", {{"start", text("uniform")}}},
      {"pope partial", "pope", {{"start", text("uniform")}, {"fraction", 0.375}}, AddressingWay::kPairs, 1},
      {"grape", "grape", {}},
      {"grape additive", "grape", {{"form", text("additive")}, {"gated", text("both")}}, AddressingWay::kTable},
      {"dape", "dape", {}, AddressingWay::kTable},
      {"dape over rope", "dape", {{"over", text("rope")}}, AddressingWay::kTable},
      {"randpe", "randpe", {}},
      {"rope-axial", "rope-axial", {}, AddressingWay::kPairs, 2, {false, 0, 0}, true},
      {"rope-axial with angles of a class token",
       "rope-axial",
       {{"class_angles", std::int64_t{1}}},
       AddressingWay::kPairs,
       2,
       {false, 0, 0},
       true},
      {"rope-mixed", "rope-mixed", {}, AddressingWay::kPairs, 4, {false, 0, 0}, true},
      {"alibi", "alibi", {}, AddressingWay::kSum},
      {"alibi in a window", "alibi", {}, AddressingWay::kSum, 2, {true, 9, 0}},
      {"t5", "t5", {}, AddressingWay::kSum},
      {"kerple log", "kerple-log", {}, AddressingWay::kSum},
      {"kerple power", "kerple-power", {}, AddressingWay::kSum},
      {"fire", "fire", {}, AddressingWay::kSum},
      {"relative", "relative", {}, AddressingWay::kSum},
      {"relative-state", "relative-state", {{"growth", 0.2}, {"growth_from", 20.0}}, AddressingWay::kSum},
      {"relative-state in a window",
       "relative-state",
       {{"extent", std::int64_t{9}}},
       AddressingWay::kSum,
       2,
       {true, 9, 0}},
      {"none", "none", {}, AddressingWay::kSum},
      {"disentangled", "disentangled", {}, AddressingWay::kTable},
      {"tapa", "tapa", {}, AddressingWay::kTable},
      {"tapa in a window", "tapa", {}, AddressingWay::kTable, 2, {true, 9, 0}},
      {"seqpe", "seqpe", {}, AddressingWay::kTable, 4},
      {"seqpe mul", "seqpe", {{"integration", text("mul")}}, AddressingWay::kTable, 4},
      {"tape", "tape", {}, AddressingWay::kTable, 4},
      {"tape of vectors", "tape", {{"rows", std::int64_t{1}}, {"columns", std::int64_t{4}}}, AddressingWay::kTable, 4},
  };
}

// Two-way analysis of variance of one query, by the definition.
struct TwinRow {
  std::vector<std::int64_t> keys;
  std::vector<double> p, place, word;
  double mean = 0, place_part = 0, word_part = 0, both_part = 0;
  double whole() const { return place_part + word_part + both_part; }
};

struct AddressingLayer {
  explicit AddressingLayer(const AddressingCase& each, std::int64_t tokens = 41) : test(each) {
    at::manual_seed(11);
    shape = shape_of(kAddressingHeads, 16, each.kv_heads);
    shape.causal = each.mask.causal;
    auto made = test::encoding(each.name, each.options, shape);
    for (const position::Parameter& parameter : made->parameters()) {
      if (each.name.starts_with("kerple") || each.name == "t5" || each.name == "relative" || each.name == "cope") {
        parameter.value->uniform_(0.1, 0.9);
      } else if (each.name == "relative-state") {
        parameter.value->mul_(5);  // biases as large as products
      }
    }
    encoding = std::move(made);
    positions = each.image ? Positions::grid(5, 7, 2) : Positions::sequence(tokens, 11);
    positions.ids.mul_(each.step);
    projections = random_projections(shape, 1, positions.size());
    projections.query.add_(0.4);
    projections.key.select(3, 3).sub_(0.7);
    prepared = encoding->prepare(encoding->begin(positions, 1), 0, projections);
    const at::Tensor nothing = at::empty({1, prepared.key.size(1), positions.size(), 0});
    const attention::Attention attention{*encoding, prepared, 0, nothing, {}, each.mask};
    const auto attended = attention::attend_streaming(attention);
    scores = std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, attended->log_sum_exp);
    field = std::make_shared<const attention::ScoreField>(scores, each.mask);
  }

  analysis::AddressingSource source() const { return {*field, *scores, state ? &*state : nullptr}; }
  std::int64_t length() const { return positions.size(); }

  // (c, H, T, T): cell (i, j) of part c has the content of token c at every place j.
  const at::Tensor& tables() const {
    if (!tables_.defined()) {
      position::Projections own = projections;
      own.query = own.query.to(at::kDouble);
      own.key = own.key.to(at::kDouble);
      own.value = own.value.to(at::kDouble);
      own.hidden = own.hidden.to(at::kDouble);
      const at::Tensor keys = own.key;
      std::vector<at::Tensor> maps;
      for (std::int64_t c = 0; c < length(); ++c) {
        own.key = keys.slice(2, c, c + 1).expand_as(keys).contiguous();
        const auto moved = encoding->prepare(encoding->begin(positions, 1), 0, own);
        maps.push_back(whole_map(*encoding, moved).logits[0].to(at::kDouble));
      }
      tables_ = at::stack(maps).contiguous();
    }
    return tables_;
  }
  double cell(std::int64_t head, std::int64_t i, std::int64_t j, std::int64_t c) const {
    return tables().data_ptr<double>()[((c * kAddressingHeads + head) * length() + i) * length() + j];
  }

  std::vector<double> weights(std::int64_t head, std::int64_t query, const std::vector<std::int64_t>& keys,
                              CellWeights kind) const {
    std::vector<double> attention;
    for (const std::int64_t key : keys) {
      attention.push_back(cell(head, query, key, key));
    }
    const double most = *std::ranges::max_element(attention);
    double sum = 0;
    for (double& each : attention) {
      sum += each = std::exp(each - most);
    }
    const double equal = 1 / static_cast<double>(keys.size());
    for (double& each : attention) {
      each /= sum;
      each = kind == CellWeights::kCells ? equal : kind == CellWeights::kHalf ? (each + equal) / 2 : each;
    }
    return attention;
  }

  TwinRow row(std::int64_t head, std::int64_t query, CellWeights kind) const {
    TwinRow row;
    for (std::int64_t key = 0; key < length(); ++key) {
      if (test.mask.visible(query, key)) {
        row.keys.push_back(key);
      }
    }
    row.p = weights(head, query, row.keys, kind);
    const std::size_t count = row.keys.size();
    row.place.resize(count);
    row.word.resize(count);
    const auto each = [&](const auto& visit) {
      for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t c = 0; c < count; ++c) {
          visit(j, c, cell(head, query, row.keys[j], row.keys[c]));
        }
      }
    };
    each([&](std::size_t j, std::size_t c, double logit) { row.mean += row.p[j] * row.p[c] * logit; });
    each([&](std::size_t j, std::size_t c, double logit) {
      row.place[j] += row.p[c] * (logit - row.mean);
      row.word[c] += row.p[j] * (logit - row.mean);
    });
    each([&](std::size_t j, std::size_t c, double logit) {
      const double rest = logit - row.mean - row.place[j] - row.word[c];
      row.both_part += row.p[j] * row.p[c] * rest * rest;
    });
    for (std::size_t n = 0; n < count; ++n) {
      row.place_part += row.p[n] * row.place[n] * row.place[n];
      row.word_part += row.p[n] * row.word[n] * row.word[n];
    }
    return row;
  }

  // The queries of addressing() without a sample.
  std::vector<std::int64_t> queries() const {
    std::vector<std::int64_t> seen;
    for (std::int64_t i = 0; i < length(); ++i) {
      seen.push_back(0);
      for (std::int64_t j = 0; j < length(); ++j) {
        seen.back() += test.mask.visible(i, j) ? 1 : 0;
      }
    }
    const std::int64_t least =
        std::max<std::int64_t>(std::min<std::int64_t>(32, *std::ranges::max_element(seen) / 2), 1);
    std::vector<std::int64_t> list;
    for (std::int64_t i = 0; i < length(); ++i) {
      if (seen[static_cast<std::size_t>(i)] > least) {
        list.push_back(i);
      }
    }
    return list;
  }

  AddressingCase test;
  position::ModelShape shape;
  std::shared_ptr<const position::PositionEncoding> encoding;
  Positions positions;
  position::Projections projections;
  position::Prepared prepared;
  std::shared_ptr<const attention::ComputedScores> scores;
  std::shared_ptr<const attention::ScoreField> field;
  std::optional<position::State> state;

 private:
  mutable at::Tensor tables_;
};

AddressingOptions all_queries(CellWeights weights = CellWeights::kHalf) {
  AddressingOptions options;
  options.weights = weights;
  options.queries = 0;
  return options;
}

class Addressing : public testing::TestWithParam<std::size_t> {
 protected:
  Addressing() : layer_(addressing_cases()[GetParam()]) {
    if (layer_.encoding->description().updates) {
      layer_.state = layer_.encoding->begin(layer_.positions, 1);
    }
  }
  AddressingLayer layer_;
};

INSTANTIATE_TEST_SUITE_P(All, Addressing, testing::Range<std::size_t>(0, addressing_cases().size()),
                         [](const auto& info) { return test::test_name(addressing_cases()[info.param].label); });

TEST_P(Addressing, sharesAreTheTwins) {
  for (const CellWeights weights : {CellWeights::kHalf, CellWeights::kCells, CellWeights::kAttention}) {
    const auto found = analysis::addressing(layer_.source(), all_queries(weights));
    ASSERT_TRUE(found.ok()) << found.error().describe();
    const std::vector<std::int64_t> queries = layer_.queries();
    EXPECT_EQ(found->queries, std::ssize(queries));
    ASSERT_EQ(found->heads.size(), static_cast<std::size_t>(kAddressingHeads));
    for (std::int64_t head = 0; head < kAddressingHeads; ++head) {
      double place = 0;
      double word = 0;
      double both = 0;
      double variance = 0;
      const auto count = static_cast<double>(queries.size());
      for (const std::int64_t query : queries) {
        const TwinRow row = layer_.row(head, query, weights);
        place += row.place_part / row.whole() / count;
        word += row.word_part / row.whole() / count;
        both += row.both_part / row.whole() / count;
        variance += row.whole() / count;
      }
      const analysis::Addressing& own = found->heads[static_cast<std::size_t>(head)];
      const std::string where = "head " + std::to_string(head) + ", weights " + std::to_string(int(weights));
      EXPECT_NEAR(own.place, place, 1e-6) << where;
      EXPECT_NEAR(own.word, word, 1e-6) << where;
      EXPECT_NEAR(own.both, both, 1e-6) << where;
      EXPECT_NEAR(own.spread, std::sqrt(variance), 1e-6 * (1 + std::sqrt(variance))) << where;
      EXPECT_NEAR(own.place + own.word + own.both, 1, 1e-12) << where;
    }
  }
}

TEST_P(Addressing, theWayIsTheEncodings) {
  const auto found = analysis::addressing(layer_.source());
  ASSERT_TRUE(found.ok()) << found.error().describe();
  EXPECT_EQ(found->way, layer_.test.way);
  for (const analysis::Addressing& head : found->heads) {
    if (found->way == AddressingWay::kSum) {
      EXPECT_LE(std::abs(head.both), 1e-12);
    }
    if (layer_.test.name == "none") {
      EXPECT_EQ(head.place, 0);
      EXPECT_EQ(head.word, 1);
    }
  }
}

TEST_P(Addressing, aRowIsTheTwinsAndSumsToItsLogits) {
  const std::int64_t head = 3;
  const std::int64_t query = layer_.length() - 3;
  const auto found = analysis::addressing_row(layer_.source(), head, query);
  ASSERT_TRUE(found.ok()) << found.error().describe();
  const TwinRow row = layer_.row(head, query, CellWeights::kHalf);
  ASSERT_EQ(found->keys, row.keys);
  for (std::size_t n = 0; n < row.keys.size(); ++n) {
    const double logit = layer_.cell(head, query, row.keys[n], row.keys[n]);
    EXPECT_NEAR(found->place[n], row.place[n], 2e-6 * (1 + std::abs(row.place[n]))) << n;
    EXPECT_NEAR(found->word[n], row.word[n], 2e-6 * (1 + std::abs(row.word[n]))) << n;
    EXPECT_NEAR(found->logit[n], logit, 2e-6 * (1 + std::abs(logit))) << n;
    EXPECT_NEAR(found->mean + found->place[n] + found->word[n] + found->both[n], found->logit[n], 1e-9) << n;
  }
  EXPECT_NEAR(found->place_share, row.place_part / row.whole(), 1e-6);
  EXPECT_NEAR(found->word_share, row.word_part / row.whole(), 1e-6);
  EXPECT_NEAR(found->both_share, row.both_part / row.whole(), 1e-6);
  EXPECT_NEAR(found->spread, std::sqrt(row.whole()), 1e-6 * (1 + std::sqrt(row.whole())));
}

// Of every pair's part of the table, made of a query of which its channels alone are left.
TEST_P(Addressing, spectraSumToTheSharesAndAreTheTwins) {
  const std::int64_t head = 1;
  const auto found = analysis::addressing_spectrum(layer_.source(), head, all_queries());
  if (layer_.test.way != AddressingWay::kPairs) {
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(found.ok()) << found.error().describe();
  const auto sum = [](const std::vector<double>& list) { return std::accumulate(list.begin(), list.end(), 0.0); };
  EXPECT_NEAR(sum(found->place), found->head.place, 1e-6);
  EXPECT_NEAR(sum(found->word), found->head.word, 1e-6);
  EXPECT_NEAR(sum(found->both), found->head.both, 1e-6);
  const bool polar = layer_.test.name == "pope";
  const auto form = position::pair_form(*layer_.encoding, layer_.prepared, 0);
  const std::vector<std::int64_t> queries = layer_.queries();
  const auto rows = static_cast<std::int64_t>(found->place.size());
  EXPECT_EQ(rows, form->pairs() + (form->rest.empty() ? 0 : 1));
  for (const std::int64_t m : {std::int64_t{0}, std::int64_t{1}, rows - 1}) {
    AddressingLayer own(layer_.test);
    std::vector<std::int64_t> kept = m < form->pairs() ? form->channels[static_cast<std::size_t>(m)] : form->rest;
    const at::Tensor query = layer_.projections.query;
    own.projections.query = at::zeros_like(query);
    if (polar) {  // whose channels have a magnitude at 0, and none far below; the vectors of the score are wider
      own.projections.query.slice(3, 0, form->pairs()).fill_(-1e3);
      kept = m < form->pairs() ? std::vector{m} : position::channels_from(form->pairs(), query.size(3));
    }
    for (const std::int64_t channel : kept) {
      own.projections.query.select(3, channel).copy_(query.select(3, channel));
    }
    double place = 0;
    double word = 0;
    double both = 0;
    for (const std::int64_t i : queries) {
      const TwinRow whole = layer_.row(head, i, CellWeights::kHalf);
      const std::size_t count = whole.keys.size();
      const auto part = [&](std::size_t j, std::size_t c) { return own.cell(head, i, whole.keys[j], whole.keys[c]); };
      std::vector<double> a(count);
      std::vector<double> b(count);
      double mean = 0;
      for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t c = 0; c < count; ++c) {
          a[j] += whole.p[c] * part(j, c);
          b[c] += whole.p[j] * part(j, c);
          mean += whole.p[j] * whole.p[c] * part(j, c);
        }
      }
      const double share = 1 / (whole.whole() * static_cast<double>(queries.size()));
      for (std::size_t j = 0; j < count; ++j) {
        place += share * whole.p[j] * (a[j] - mean) * whole.place[j];
        word += share * whole.p[j] * (b[j] - mean) * whole.word[j];
        for (std::size_t c = 0; c < count; ++c) {
          const double rest =
              layer_.cell(head, i, whole.keys[j], whole.keys[c]) - whole.mean - whole.place[j] - whole.word[c];
          both += share * whole.p[j] * whole.p[c] * (part(j, c) - a[j] - b[c] + mean) * rest;
        }
      }
    }
    EXPECT_NEAR(found->place[static_cast<std::size_t>(m)], place, 1e-6) << m;
    EXPECT_NEAR(found->word[static_cast<std::size_t>(m)], word, 1e-6) << m;
    EXPECT_NEAR(found->both[static_cast<std::size_t>(m)], both, 1e-6) << m;
  }
}

// Swaps the contents of two keys, and makes the whole row's weights anew.
TEST_P(Addressing, swapScoresAreThoseOfSwappedContents) {
  constexpr double kTemperature = 0.05;
  AddressingOptions options;
  options.queries = 2;
  const auto found = analysis::swap_scores(layer_.source(), kTemperature, options);
  ASSERT_TRUE(found.ok()) << found.error().describe();
  const std::int64_t head = 2;
  double positional = 0;
  double symbolic = 0;
  options.queries = 0;
  const std::vector<std::int64_t> all = layer_.queries();
  std::mt19937_64 random(options.seed);
  std::vector<std::int64_t> chosen;
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), 2, random);
  for (const std::int64_t query : chosen) {
    std::vector<std::int64_t> keys;
    for (std::int64_t key = 0; key < layer_.length(); ++key) {
      if (layer_.test.mask.visible(query, key)) {
        keys.push_back(key);
      }
    }
    const auto attention = [&](std::int64_t j, std::int64_t c) {
      std::vector<double> row;
      double sum = 0;
      for (const std::int64_t key : keys) {
        row.push_back(std::exp(layer_.cell(head, query, key, key == j ? c : key == c ? j : key)));
        sum += row.back();
      }
      for (double& each : row) {
        each /= sum;
      }
      return row;
    };
    const std::vector<double> before = attention(-1, -1);
    double sum = 0;
    double position = 0;
    double symbol = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      for (std::size_t c = j + 1; c < keys.size(); ++c) {
        if (keys[j] == query || keys[c] == query) {
          continue;
        }
        const std::vector<double> after = attention(keys[j], keys[c]);
        const double norms = std::hypot(before[j], before[c]) * std::hypot(after[j], after[c]);
        const double weight = std::exp(std::abs(before[j] - before[c]) / kTemperature);
        position += weight * (before[j] * after[j] + before[c] * after[c]) / norms;
        symbol += weight * (before[j] * after[c] + before[c] * after[j]) / norms;
        sum += weight;
      }
    }
    positional += position / sum / 2;
    symbolic += symbol / sum / 2;
  }
  EXPECT_NEAR((*found)[static_cast<std::size_t>(head)].positional, positional, 1e-4);
  EXPECT_NEAR((*found)[static_cast<std::size_t>(head)].symbolic, symbolic, 1e-4);
}

// Mean and standard error over seeds of the shares of one head.
struct OverSeeds {
  double place = 0, word = 0, both = 0;
  double place_error = 0, word_error = 0, both_error = 0;
};
OverSeeds over_seeds(const AddressingLayer& layer, std::int64_t head, CellWeights weights, int seeds,
                     std::int64_t query) {
  OverSeeds sums;
  double place_squares = 0;
  double word_squares = 0;
  double both_squares = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    AddressingOptions options = all_queries(weights);
    options.seed = static_cast<std::uint64_t>(seed);
    const auto split = analysis::split_by_contents(layer.source(), options, true);
    const auto block = analysis::query_block(layer.source(), {query}, {head, head + 1}, weights);
    const auto parts = (*split)->split(*block, {head, head + 1}, {}, {});
    const analysis::QueryParts& own = parts->front();
    sums.place += own.place[0] / seeds;
    sums.word += own.word[0] / seeds;
    sums.both += own.both[0] / seeds;
    place_squares += own.place[0] * own.place[0] / seeds;
    word_squares += own.word[0] * own.word[0] / seeds;
    both_squares += own.both[0] * own.both[0] / seeds;
  }
  const auto error = [&](double squares, double mean) {
    return std::sqrt(std::max(squares - mean * mean, 0.0) / (seeds - 1));
  };
  sums.place_error = error(place_squares, sums.place);
  sums.word_error = error(word_squares, sums.word);
  sums.both_error = error(both_squares, sums.both);
  return sums;
}

constexpr double kErrors = 4.5;  // standard errors: one of 150,000 comparisons is further off

TEST(Addressing, permutationsAgreeWithClosedFormsWithinTheirError) {
  for (const char* name : {"rope", "alibi", "tapa"}) {
    const AddressingLayer layer({name, name, {}});
    for (const CellWeights weights : {CellWeights::kHalf, CellWeights::kCells}) {
      const TwinRow exact = layer.row(1, 38, weights);
      const OverSeeds found = over_seeds(layer, 1, weights, 60, 38);
      EXPECT_NEAR(found.place, exact.place_part, kErrors * found.place_error + 1e-6) << name;
      EXPECT_NEAR(found.word, exact.word_part, kErrors * found.word_error + 1e-6) << name;
      EXPECT_NEAR(found.both, exact.both_part, kErrors * found.both_error + 1e-6) << name;
      EXPECT_LT(found.both_error, 0.1 * exact.whole()) << name;  // an error that hides nothing
    }
  }
}

// All arrangements of the keys of a short text.
TEST(Addressing, permutationsOfWhatStandsBetweenAreUnbiased) {
  constexpr std::int64_t kShort = 6;
  constexpr std::int64_t kQuery = kShort - 1;
  const std::vector<std::pair<std::string, Settings>> cases{
      {"cope", {}},
      {"cope", {{"gates", std::string("value")}}},
      {"cope", {{"with", std::string("rope")}}},
      {"cope", {{"with", std::string("rope")}, {"gates", std::string("sep-key")}}},
      {"cope", {{"with", std::string("rope")}, {"gates", std::string("value")}}},
      {"fox", {}},
      {"fox", {{"rope", true}}},
      {"path", {{"taps", std::int64_t{0}}}},
      {"path", {{"taps", std::int64_t{0}}, {"gates", true}}},
      {"selective", {}},
      {"stick-breaking", {}}};
  for (const auto& [name, options] : cases) {
    const AddressingLayer layer({name, name, options}, kShort);
    const auto found = analysis::addressing(layer.source());
    ASSERT_TRUE(found.ok()) << found.error().describe();
    EXPECT_EQ(found->way, AddressingWay::kPermutations);
    for (const CellWeights weights : {CellWeights::kHalf, CellWeights::kCells}) {
      const std::int64_t head = 2;
      const auto block = analysis::query_block(layer.source(), {kQuery}, {head, head + 1}, weights);
      const double* const p = block->weights.data_ptr<double>();
      std::vector<std::int64_t> order(kShort);
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::vector<double> place(kShort);
      std::vector<double> word(kShort);
      double mean = 0;
      double squares = 0;
      double count = 0;
      do {
        position::Projections moved = layer.projections;
        const at::Tensor which = at::tensor(order, at::kLong);
        moved.key = moved.key.index_select(2, which);
        moved.value = moved.value.index_select(2, which);
        moved.hidden = moved.hidden.index_select(1, which);
        position::Prepared prepared = layer.encoding->prepare(layer.encoding->begin(layer.positions, 1), 0, moved);
        if (layer.encoding->description().forgets) {
          prepared.gate_query = layer.prepared.gate_query.index_select(2, which);
        }
        const at::Tensor logits = whole_map(*layer.encoding, prepared).logits[0][head][kQuery].to(at::kDouble);
        for (std::int64_t j = 0; j < kShort; ++j) {
          const auto c = static_cast<std::size_t>(order[static_cast<std::size_t>(j)]);
          const double logit = logits[j].item<double>() * kShort;  // n p_j p_c weighs a cell
          place[static_cast<std::size_t>(j)] += p[c] * logit;
          word[c] += p[j] * logit;
          mean += p[j] * p[c] * logit;
          squares += p[j] * p[c] * logit * logit / kShort;
        }
        ++count;
      } while (std::ranges::next_permutation(order).found);
      mean /= count;
      double place_part = -mean * mean;
      double word_part = -mean * mean;
      for (std::size_t n = 0; n < place.size(); ++n) {
        place_part += p[n] * std::pow(place[n] / count, 2);
        word_part += p[n] * std::pow(word[n] / count, 2);
      }
      const double both_part = squares / count - mean * mean - place_part - word_part;
      const OverSeeds own = over_seeds(layer, head, weights, 100, kQuery);
      EXPECT_NEAR(own.place, place_part, kErrors * own.place_error + 1e-6) << name;
      EXPECT_NEAR(own.word, word_part, kErrors * own.word_error + 1e-6) << name;
      EXPECT_NEAR(own.both, both_part, kErrors * own.both_error + 1e-6) << name;
    }
  }
}

// More keys and queries than a tile holds, and a key far from all others, as a sink is.
TEST(Addressing, tilesAgreeWithFloat64OnLongTexts) {
  constexpr std::int64_t kLong = 600;
  for (const char* label : {"rope", "rope partial", "rope in a window", "rope in chunks", "rope-mixed"}) {
    AddressingCase test;
    for (const AddressingCase& each : addressing_cases()) {
      test = each.label == label ? each : test;
    }
    AddressingLayer layer(test, kLong);
    if (!test.image) {
      layer.projections.key.select(2, 0).mul_(20);
      layer.prepared = layer.encoding->prepare(layer.encoding->begin(layer.positions, 1), 0, layer.projections);
    }
    const attention::ComputedScores scores(layer.encoding, 0, layer.prepared, layer.scores->log_sum_exp());
    const analysis::AddressingSource source{*layer.field, scores};
    std::vector<std::int64_t> queries;
    for (std::int64_t query = test.image ? 3 : 33; query < layer.length(); query += 7) {
      queries.push_back(query);
    }
    const Range heads{0, kAddressingHeads};
    for (const CellWeights weights : {CellWeights::kHalf, CellWeights::kCells}) {
      const auto split = analysis::split_by_pairs(source, weights);
      const auto block = analysis::query_block(source, queries, heads, weights);
      ASSERT_TRUE(split.ok() && block.ok());
      const auto tiled = (*split)->split(*block, heads, {}, {});
      const auto exact = (*split)->split(*block, heads, {.effects = true}, {});
      ASSERT_TRUE(tiled.ok() && exact.ok());
      for (std::size_t head = 0; head < exact->size(); ++head) {
        const analysis::QueryParts& own = (*tiled)[head];
        const analysis::QueryParts& twin = (*exact)[head];
        double difference = 0;
        double count = 0;
        for (std::size_t n = 0; n < queries.size(); ++n) {
          const double whole = variance_of(twin, n);
          if (whole == 0) {  // one key
            continue;
          }
          const std::string where =
              std::string(label) + ", head " + std::to_string(head) + ", query " + std::to_string(queries[n]);
          EXPECT_NEAR(own.place[n] / whole, twin.place[n] / whole, 5e-6) << where;
          EXPECT_NEAR(own.word[n] / whole, twin.word[n] / whole, 5e-6) << where;
          EXPECT_NEAR(own.both[n] / whole, twin.both[n] / whole, 5e-6) << where;
          difference += own.both[n] / variance_of(own, n) - twin.both[n] / whole;
          ++count;
        }
        EXPECT_GE(count, 5);
        EXPECT_NEAR(difference / count, 0, 5e-7) << label << ", head " << head;
      }
    }
  }
}

TEST(Addressing, purePlacesAndPureWordsAreWhole) {
  AddressingLayer layer({"rope", "rope", {}});
  layer.projections.key = layer.projections.key.slice(2, 5, 6).expand_as(layer.projections.key).contiguous();
  const auto prepared = layer.encoding->prepare(layer.encoding->begin(layer.positions, 1), 0, layer.projections);
  const attention::ComputedScores scores(layer.encoding, 0, prepared,
                                         at::full({1, kAddressingHeads, layer.length()}, 5.0));
  const auto found = analysis::addressing({*layer.field, scores}, {.weights = CellWeights::kCells});
  ASSERT_TRUE(found.ok());
  for (const analysis::Addressing& head : found->heads) {
    EXPECT_NEAR(head.place, 1, 1e-6);
    EXPECT_NEAR(head.word, 0, 1e-6);
  }
}

TEST(Addressing, fewCellsAreOfFewQueries) {
  for (const auto& [name, queries] : {std::pair("tapa", 3), std::pair("cope", 4), std::pair("rope", 87)}) {
    const AddressingLayer layer({name, name, {}}, 120);
    AddressingOptions options = all_queries();
    options.cells = 3 * 120 * 120;
    options.permutations = 90;
    const auto found = analysis::addressing(layer.source(), options);
    ASSERT_TRUE(found.ok()) << found.error().describe();
    EXPECT_GE(found->queries, queries) << name;
    EXPECT_LE(found->queries, name == std::string("rope") ? 88 : 3 * queries) << name;
  }
  EXPECT_EQ(analysis::addressing(AddressingLayer({"rope", "rope", {}}).source(), {.cells = 0}).error().code,
            ErrorCode::kBadInput);
}

TEST(Addressing, contentsThatAreNoneAndHeadsThatAreNotThereAreRefused) {
  for (const char* name : {"learned", "sinusoidal"}) {
    const AddressingLayer layer({name, name, {}});
    const auto found = analysis::addressing(layer.source());
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(found.error().message.find("no content apart from their place"), std::string::npos);
  }
  const AddressingLayer layer({"rope", "rope", {}});
  EXPECT_EQ(analysis::addressing_row(layer.source(), 4, 3).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::addressing_row(layer.source(), 0, 41).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::addressing_spectrum(layer.source(), -1).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::addressing(layer.source(), {.permutations = 3}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(analysis::swap_scores(layer.source(), 0).error().code, ErrorCode::kBadInput);
  const AddressingLayer brief({"rope", "rope", {}}, 2);
  EXPECT_EQ(analysis::addressing(brief.source()).error().code, ErrorCode::kBadInput);
  const auto shortest = analysis::swap_scores(AddressingLayer({"rope", "rope", {}}, 3).source(), 1);
  ASSERT_TRUE(shortest.ok());
  EXPECT_TRUE(std::isfinite(shortest->front().positional));  // of the last query alone: the one before has one key
  const AddressingLayer counting({"cope", "cope", {}});
  EXPECT_EQ(analysis::swap_scores(counting.source(), 1).error().code, ErrorCode::kUnsupported);
}

TEST(Addressing, aSampleIsOneOfItsSizeAndItsIntervalHoldsTheMean) {
  const AddressingLayer layer({"rope", "rope", {}}, 120);
  const auto all = analysis::addressing(layer.source(), all_queries());
  AddressingOptions options;
  options.queries = 40;
  const auto some = analysis::addressing(layer.source(), options);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_EQ(some->queries, 40);
  for (std::size_t head = 0; head < all->heads.size(); ++head) {
    const analysis::Addressing& own = some->heads[head];
    EXPECT_GT(own.place_half, 0);
    EXPECT_NEAR(own.place, all->heads[head].place, 2 * own.place_half);
    EXPECT_NEAR(own.word, all->heads[head].word, 2 * own.word_half);
  }
  const auto again = analysis::addressing(layer.source(), options);
  EXPECT_EQ(again->heads[0].place, some->heads[0].place);
}

}  // namespace
}  // namespace locus::test
