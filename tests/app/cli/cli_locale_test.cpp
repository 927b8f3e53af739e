// A desktop whose numbers have a decimal comma: the program writes and reads the same numbers, files and figures.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>

#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::Outcome;
using locus::testing_support::read_text;
using locus::testing_support::run_program;

class CliLocale : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
      GTEST_SKIP() << "there is no locale de_DE.UTF-8 (Debian: locales-all)";
    }
    std::setlocale(LC_NUMERIC, "C");
    const char* before = std::getenv("LC_ALL");
    before_ = before != nullptr ? before : "";
  }
  void TearDown() override { before_.empty() ? unsetenv("LC_ALL") : setenv("LC_ALL", before_.c_str(), 1); }

  static Outcome run_in(const char* locale, const std::vector<std::string>& arguments) {
    setenv("LC_ALL", locale, 1);
    return run_program(arguments);
  }

 private:
  std::string before_;
};

#if LOCUS_GUI
TEST_F(CliLocale, AFigureIsTheSameFileWithADecimalComma) {
  for (const char* view : {"attention", "heads", "distance-profile", "pe-dot-product"}) {
    const std::vector<std::string> words{"figure",         view,          path(),        "--text",     "one two three",
                                         "--rope-scaling", "yarn:2.5",    "--rope-base", "2500.5",     "--scale",
                                         "gamma",          "--width-mm",  "84.5",        "--threads",  "1",
                                         "--out",          file("f.svg"), "--data",      file("f.csv")};
    const Outcome point = run_in("C", words);
    ASSERT_EQ(point.status, 0) << point.err;
    const std::string figure = read_text(file("f.svg"));
    const std::string data = read_text(file("f.csv"));
    const Outcome comma = run_in("de_DE.UTF-8", words);
    ASSERT_EQ(comma.status, 0) << comma.err;
    EXPECT_EQ(read_text(file("f.svg")), figure) << view;
    EXPECT_EQ(read_text(file("f.csv")), data) << view;
    // The recipe inside it makes it again.
    ASSERT_EQ(run_in("de_DE.UTF-8", {"figure", "--recipe", file("f.svg"), "--out", file("g.svg")}).status, 0);
    EXPECT_EQ(read_text(file("g.svg")), figure) << view;
  }
}
#endif

TEST_F(CliLocale, NumbersAreReadWithAPoint) {
  const Outcome info = run_in("de_DE.UTF-8", {"info", path(), "--rope-scaling", "yarn:2.5"});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_NE(info.out.find("2.5"), std::string::npos) << info.out;
  locus::testing_support::expect_error(run_in("de_DE.UTF-8", {"info", path(), "--rope-scaling", "yarn:2,5"}), 2,
                                       "yarn:2,5");
  const Outcome option = run_in("de_DE.UTF-8", {"train",    "text",
                                                "--corpus", file("corpus.txt"),
                                                "--option", "scaling=linear",
                                                "--option", "factor=2.5",
                                                "--layers", "1",
                                                "--heads",  "1",
                                                "--width",  "8",
                                                "--length", "8",
                                                "--batch",  "1",
                                                "--steps",  "1",
                                                "--out",    file("half")});
  EXPECT_EQ(option.status, 0) << option.err;
}

}  // namespace
