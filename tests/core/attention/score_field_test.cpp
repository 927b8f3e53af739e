// Maps and their reductions against brute force.
#include "core/attention/score_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/position/list.h"

namespace locus {
namespace {

using attention::Quantity;

// A field of one layer of `name` over `length` tokens.
attention::ScoreField field_of(const std::string& name, std::int64_t length, attention::Mask mask,
                               const at::Tensor& query = {}, const Settings& options = {}) {
  const at::NoGradGuard no_grad;
  at::manual_seed(3);
  position::ModelShape shape;
  shape.heads = shape.kv_heads = 2;
  shape.head_width = 8;
  shape.width = 16;
  shape.trained_length = 64;
  std::shared_ptr<const position::PositionEncoding> encoding = *position::make_encoding(name, options, shape);
  position::Projections projections;
  projections.query = query.defined() ? query : at::randn({1, 2, length, 8}) * 2;
  projections.key = projections.value = at::randn({1, 2, length, 8});
  projections.hidden = at::randn({1, length, 16});
  const position::State state = encoding->begin(position::Positions::sequence(length), 1);
  const position::Prepared prepared = encoding->prepare(state, 0, projections);
  const attention::Attention attention{*encoding, prepared, 0, projections.value, {}, mask};
  const attention::Attended attended = *attend_streaming(attention);
  return {
      std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, attended.log_sum_exp, attended.chosen),
      mask};
}

TEST(ScoreField, WeightsOfARowSumToOneAndHiddenCellsAreZero) {
  for (const char* name : {"rope", "cope", "alibi"}) {
    const auto map = field_of(name, 37, {true, 0}).map({Quantity::kWeight, 1, {}, {}});
    ASSERT_TRUE(map.ok());
    for (std::int64_t row = 0; row < 37; ++row) {
      double sum = 0;
      for (std::int64_t column = 0; column < 37; ++column) {
        sum += map->at(row, column);
        EXPECT_TRUE(column <= row || map->at(row, column) == 0.0F);
      }
      EXPECT_NEAR(sum, 1.0, 1e-5) << name;
    }
  }
}

TEST(ScoreField, HardWeightsAreOneAtTheLargestLogit) {
  const attention::Mask mask{true, 9};
  const auto field = field_of("cope", 300, mask, {}, {{"hard_attention", true}});
  const auto weights = field.map({Quantity::kWeight, 1, {}, {}});
  const auto logits = field.map({Quantity::kLogit, 1, {}, {}});
  ASSERT_TRUE(weights.ok() && logits.ok());
  for (std::int64_t row = 0; row < 300; ++row) {
    std::int64_t best = row;
    double sum = 0;
    for (std::int64_t column = 0; column < 300; ++column) {
      sum += weights->at(row, column);
      best = logits->at(row, column) > logits->at(row, best) ? column : best;
    }
    EXPECT_EQ(sum, 1.0) << row;
    EXPECT_EQ(weights->at(row, best), 1.0F) << row;
  }
  const auto part = field.map({Quantity::kWeight, attention::kMeanHead, {290, 300}, {280, 300}});
  const auto other = field.map({Quantity::kWeight, 0, {290, 300}, {280, 300}});
  ASSERT_TRUE(part.ok() && other.ok());
  for (std::int64_t row = 0; row < 10; ++row) {
    for (std::int64_t column = 0; column < 20; ++column) {
      EXPECT_EQ(part->at(row, column), (other->at(row, column) + weights->at(290 + row, 280 + column)) / 2);
    }
  }
}

TEST(ScoreField, OtherQuantitiesAreNanWhereHiddenAndAddUp) {
  const auto field = field_of("rope", 20, {true, 5});
  const auto logit = field.map({Quantity::kLogit, 0, {}, {}});
  const auto content = field.map({Quantity::kContent, 0, {}, {}});
  const auto contribution = field.map({Quantity::kContribution, 0, {}, {}});
  ASSERT_TRUE(logit.ok() && content.ok() && contribution.ok());
  for (std::int64_t row = 0; row < 20; ++row) {
    for (std::int64_t column = 0; column < 20; ++column) {
      const bool visible = column <= row && column > row - 5;
      EXPECT_EQ(std::isnan(logit->at(row, column)), !visible);
      if (visible) {
        EXPECT_NEAR(logit->at(row, column), content->at(row, column) + contribution->at(row, column), 1e-5);
      }
    }
  }
  EXPECT_EQ(field.map({Quantity::kGate, 0, {}, {}}).error().code, ErrorCode::kUnsupported);
}

TEST(ScoreField, ATileIsItsPartOfTheMap) {
  for (const char* name : {"rope", "cope"}) {
    const auto field = field_of(name, 50, {true, 0});
    const auto whole = field.map({Quantity::kLogit, 1, {}, {}});
    const auto tile = field.map({Quantity::kLogit, 1, {30, 41}, {5, 33}});
    ASSERT_TRUE(whole.ok() && tile.ok());
    for (std::int64_t row = 0; row < tile->rows; ++row) {
      for (std::int64_t column = 0; column < tile->columns; ++column) {
        const float want = whole->at(30 + row, 5 + column);
        EXPECT_TRUE(std::isnan(want) ? std::isnan(tile->at(row, column))
                                     : std::abs(tile->at(row, column) - want) <= 1e-5F * (1 + std::abs(want)))
            << name;
      }
    }
  }
}

// What overview() promises, cell by cell.
Field brute_force(const Field& map, const attention::Mask& mask, std::int64_t height, std::int64_t width,
                  Reduction reduction, float empty) {
  Field pixels = Field::zeros(std::min(height, map.rows), std::min(width, map.columns));
  for (std::int64_t y = 0; y < pixels.rows; ++y) {
    for (std::int64_t x = 0; x < pixels.columns; ++x) {
      double sum = 0;
      double maximum = -std::numeric_limits<double>::infinity();
      std::int64_t count = 0;
      for (std::int64_t row = y * map.rows / pixels.rows; row < (y + 1) * map.rows / pixels.rows; ++row) {
        for (std::int64_t column = x * map.columns / pixels.columns; column < (x + 1) * map.columns / pixels.columns;
             ++column) {
          if (mask.visible(row, column)) {
            sum += map.at(row, column);
            maximum = std::max(maximum, static_cast<double>(map.at(row, column)));
            ++count;
          }
        }
      }
      const double value = reduction == Reduction::kMean ? sum / static_cast<double>(count) : maximum;
      pixels.at(y, x) = count == 0 ? empty : static_cast<float>(value);
    }
  }
  return pixels;
}

TEST(ScoreField, OverviewsAreExact) {
  const attention::Mask mask{true, 150};
  const auto field = field_of("cope", 300, mask);
  for (const Quantity quantity : {Quantity::kWeight, Quantity::kLogit, Quantity::kPosition}) {
    const auto map = field.map({quantity, 0, {}, {}});
    for (const Reduction reduction : {Reduction::kMean, Reduction::kMax}) {
      for (const std::int64_t size : {std::int64_t{7}, std::int64_t{64}, std::int64_t{1000}}) {
        const auto overview = field.overview({quantity, 0, {}, {}}, size, size + 3, reduction);
        ASSERT_TRUE(map.ok() && overview.ok());
        const float empty = quantity == Quantity::kWeight ? 0.0F : std::numeric_limits<float>::quiet_NaN();
        const Field want = brute_force(*map, mask, size, size + 3, reduction, empty);
        ASSERT_EQ(overview->values.size(), want.values.size());
        for (std::size_t n = 0; n < want.values.size(); ++n) {
          EXPECT_TRUE(std::isnan(want.values[n])
                          ? std::isnan(overview->values[n])
                          : std::abs(overview->values[n] - want.values[n]) <= 1e-5F * (1 + std::abs(want.values[n])));
        }
      }
    }
  }
}

TEST(ScoreField, TheMaximumFindsOnePlantedSpike) {
  constexpr std::int64_t kLength = 3000;
  at::Tensor query = at::zeros({1, 2, kLength, 8});
  query[0][1][2345] = 100.0;
  const auto field = field_of("none", kLength, {true, 0}, query);
  const auto overview = field.overview({Quantity::kLogit, 1, {}, {}}, 100, 100, Reduction::kMax);
  ASSERT_TRUE(overview.ok());
  const auto largest = std::max_element(overview->values.begin(), overview->values.end(),
                                        [](float a, float b) { return !std::isnan(b) && (std::isnan(a) || a < b); });
  EXPECT_EQ((largest - overview->values.begin()) / 100, std::ptrdiff_t{2345} * 100 / kLength);
  EXPECT_GT(*largest, 10.0F);
}

// Asks to stop while its `last`th tile is made.
class StoppingScores : public attention::ScoreSource {
 public:
  explicit StoppingScores(int last) : last_(last) {}

  std::int64_t heads() const override { return 1; }
  std::int64_t length() const override { return 1000; }
  Result<at::Tensor> scores(Quantity /*quantity*/, Range heads, Range rows, Range columns,
                            at::Tensor& /*carry*/) const override {
    if (++tiles_ == last_) {
      stop_.request_stop();
    }
    return at::ones({heads.size(), rows.size(), columns.size()});
  }
  int tiles() const { return tiles_; }
  StopToken token() const { return stop_.get_token(); }

 private:
  int last_;
  mutable int tiles_ = 0;
  mutable std::stop_source stop_;
};

TEST(ScoreField, StopsBetweenTiles) {
  for (const int last : {1, 3}) {
    const auto source = std::make_shared<const StoppingScores>(last);
    const attention::ScoreField field(source, {false, 0});
    const auto stopped = field.overview({Quantity::kLogit, 0, {}, {}}, 100, 100, Reduction::kMean, source->token());
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(source->tiles(), last);
  }
}

TEST(ScoreField, RefusesWhatIsNotThere) {
  const auto field = field_of("rope", 10, {true, 0});
  EXPECT_EQ(field.map({Quantity::kWeight, 2, {}, {}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(field.map({Quantity::kWeight, 0, {5, 11}, {}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(field.map({Quantity::kWeight, 0, {7, 3}, {}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(field.map({Quantity::kLogit, attention::kMeanHead, {}, {}}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(field.overview({Quantity::kWeight, 0, {}, {}}, 0, 5, Reduction::kMean).error().code, ErrorCode::kBadInput);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(field.map({Quantity::kWeight, 0, {}, {}}, source.get_token()).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus
