// `word-problem`: its numbers and frames against the program of TAPE App. B.1.3 on TAPE's own functions.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/golden.h"
#include "tests/support/word_problem.h"

namespace locus::views {
namespace {

using namespace test_views;

ViewInput typed_word(const std::string& text, const std::string& word = {}) {
  ViewInput input;
  models::Input typed;
  typed.text = text;
  input.columns = {test::column_of(test::bundled("text-rope"), typed, "text-rope")};
  if (!word.empty()) {
    input.options.set("word", word);
  }
  return input;
}

std::vector<std::size_t> framed(const figure::Panel& panel) {
  std::vector<std::size_t> prefixes;
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* const box = std::get_if<figure::Box>(&layer)) {
      prefixes.push_back(static_cast<std::size_t>(box->x.low));
    }
  }
  return prefixes;
}

// The letters of "One jade, aba e!" are e, j, a, d, e, a, b, a, e.
TEST(WordProblemView, ItsTableAndFramesAreTheProgramsOwn) {
  const ViewInput input = typed_word("One jade, aba e!");
  const std::vector<std::int64_t> word{11, 5, 10, 1, 4, 5, 1, 2, 1, 5};
  const at::Tensor tokens = at::tensor(word, at::kLong).unsqueeze(0);
  const at::Tensor identity = test::identity_prefixes(tokens)[0];
  const Data data = exported("word-problem", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{10, 54}));
  const auto figure = view_of("word-problem").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  for (const bool strict : {false, true}) {
    const at::Tensor score = test::WordProblem(strict).run(tokens).score[0];
    const figure::Panel& panel = figure->panels[strict ? 1 : 0];
    std::vector<std::size_t> expected;
    for (std::int64_t row = 0; row < 10; ++row) {
      const auto logit = score[row].item<double>();
      EXPECT_NEAR(at(data, row, column_named(data, strict ? "strict logit" : "printed logit")), logit, 1e-5) << row;
      EXPECT_EQ(at(data, row, 1) > 0, identity[row].item<bool>()) << row;
      EXPECT_EQ((*panel.x.cell_names)[static_cast<std::size_t>(row)].ends_with("="), identity[row].item<bool>()) << row;
      if (logit > 0) {
        expected.push_back(static_cast<std::size_t>(row));
      }
    }
    EXPECT_EQ(framed(panel), expected) << strict;
    EXPECT_NE(panel.title.find(strict ? "j < i" : "j ≤ i"), std::string::npos) << panel.title;
  }
  EXPECT_NE(figure->panels[1].note.find("wrong at 0 of 10"), std::string::npos) << figure->panels[1].note;
}

TEST(WordProblemView, AWordThatIsGivenStandsForTheText) {
  const Data data = exported("word-problem", typed_word("abc", "jj"));
  EXPECT_EQ(data.shape[0], 3);
  EXPECT_EQ(exported("word-problem", typed_word("xyz")).shape[0], 1);
  const auto refused = view_of("word-problem").figure(typed_word("abc", "jk"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_NE(refused.error().message.find("found k"), std::string::npos) << refused.error().message;
  const auto cut = view_of("word-problem").figure(typed_word("x", std::string(200, 'a')));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->panels[0].x.cell_names->size(), 129U);
  EXPECT_NE(cut->panels[0].note.find("the first 128 of 200 letters"), std::string::npos) << cut->panels[0].note;
}

}  // namespace
}  // namespace locus::views
