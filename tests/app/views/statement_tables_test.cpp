// The sentence above tables of tasks: which row and which cell its numbers are of, against the exported data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "app/views/shared/plots/series.h"
#include "app/views/shared/statement.h"
#include "core/base/numbers.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

// "error (%) from 0 (cope, train size 3000) to 8.60 (relative, train size 1000)": either end is the number that the
// data have in the column of that row's name, and at the place of that cell; nothing there is smaller or larger.
TEST(StatementTables, NameTheRowsOfTheirEnds) {
  const View& view = test_views::view_of("task-accuracy");
  const auto table = [](Settings more) {
    more.set("as", std::string("table"));
    return more;
  };
  const std::vector<std::pair<std::vector<std::string>, Settings>> tables{
      {{"flip-flop-cope", "flip-flop-rope", "flip-flop-learned"}, table({})},
      {{"flip-flop-rope", "flip-flop-learned"}, table({{"accuracy", true}})},
      {{"counting-relative-of-1000", "counting-relative-of-3000", "counting-cope-of-1000", "counting-cope-of-3000"},
       table({{"by", std::string("train_size")}})}};
  for (const auto& [names, options] : tables) {
    ViewInput input;
    for (const std::string& name : names) {
      models::Input ids;
      ids.ids = {0};
      input.columns.push_back(test::column_of(test::bundled(name), ids));
    }
    input.options = options;
    const auto figure = view.figure(input);
    const auto data = view.data(input);
    ASSERT_TRUE(figure.ok() && data.ok());
    const std::string line = statement(view.info(), input, *figure);
    SCOPED_TRACE(line);
    static const std::regex kEnds(
        ".* from ([0-9.]+) \\((?:([0-9]+) cells|(.*), (.*))\\) to ([0-9.]+) \\((?:([0-9]+) cells|(.*), (.*))\\)");
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found, kEnds));
    const auto& cells = *figure->panels.front().x.cell_names;
    const double unit = line.find("(%)") == std::string::npos ? 1 : 100;
    std::vector<double> all;
    const auto value_of = [&](const std::string& row, const std::string& cell) {
      double value = kNaN;
      for (std::size_t n = 0; n < data->columns.size(); ++n) {
        const std::string& name = data->columns[n];
        if (n == 0 || name.ends_with(" low") || name.ends_with(" high")) {
          continue;
        }
        for (std::int64_t split = 0; split < data->shape[0]; ++split) {
          const double number = unit * test_views::at(*data, split, static_cast<std::int64_t>(n));
          const bool here =
              name.substr(0, name.rfind(' ')) == row && cell.ends_with(" " + cells[static_cast<std::size_t>(split)]);
          value = here ? number : value;
          if (std::isfinite(number)) {
            all.push_back(number);
          }
        }
      }
      return value;
    };
    double low = value_of(found[3], found[4]);  // fills `all`
    double high = value_of(found[7], found[8]);
    // Several cells that tie have no name, but a number.
    const auto tied = [&](const std::string& count, double end) {
      const auto cells = std::ranges::count_if(all, [&](double each) { return std::abs(each - end) < 1e-6; });
      return std::to_string(cells / 2) == count;  // `all` was filled twice
    };
    if (found[2].matched) {
      low = *std::ranges::min_element(all);
      EXPECT_TRUE(tied(found[2], low));
    }
    if (found[6].matched) {
      high = *std::ranges::max_element(all);
      EXPECT_TRUE(tied(found[6], high));
    }
    EXPECT_EQ(short_number(low), found[1].str());
    EXPECT_EQ(short_number(high), found[5].str());
    for (const double number : all) {
      EXPECT_FALSE(number < low - 1e-9 || number > high + 1e-9) << number;
    }
  }
}

// Its caption stands beside errors and beside accuracies.
TEST(StatementTables, HaveACaptionThatIsTrueOfErrorsAndAccuracies) {
  const ViewInfo& info = test_views::view_of("task-accuracy").info();
  for (const char* const word : {"wrong", "error", "right", "correct"}) {
    EXPECT_EQ(info.caption.find(word), std::string::npos) << info.caption;
  }
}

}  // namespace
}  // namespace locus::views
