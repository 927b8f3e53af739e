// Fused fields against whole maps made by score() alone, for every encoding and quantity; samples, bands, stopping.
#include "core/attention/fused_scores.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <thread>

#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "tests/support/encodings.h"

namespace locus {
namespace {

using attention::Mask;
using attention::Quantity;
using attention::ScoreField;

constexpr float kFusedScoresTolerance = 1e-5F;

bool close(float got, float want, float tolerance = kFusedScoresTolerance) {
  return std::isnan(want) ? std::isnan(got) : std::abs(got - want) <= tolerance * (1 + std::abs(want));
}

struct FusedLayer {
  std::shared_ptr<const position::PositionEncoding> encoding;
  position::Prepared prepared;
  at::Tensor sums;

  FusedLayer(const std::string& name, const Settings& options, std::int64_t length, const Mask& mask) {
    const at::NoGradGuard no_grad;
    at::manual_seed(5);
    position::ModelShape shape;
    shape.heads = 4;
    shape.kv_heads = 2;
    shape.head_width = 8;
    shape.width = 32;
    shape.trained_length = 512;
    auto made = position::make_encoding(name, options, shape);
    EXPECT_TRUE(made.ok()) << name;
    for (const position::Parameter& parameter : (*made)->parameters()) {
      parameter.value->copy_(at::randn(parameter.value->sizes()) * 0.1);
    }
    encoding = std::move(*made);
    position::Projections projections;
    projections.query = at::randn({1, 4, length, 8});
    projections.key = at::randn({1, 2, length, 8});
    projections.value = at::randn({1, 2, length, 8});
    projections.hidden = at::randn({1, length, 32});
    prepared = encoding->prepare(encoding->begin(position::Positions::sequence(length), 1), 0, projections);
    sums = attention::attend_whole_map({*encoding, prepared, 0, projections.value, {}, mask}).log_sum_exp;
  }

  ScoreField field(const Mask& mask) const {
    return {std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, sums), mask};
  }

  // (T, T) of one head by score() alone; undefined where the encoding has no such quantity.
  at::Tensor whole(Quantity quantity, std::int64_t head, const Mask& mask) const {
    const at::NoGradGuard no_grad;
    const Range all{0, prepared.query.size(2)};
    position::Prepared exact = prepared;
    if (encoding->needs_carry() && attention::RowProgram::make(*encoding, prepared, 0, mask)) {
      // Sums of gates in float64: those in float32 would differ among themselves by what is tolerated here.
      for (at::Tensor* tensor :
           {&exact.query, &exact.key, &exact.content_query, &exact.content_key, &exact.gate_query, &exact.gate_key}) {
        *tensor = tensor->defined() ? tensor->to(at::kDouble) : *tensor;
      }
    }
    const position::TileScores scores = encoding->score(exact, {0, {0, 4}, all, all}, {true, true, true, false});
    at::Tensor map;
    switch (quantity) {
      case Quantity::kWeight:
        map = (scores.logits - sums.unsqueeze(-1)).exp();
        break;
      case Quantity::kLogit:
        map = scores.logits;
        break;
      case Quantity::kContent:
        map = scores.content;
        break;
      case Quantity::kContribution:
        map = scores.content.defined() ? scores.logits - scores.content : at::Tensor();
        break;
      case Quantity::kGate:
        map = scores.gates;
        break;
      case Quantity::kPosition:
        map = scores.positions;
        break;
      case Quantity::kC2p:
      case Quantity::kP2c:
      case Quantity::kImplied:
      case Quantity::kDeviation:
      case Quantity::kCarried:
        break;
    }
    if (!map.defined()) {
      return map;
    }
    const double empty = quantity == Quantity::kWeight ? 0.0 : std::nan("");
    return map[0][head].to(at::kFloat).masked_fill(mask.hidden(all, all, at::kCPU), empty).contiguous();
  }
};

struct Case {
  std::string name;
  Settings options;
};

std::vector<Case> cases() {
  std::vector<Case> list{{"cope", {{"gates", "sep-key"}}},
                         {"cope", {{"gates", "value"}}},
                         {"cope", {{"with", "rope"}}},
                         {"cope", {{"with", "relative"}}},
                         {"cope", {{"form", "alibi"}}},
                         {"cope", {{"form", "mlp"}}},
                         {"cope", {{"p_max", std::int64_t{5}}, {"scale_positions", true}}}};
  for (const position::Entry& entry : position::encodings()) {
    if (test::takes_sequences(entry.description.name)) {
      list.push_back({entry.description.name, {}});
    }
  }
  return list;
}

constexpr std::array kQuantities{Quantity::kWeight,       Quantity::kLogit, Quantity::kContent,
                                 Quantity::kContribution, Quantity::kGate,  Quantity::kPosition};

TEST(FusedScores, MapsEqualTheWholeMapForEveryEncodingAndQuantity) {
  constexpr std::int64_t kLength = 300;
  for (const Mask& mask : {Mask{true, 0}, Mask{true, 70}}) {
    for (const Case& each : cases()) {
      const FusedLayer layer(each.name, each.options, kLength, mask);
      const ScoreField field = layer.field(mask);
      for (const Quantity quantity : kQuantities) {
        const at::Tensor want = layer.whole(quantity, 3, mask);
        const Range rows{37, 251};
        const Range columns{5, 190};
        const auto got = field.map({quantity, 3, rows, columns});
        ASSERT_EQ(got.ok(), want.defined()) << each.name << describe(quantity);
        if (!got.ok()) {
          continue;
        }
        const auto cells = want.accessor<float, 2>();
        for (std::int64_t row = rows.begin; row < rows.end; ++row) {
          for (std::int64_t column = columns.begin; column < columns.end; ++column) {
            const float value = got->at(row - rows.begin, column - columns.begin);
            ASSERT_TRUE(close(value, cells[row][column]))
                << each.name << " " << describe(quantity) << " " << row << ", " << column << ": " << value << ", "
                << cells[row][column];
          }
        }
      }
    }
  }
}

TEST(FusedScores, OverviewsAndPreviewsEqualBruteForce) {
  constexpr std::int64_t kLength = 290;
  constexpr std::int64_t kHeight = 37;
  constexpr std::int64_t kWidth = 41;
  const Mask mask{true, 0};
  for (const Case& each : {Case{"rope", {}}, Case{"cope", {}}, Case{"cope", {{"form", "alibi"}}}, Case{"alibi", {}}}) {
    const FusedLayer layer(each.name, each.options, kLength, mask);
    const ScoreField field = layer.field(mask);
    for (const Quantity quantity : {Quantity::kWeight, Quantity::kLogit}) {
      const at::Tensor want = layer.whole(quantity, 1, mask);
      const auto cells = want.accessor<float, 2>();
      const auto preview = field.preview({quantity, 1, {}, {}}, kHeight, kWidth);
      const auto mean = field.overview({quantity, 1, {}, {}}, kHeight, kWidth, Reduction::kMean);
      const auto maximum = field.overview({quantity, 1, {}, {}}, kHeight, kWidth, Reduction::kMax);
      ASSERT_TRUE(preview.ok() && mean.ok() && maximum.ok()) << each.name;
      for (std::int64_t y = 0; y < kHeight; ++y) {
        for (std::int64_t x = 0; x < kWidth; ++x) {
          const Range rows{y * kLength / kHeight, (y + 1) * kLength / kHeight};
          const Range columns{x * kLength / kWidth, (x + 1) * kLength / kWidth};
          double sum = 0;
          float largest = -std::numeric_limits<float>::infinity();
          int count = 0;
          for (std::int64_t row = rows.begin; row < rows.end; ++row) {
            for (std::int64_t column = columns.begin; column < columns.end && column <= row; ++column) {
              sum += cells[row][column];
              largest = std::max(largest, cells[row][column]);
              ++count;
            }
          }
          EXPECT_TRUE(close(preview->at(y, x), cells[rows.end - 1][columns.begin])) << each.name << y << ", " << x;
          if (count > 0) {
            EXPECT_TRUE(close(mean->at(y, x), static_cast<float>(sum / count))) << each.name << y << ", " << x;
            EXPECT_TRUE(close(maximum->at(y, x), largest)) << each.name << y << ", " << x;
          } else {
            EXPECT_TRUE(close(mean->at(y, x), quantity == Quantity::kWeight ? 0.0F : std::nanf("")));
          }
        }
      }
    }
  }
}

TEST(FusedScores, UnsummedRowsAreSummedWhenLookedAt) {
  const Mask mask{true, 0};
  const FusedLayer layer("cope", {}, 200, mask);
  const auto source = attention::ComputedScores::unsummed(layer.encoding, 0, layer.prepared, mask);
  ASSERT_NE(source, nullptr);
  const ScoreField lazy(source, mask);
  const ScoreField eager = layer.field(mask);
  for (const std::int64_t head : {std::int64_t{2}, attention::kMeanHead}) {
    const auto got = lazy.map({Quantity::kWeight, head, {}, {}});
    const auto want = eager.map({Quantity::kWeight, head, {}, {}});
    ASSERT_TRUE(got.ok() && want.ok());
    for (std::int64_t row = 0; row < 200; ++row) {
      double sum = 0;
      for (std::int64_t column = 0; column < 200; ++column) {
        EXPECT_TRUE(close(got->at(row, column), want->at(row, column)));
        sum += got->at(row, column);
      }
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
  }
  EXPECT_LE(((source->log_sum_exp() - layer.sums).abs() / (1 + layer.sums.abs())).max().item<float>(),
            kFusedScoresTolerance);
}

TEST(FusedScores, BandsTogetherAreTheOverview) {
  for (const auto& [name, options] :
       {std::pair<const char*, Settings>{"rope", {}}, {"cope", {}}, {"cope", {{"form", "mlp"}}}, {"alibi", {}}}) {
    const Mask mask{true, 0};
    const ScoreField field = FusedLayer(name, options, 300, mask).field(mask);
    for (const Quantity quantity : {Quantity::kWeight, Quantity::kLogit}) {
      for (const Reduction reduction : {Reduction::kMax, Reduction::kMean}) {
        const attention::Region region{quantity, 1, {11, 300}, {}};
        const auto whole = field.overview(region, 70, 50, reduction);
        ASSERT_TRUE(whole.ok());
        for (Range band{0, 1}; band.begin < 70; band = {band.end, std::min<std::int64_t>(2 * band.end + 3, 70)}) {
          const auto part = field.overview(region, 70, 50, reduction, {}, band);
          ASSERT_TRUE(part.ok()) << part.error().describe();
          ASSERT_EQ(part->rows, band.size());
          EXPECT_NEAR(part->row_axis.first, 11 + static_cast<double>(band.begin) * 289 / 70, 1e-9);
          EXPECT_EQ(part->row_axis.step, whole->row_axis.step);
          for (std::int64_t r = 0; r < band.size(); ++r) {
            for (std::int64_t c = 0; c < 50; ++c) {
              ASSERT_TRUE(close(part->at(r, c), whole->at(band.begin + r, c))) << name << ": " << r << ", " << c;
            }
          }
        }
      }
    }
    for (const Range wrong : {Range{-1, 3}, Range{60, 71}, Range{5, 5}}) {
      EXPECT_EQ(field.overview({Quantity::kLogit, 0, {}, {}}, 70, 50, Reduction::kMax, {}, wrong).error().code,
                ErrorCode::kBadInput);
    }
  }
}

// Whenever the request to stop comes, the answer is either "cancelled" or right, and so is the next one.
TEST(FusedScores, StopsWhileItRunsAndLeavesNothingBehind) {
  const Mask mask{true, 0};
  const FusedLayer layer("rope", {}, 2000, mask);
  const attention::Region region{Quantity::kWeight, 0, {}, {}};
  const auto want = layer.field(mask).overview(region, 100, 100, Reduction::kMax);
  ASSERT_TRUE(want.ok());
  const auto expect_right = [&](const Field& got) {
    for (std::size_t n = 0; n < want->values.size(); ++n) {
      ASSERT_TRUE(close(got.values[n], want->values[n])) << n;
    }
  };
  for (int step = 0; step < 8; ++step) {
    // Rows are summed on the way: what a stopped overview leaves of them must hold.
    const ScoreField field(attention::ComputedScores::unsummed(layer.encoding, 0, layer.prepared, mask), mask);
    std::stop_source stop;
    std::jthread other([&, step] {
      for (int turn = 0; turn < 100 * step; ++turn) {
        std::this_thread::yield();
      }
      stop.request_stop();
    });
    if (step == 0) {
      other.join();
    }
    const auto stopped = field.overview(region, 100, 100, Reduction::kMax, stop.get_token());
    EXPECT_TRUE(step > 0 || !stopped.ok());
    if (stopped.ok()) {
      expect_right(*stopped);
    } else {
      EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    }
    const auto after = field.overview(region, 100, 100, Reduction::kMax);
    ASSERT_TRUE(after.ok());
    expect_right(*after);
  }
}

TEST(FusedScores, TheMaximumFindsOnePlantedSpikeOfALongHead) {
  constexpr std::int64_t kLength = 16384;
  constexpr std::int64_t kRow = 12345;
  constexpr std::int64_t kColumn = 6789;
  const at::NoGradGuard no_grad;
  at::manual_seed(2);
  position::ModelShape shape;
  shape.head_width = shape.width = 4;
  std::shared_ptr<const position::PositionEncoding> encoding = *position::make_encoding("none", {}, shape);
  at::Tensor query = at::randn({1, 1, kLength, 4}) * 0.1;
  at::Tensor key = at::randn({1, 1, kLength, 4}) * 0.1;
  query[0][0][kRow].fill_(3);
  key[0][0][kColumn].fill_(3);
  const position::Prepared prepared =
      encoding->prepare(encoding->begin(position::Positions::sequence(kLength), 1), 0, {query, key, key, {}});
  const ScoreField field(attention::ComputedScores::unsummed(encoding, 0, prepared, {true, 0}), {true, 0});
  const auto overview = field.overview({Quantity::kLogit, 0, {}, {}}, 256, 256, Reduction::kMax);
  ASSERT_TRUE(overview.ok());
  std::size_t best = 0;
  for (std::size_t n = 0; n < overview->values.size(); ++n) {
    best = overview->values[n] > overview->values[best] || std::isnan(overview->values[best]) ? n : best;
  }
  EXPECT_EQ(best / 256, static_cast<std::size_t>(kRow * 256 / kLength));
  EXPECT_EQ(best % 256, static_cast<std::size_t>(kColumn * 256 / kLength));
}

TEST(FusedScores, EveryVectorWidthGivesTheSame) {
  const at::NoGradGuard no_grad;
  at::manual_seed(4);
  const at::Tensor a = at::randn({9, 64});
  const at::Tensor b = at::randn({13, 9});
  const at::Tensor want = at::matmul(b, a);
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    const attention::LaneKernels& kernels = attention::lane_kernels(version);
    at::Tensor s = at::empty({13, 64});
    kernels.product(a.data_ptr<float>(), b.data_ptr<float>(), 9, 1, 9, 13, 64, false, s.data_ptr<float>());
    EXPECT_TRUE(at::allclose(s, want, 1e-5, 1e-5)) << version;
    at::Tensor maximum = at::full({64}, -std::numeric_limits<float>::infinity());
    at::Tensor sum = at::zeros({64});
    at::Tensor rescale = at::zeros({64});
    at::Tensor gates = want.clone();
    kernels.gate(gates.data_ptr<float>(), 13);
    EXPECT_TRUE(at::allclose(gates, at::sigmoid(want), 1e-6, 1e-7)) << version;
    EXPECT_TRUE(kernels.online_softmax_step(s.data_ptr<float>(), 13, 64, maximum.data_ptr<float>(),
                                            sum.data_ptr<float>(), rescale.data_ptr<float>()));
    EXPECT_TRUE(at::allclose(sum.log() + maximum, at::logsumexp(want, 0), 1e-5, 1e-5)) << version;
    at::Tensor positions = at::empty({13, 64});
    at::Tensor sums = at::zeros({2, 64});
    at::Tensor excess = at::empty({13, 64});
    kernels.count(gates.data_ptr<float>(), 13, 4, 64, sums.data_ptr<float>(), positions.data_ptr<float>(),
                  excess.data_ptr<float>());
    const at::Tensor whole = at::sigmoid(want).flip(0).cumsum(0).flip(0);
    EXPECT_TRUE(at::allclose(positions, whole.clamp_max(4), 1e-5, 1e-5)) << version;
    const at::Tensor z = at::randn({5, 64});
    at::Tensor logits = at::zeros({13, 64});
    kernels.interpolate(logits.data_ptr<float>(), positions.data_ptr<float>(), excess.data_ptr<float>(),
                        z.data_ptr<float>(), 4, 13);
    const at::Tensor low = z.gather(0, positions.floor().to(at::kLong));
    const at::Tensor high = z.gather(0, positions.ceil().to(at::kLong));
    EXPECT_TRUE(at::allclose(logits, low + (positions - positions.floor()) * (high - low), 1e-5, 1e-5)) << version;
  }
}

}  // namespace
}  // namespace locus
