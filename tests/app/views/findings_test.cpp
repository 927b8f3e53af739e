// What is found in a map, against numbers that are computed otherwise; and what is not found in noise, in ties and in
// few queries.
#include "app/views/shared/findings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/base/numbers.h"

namespace locus::views {
namespace {

using Kind = Finding::Kind;

// Causal weights: each row the shares of these sizes, keys behind the query not visible.
Field weights_of(std::int64_t length, const std::function<double(std::int64_t query, std::int64_t key)>& size) {
  Field field = Field::zeros(length, length);
  field.row_axis = {"query", "token", 0, 1};
  field.column_axis = {"key", "token", 0, 1};
  for (std::int64_t i = 0; i < length; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      sum += size(i, j);
    }
    for (std::int64_t j = 0; j < length; ++j) {
      field.at(i, j) = j > i ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(size(i, j) / sum);
    }
  }
  return field;
}

std::vector<std::string> labels_of_words(std::int64_t length, const std::string& every_eighth = "x") {
  std::vector<std::string> list;
  for (std::int64_t n = 0; n < length; ++n) {
    list.push_back(n % 8 == 7 ? every_eighth : "w" + std::to_string(n));
  }
  return list;
}

double mean_at(const Field& field, std::int64_t back) {
  double sum = 0;
  for (std::int64_t i = 1; i < field.rows; ++i) {
    sum += i >= back ? static_cast<double>(field.at(i, i - back)) : 0;
  }
  return sum / static_cast<double>(field.rows - 1);
}

TEST(Findings, APreviousTokenHead) {
  const Field field = weights_of(48, [](auto i, auto j) { return j == i - 1 ? 20.0 : 1.0 + 0.1 * double(j % 3); });
  const auto found = findings_of(field, labels_of_words(48));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().kind, Kind::kPrevious);
  EXPECT_NEAR(found.front().share, mean_at(field, 1), 1e-9);
  EXPECT_EQ(words_of(found, true),
            "is a previous-token head: " + fixed_text(100 * mean_at(field, 1), 0) + " % of its weight");
  EXPECT_EQ(words_of(found.front(), false),
            "reads the token before: " + fixed_text(100 * mean_at(field, 1), 0) + " % of its weight");
}

TEST(Findings, TheFirstTokenAndLineFeeds) {
  const auto labels = labels_of_words(64, "⏎");
  const Field field = weights_of(64, [&](auto i, auto j) {
    return j == 0 ? 1.2 * double(i) + 1 : labels[static_cast<std::size_t>(j)] == "⏎" ? 9 + 0.1 * double(i % 5) : 0.05;
  });
  const auto found = findings_of(field, labels);
  ASSERT_GE(found.size(), 2U);
  double first = 0;
  double feeds = 0;
  for (std::int64_t i = 1; i < 64; ++i) {
    first += static_cast<double>(field.at(i, 0)) / 63;
    for (std::int64_t j = 1; j <= i; ++j) {
      feeds += labels[static_cast<std::size_t>(j)] == "⏎" ? static_cast<double>(field.at(i, j)) / 63 : 0;
    }
  }
  const std::string one = "reads the first token: " + fixed_text(100 * first, 0) + " % of its weight";
  const std::string other = "reads line feeds: " + fixed_text(100 * feeds, 0) + " % of its weight";
  EXPECT_EQ(words_of({found[0], found[1]}, true), first > feeds ? one + ", " + other : other + ", " + one);
}

// Without a share of a third: how often what uniform rows give that distance, the first token left out.
TEST(Findings, APeakOfDistances) {
  const Field field = weights_of(64, [](auto i, auto j) { return i - j == 3 ? 6.0 : 1.0; });
  const auto found = findings_of(field, labels_of_words(64));
  ASSERT_EQ(found.size(), 1U);
  double given = 0;
  double uniform = 0;
  for (std::int64_t i = 4; i < 64; ++i) {
    given += static_cast<double>(field.at(i, i - 3));
    uniform += 1 / static_cast<double>(i + 1);
  }
  EXPECT_EQ(words_of(found, true), "peaks at distance 3: " + fixed_text(given / uniform, 1) + " × uniform");
  const Field tie = weights_of(64, [](auto i, auto j) { return i - j == 3 || i - j == 6 ? 6.0 : 1.0; });
  EXPECT_EQ(words_of(findings_of(tie, labels_of_words(64)), true), "");
}

TEST(Findings, NothingInNoiseAndInUniformRows) {
  EXPECT_TRUE(findings_of(weights_of(64, [](auto, auto) { return 1.0; }), labels_of_words(64)).empty());
  EXPECT_TRUE(findings_of(weights_of(64, [](auto, auto) { return 1.0; }), std::vector<std::string>(64, "a")).empty());
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, 1.5);
    const Field noise = weights_of(64, [&](auto, auto) { return 0.01 + std::abs(normal(random)); });
    EXPECT_EQ(words_of(findings_of(noise, labels_of_words(64)), true), "") << seed;
  }
}

TEST(Findings, NothingInFewQueries) {
  const auto previous = [](auto i, auto j) { return j == i - 1 ? 20.0 : 1.0; };
  EXPECT_TRUE(findings_of(weights_of(8, previous), labels_of_words(8)).empty());
  EXPECT_FALSE(findings_of(weights_of(12, previous), labels_of_words(12)).empty());
}

TEST(Findings, OfAMeasuredHead) {
  Fingerprint head;
  head.self = 0.1;
  head.previous = 0.29;
  head.first = std::nan("");
  head.induction = std::nan("");
  EXPECT_TRUE(findings_of(head).empty());
  head.previous = 0.4;
  head.first = 0.45;
  EXPECT_EQ(words_of(findings_of(head), true),
            "reads the first token: 45 % of its weight, is a previous-token head: 40 % of its weight");
}

TEST(Findings, AMapOfDistancesAlone) {
  const auto map = [](const std::function<double(std::int64_t, std::int64_t)>& value) {
    Field field = Field::zeros(12, 12);
    field.row_axis = {"query", "token", 3, 1};
    field.column_axis = {"key", "token", 1, 1};
    for (std::int64_t i = 0; i < 12; ++i) {
      for (std::int64_t j = 0; j < 12; ++j) {
        field.at(i, j) = static_cast<float>(value(i, j));
      }
    }
    return field;
  };
  const Field bias = map([](auto i, auto j) { return -0.25 * double(std::abs(i - j - 1)); });
  EXPECT_TRUE(depends_on_distance(bias));
  EXPECT_EQ(largest_distance(bias), 3);  // the axes begin at 3 and at 1
  EXPECT_EQ(largest_distance(map([](auto i, auto j) { return double(std::abs(i - j)); })), std::nullopt);
  EXPECT_FALSE(depends_on_distance(map([](auto i, auto j) { return double(i - j) + 0.01 * double(i); })));
  EXPECT_FALSE(depends_on_distance(map([](auto, auto) { return 1.0; })));
  Field reduced = bias;
  reduced.row_axis.step = 2;
  EXPECT_FALSE(depends_on_distance(reduced));
}

}  // namespace
}  // namespace locus::views
