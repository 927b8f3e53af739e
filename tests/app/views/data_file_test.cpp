// CSV files of words that a stranger chose: what a spreadsheet or a terminal makes of them.
#include "app/views/shared/plots/data_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/run_locus.h"

namespace locus::views {
namespace {

using namespace std::string_literals;

std::string csv_of(Data data) {
  const std::string file = testing::TempDir() + "/data_file.csv";
  const Status written = write_data(in_one_part(std::move(data)), "", file, {}, {});
  EXPECT_TRUE(written.ok()) << written.error().describe();
  return testing_support::read_text(file);
}

Data row_of(std::vector<std::string> tokens) {
  Data data;
  data.shape = {1, 2};
  data.values = {1, 2};
  data.tokens = std::move(tokens);
  return data;
}

TEST(DataFile, NoCellIsAFormula) {
  EXPECT_EQ(csv_of(row_of({"=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "-1+2", "-", "a=b", "-0.5", "1e3", "+2"})),
            "# tokens,'=cmd|' /C calc'!A0,'+1+1,'@SUM(1),'-1+2,'-,a=b,-0.5,1e3,'+2\n1,2\n");
  // Columns and words of a table likewise.
  Data table;
  table.shape = {1, 1};
  table.values = {3};
  table.columns = {"=x, \"y\""};
  EXPECT_EQ(csv_of(with_words(table, {"name"}, {"=1+1"})), "name,\"'=x, \"\"y\"\"\"\n'=1+1,3\n");
}

TEST(DataFile, NothingMovesATerminal) {
  Data data = row_of({"\x1B[31m", "\0"s, "a\nb", "\xE2\x80\xAE", "\xFF", "a,b"});
  data.titles = {"title \x1B]0;x\a"};
  EXPECT_EQ(csv_of(data), "# tokens,\\x1B[31m,\\x00,\"a b\",\\u202E,\\xFF,\"a,b\"\n# title \\x1B]0;x\\x07\n1,2\n");
}

}  // namespace
}  // namespace locus::views
