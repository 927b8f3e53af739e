// Compares the R² of positions with the count of each class of tokens with sums over every cell and every token between.
#include "core/analysis/counted_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace locus::analysis {
namespace {

constexpr float kNoPosition = std::numeric_limits<float>::quiet_NaN();

// Positions of a text whose classes are drawn: 0.9 for a token of the first, 0.1 for others, some noise; NaN above the
// diagonal and beyond a window of 40 tokens.
class Drawn {
 public:
  explicit Drawn(std::int64_t length) : length_(length), whole_(Field::zeros(length, length)) {
    classes_ = {{"first", std::vector<bool>(static_cast<std::size_t>(length))},
                {"second", std::vector<bool>(static_cast<std::size_t>(length))}};
    for (std::size_t n = 0; n < static_cast<std::size_t>(length); ++n) {
      classes_[0].holds[n] = random_() % 3 == 0;
      classes_[1].holds[n] = random_() % 4 == 0;
    }
    for (std::int64_t i = 0; i < length; ++i) {
      double sum = 0;
      for (std::int64_t j = length - 1; j >= 0; --j) {
        const double noise = static_cast<double>(random_() % 1000) / 2000;
        sum += j > i ? 0 : (classes_[0].holds[static_cast<std::size_t>(j)] ? 0.9 : 0.1);
        whole_.at(i, j) = j > i || i - j >= 40 ? kNoPosition : static_cast<float>(sum + noise);
      }
    }
  }

  Result<Field> rows(Range rows) const {
    Field field = Field::zeros(rows.size(), rows.end);
    field.row_axis.first = static_cast<double>(rows.begin);
    for (std::int64_t r = 0; r < field.rows; ++r) {
      for (std::int64_t c = 0; c < field.columns; ++c) {
        field.at(r, c) = whole_.at(rows.begin + r, c);
      }
    }
    return field;
  }

  // The squared correlation with the number of tokens that `counts` names, by its definition.
  template <class Counts>
  double r_squared(const Counts& counts) const {
    std::vector<std::pair<double, double>> cells;
    double x = 0;
    double y = 0;
    for (std::int64_t i = 0; i < length_; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        if (std::isnan(whole_.at(i, j))) {
          continue;
        }
        double between = 0;
        for (std::int64_t k = j; k <= i; ++k) {
          between += counts(static_cast<std::size_t>(k)) ? 1 : 0;
        }
        cells.emplace_back(between, static_cast<double>(whole_.at(i, j)));
        x += between;
        y += cells.back().second;
      }
    }
    x /= static_cast<double>(cells.size());
    y /= static_cast<double>(cells.size());
    double xx = 0;
    double yy = 0;
    double xy = 0;
    for (const auto& [across, up] : cells) {
      xx += (across - x) * (across - x);
      yy += (up - y) * (up - y);
      xy += (across - x) * (up - y);
    }
    return xy * xy / (xx * yy);
  }

  const std::vector<TokenClass>& classes() const { return classes_; }

 private:
  std::int64_t length_;
  std::mt19937 random_{5};
  std::vector<TokenClass> classes_;
  Field whole_;
};

TEST(CountedClasses, AreSquaredCorrelationsOverEveryCell) {
  const Drawn drawn(90);
  const auto counted = counted_classes(drawn.classes(), 90, [&](Range rows) { return drawn.rows(rows); });
  ASSERT_TRUE(counted.ok()) << counted.error().describe();
  ASSERT_EQ(counted->classes.size(), 3U);
  EXPECT_EQ(counted->every, 1);
  for (std::size_t n = 0; n < 2; ++n) {
    const std::vector<bool>& holds = drawn.classes()[n].holds;
    EXPECT_EQ(counted->classes[n].name, drawn.classes()[n].name);
    EXPECT_EQ(counted->classes[n].count, std::ranges::count(holds, true));
    EXPECT_NEAR(counted->classes[n].r_squared, drawn.r_squared([&](std::size_t k) { return holds[k]; }), 1e-9);
  }
  EXPECT_EQ(counted->classes[2].name, "all tokens");
  EXPECT_EQ(counted->classes[2].count, 90);
  EXPECT_NEAR(counted->classes[2].r_squared, drawn.r_squared([](std::size_t) { return true; }), 1e-9);
  EXPECT_GT(counted->classes[0].r_squared, counted->classes[2].r_squared);
  EXPECT_GT(counted->classes[0].r_squared, counted->classes[1].r_squared);
}

// In whatever blocks the queries come.
TEST(CountedClasses, BlocksAddUp) {
  const Drawn drawn(70);
  ClassSums whole(drawn.classes());
  whole.add(*drawn.rows({0, 70}));
  ClassSums parts(drawn.classes());
  for (const Range rows : {Range{33, 70}, Range{0, 1}, Range{1, 33}}) {
    parts.add(*drawn.rows(rows));
  }
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_NEAR(parts.result(70)[n].r_squared, whole.result(70)[n].r_squared, 1e-12);
  }
}

// A head that counts a class alone: R² is 1 with it; a class without a token, and positions that are all alike, have
// none.
TEST(CountedClasses, OneForWhatIsCountedAndNoneWhereNothingVaries) {
  const std::vector<TokenClass> classes{{"even", {true, false, true, false, true, false}}, {"none", {}}};
  Field positions = Field::zeros(6, 6);
  Field alike = Field::zeros(6, 6);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) {
      const std::int64_t evens = (i / 2 + 1) - (j + 1) / 2;
      positions.at(i, j) = j > i ? kNoPosition : static_cast<float>(evens);
      alike.at(i, j) = j > i ? kNoPosition : 0.7F;
    }
  }
  ClassSums sums(classes);
  sums.add(positions);
  EXPECT_NEAR(sums.result(6)[0].r_squared, 1, 1e-12);
  EXPECT_TRUE(std::isnan(sums.result(6)[1].r_squared));
  EXPECT_EQ(sums.result(6)[1].count, 0);
  EXPECT_LT(sums.result(6)[2].r_squared, 1);
  ClassSums constant(classes);
  constant.add(alike);
  for (const CountedClass& each : constant.result(6)) {
    EXPECT_TRUE(std::isnan(each.r_squared)) << each.name;
  }
}

// A long text is read every n-th query, one at a time.
TEST(CountedClasses, LongTextsAreReadInPart) {
  constexpr std::int64_t kLong = 10'000;  // 50,005,000 cells
  std::vector<std::int64_t> queries;
  const auto counted = counted_classes({}, kLong, [&](Range rows) -> Result<Field> {
    EXPECT_EQ(rows.size(), 1);
    queries.push_back(rows.begin);
    Field field = Field::zeros(1, 2);  // of two keys alone
    field.row_axis.first = static_cast<double>(rows.begin);
    field.at(0, 1) = static_cast<float>(rows.begin);
    return field;
  });
  ASSERT_TRUE(counted.ok()) << counted.error().describe();
  EXPECT_EQ(counted->every, 3);
  ASSERT_EQ(queries.size(), 3334U);
  EXPECT_EQ(queries.front(), kLong - 1);
  EXPECT_EQ(queries[1], kLong - 4);
}

TEST(CountedClasses, RefusesAndStops) {
  const auto none = [](Range) { return Result<Field>(unsupported("no positions")); };
  EXPECT_EQ(counted_classes({}, 0, none).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(counted_classes(std::vector<TokenClass>(kMaxTokenClasses + 1), 5, none).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(counted_classes({}, 5, none).error().message, "no positions");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(counted_classes({}, 5, none, stop.get_token()).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus::analysis
