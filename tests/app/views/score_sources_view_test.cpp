// The view score-sources on bundled models: its terms against the logits of maps, the matrix against its terms, and the
// way from source to source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"

namespace locus::views::test_views {
namespace {

ViewInput scored(const std::string& checkpoint, std::int64_t layer, std::int64_t head, std::int64_t trail = 0) {
  ViewInput input;
  input.columns = {test::column_of(test::bundled(checkpoint), kText)};
  input.layer = layer;
  input.head = head;
  input.cache = std::make_shared<FieldCache>(16 << 20);
  input.options.set("trail", trail);
  return input;
}

double number_of(const Data& data, std::int64_t row, const std::string& name) {
  return at(data, row, column_named(data, name) - 2);  // behind two columns of words
}
// The words of a row: the source of the query, that of the key.
std::string source_at(const Data& data, std::int64_t row, std::size_t side) {
  return data.titles[2 * static_cast<std::size_t>(row) + side];
}

// The rows of a step, their sum and the row of the largest term with a head.
struct StepRows {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  double sum = 0;
};
StepRows rows_of(const Data& data, std::int64_t step) {
  StepRows rows;
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    if (number_of(data, row, "step") == static_cast<double>(step)) {
      rows.first = std::min(rows.first, row);
      rows.sum += number_of(data, row, "value");
    }
  }
  return rows;
}

double logit_in_map(const ViewInput& input, const Data& data, std::int64_t row) {
  const auto number = [&](const char* name) { return static_cast<std::int64_t>(number_of(data, row, name)); };
  const Field logits = map_of(*input.columns[0].trace, number("layer"), number("head"), models::Quantity::kLogit);
  return static_cast<double>(logits.at(number("query"), number("key")));
}

TEST(ScoreSourcesView, EveryStepSumsToTheLogitOfItsCell) {
  for (const char* checkpoint : {"text-rope", "text-alibi", "text-learned"}) {
    SCOPED_TRACE(checkpoint);
    const ViewInput input = scored(checkpoint, 3, 1, 2);
    const Data data = exported("score-sources", input);
    ASSERT_EQ(data.columns, (std::vector<std::string>{"query source", "key source", "step", "layer", "head", "query",
                                                      "key", "value"}));
    for (std::int64_t step = 0; step <= static_cast<std::int64_t>(number_of(data, data.shape[0] - 1, "step")); ++step) {
      const StepRows rows = rows_of(data, step);
      const double logit = logit_in_map(input, data, rows.first);
      EXPECT_NEAR(rows.sum, logit, 1e-4 * (1 + std::abs(logit))) << "step " << step;
    }
  }
}

TEST(ScoreSourcesView, TheKeyIsTheOneThatTheQueryAttendsToMostBehindTheFirst) {
  ViewInput input = scored("text-rope", 2, 1);
  const auto query = static_cast<std::int64_t>(20);
  input.query = query;
  const Data data = exported("score-sources", input);
  const Field weights = map_of(*input.columns[0].trace, 2, 1);
  const auto key = static_cast<std::int64_t>(number_of(data, 0, "key"));
  EXPECT_GE(key, 1);  // not the sink
  for (std::int64_t other = 1; other <= query; ++other) {
    EXPECT_LE(weights.at(query, other), weights.at(query, key));
  }
  input.key = 3;
  EXPECT_EQ(number_of(exported("score-sources", input), 0, "key"), 3);
}

// A step goes to the head of the largest term that has one, where that head wrote.
TEST(ScoreSourcesView, TheTrailGoesFromSourceToSource) {
  const ViewInput input = scored("text-rope", 3, 1, 3);
  const Data data = exported("score-sources", input);
  const auto last = static_cast<std::int64_t>(number_of(data, data.shape[0] - 1, "step"));
  EXPECT_GE(last, 1);
  for (std::int64_t step = 0; step < last; ++step) {
    std::int64_t row = rows_of(data, step).first;
    while (!source_at(data, row, 0).starts_with("head ") && !source_at(data, row, 1).starts_with("head ")) {
      EXPECT_GE(std::abs(number_of(data, row, "value")), std::abs(number_of(data, row + 1, "value")));
      ++row;
    }
    const std::size_t side = source_at(data, row, 0).starts_with("head ") ? 0 : 1;
    const std::int64_t next = rows_of(data, step + 1).first;
    EXPECT_EQ(source_at(data, row, side), "head " + std::to_string(static_cast<int>(number_of(data, next, "layer"))) +
                                              "." + std::to_string(static_cast<int>(number_of(data, next, "head"))));
    EXPECT_EQ(number_of(data, next, "query"), number_of(data, row, side == 0 ? "query" : "key"));
  }
}

TEST(ScoreSourcesView, TheMatrixHoldsAllTermsAndItsCellsLeadToTheirHeads) {
  ViewInput input = scored("text-rope", 3, 1);
  input.options.set("shown", std::int64_t{4});
  const auto figure = view_of("score-sources").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  const auto& map = std::get<figure::HeatMap>(panel.layers.front());
  EXPECT_EQ(map.field->rows, 5);  // and the others
  EXPECT_EQ(map.field->columns, 5);
  EXPECT_NE(panel.y.cell_names->back().find("others"), std::string::npos);
  double sum = 0;
  for (const float value : map.field->values) {
    sum += static_cast<double>(value);
  }
  const Data data = exported("score-sources", input);
  EXPECT_NEAR(sum, rows_of(data, 0).sum, 1e-4 * (1 + std::abs(sum)));
  EXPECT_TRUE(figure->statement.starts_with("logit ")) << figure->statement;
  EXPECT_NE(figure->statement.find(source_at(data, 0, 0) + (source_at(data, 0, 0).starts_with("e") ? " of" : " at")),
            std::string::npos)
      << figure->statement;
  for (std::int64_t row = 0; row < 5; ++row) {
    const Hit hit{0, 4.5, static_cast<double>(row) + 0.5, -1};  // × the key's others
    const Selection chosen = view_of("score-sources").pick(input, hit);
    const std::string& name = (*panel.y.cell_names)[static_cast<std::size_t>(row)];
    EXPECT_EQ(chosen.head.has_value(), name.starts_with("head ")) << name;
    if (chosen.head) {
      EXPECT_EQ(name, "head " + std::to_string(*chosen.layer) + "." + std::to_string(*chosen.head));
      EXPECT_EQ(chosen.query->index, input.columns[0].trace->length() - 1);
      EXPECT_FALSE(chosen.key->chosen());
    }
    EXPECT_TRUE(view_of("score-sources").said_of(input, hit).empty());
  }
  const auto said = view_of("score-sources").said_of(input, {0, 0.5, 0.5, -1});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.front().find(" × "), std::string::npos);
}

TEST(ScoreSourcesView, SomePairsSumToWhatTheyGive) {
  ViewInput input = scored("text-rope", 3, 1);
  double sum = 0;
  for (const char* pairs : {"0:4", "4:40"}) {
    input.options.set("pairs", std::string(pairs));
    const auto figure = view_of("score-sources").figure(input);
    if (!figure.ok()) {
      EXPECT_EQ(figure.error().code, ErrorCode::kBadInput);  // the model has fewer
      input.options.set("pairs", std::string("4:16"));
    }
    sum += rows_of(exported("score-sources", input), 0).sum;
  }
  input.options.set("pairs", std::string());
  const double whole = rows_of(exported("score-sources", input), 0).sum;
  EXPECT_NEAR(sum, whole, 1e-4 * (1 + std::abs(whole)));
}

}  // namespace
}  // namespace locus::views::test_views
