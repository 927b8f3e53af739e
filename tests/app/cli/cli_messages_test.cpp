// What a file says is quoted short and printable, whatever it is.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;
using nlohmann::json;

// 100 KB that clear a terminal, ring its bell and turn its text.
std::string hostile() {
  std::string text;
  while (text.size() < 100'000) {
    text +=
        "\x1B[2J\a\r\xC2\x9B"
        "31m\xE2\x80\xAE"
        "words ";
  }
  return text;
}

class CliMessages : public CheckpointTest {
 protected:
  static std::string write(const std::string& name, const std::string& text) {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  static void expect_short(const Outcome& outcome, int status) {
    expect_error(outcome, status);
    EXPECT_LT(outcome.err.size(), 900U) << outcome.err.substr(0, 1200);
    for (const char* const moving : {"\x1B", "\a", "\r", "\xC2\x9B", "\xE2\x80\xAE"}) {
      EXPECT_EQ(outcome.err.find(moving), std::string::npos) << outcome.err;
    }
  }
};

TEST_F(CliMessages, QuoteLittleOfAConfiguration) {
  const json config = json::parse(read_text(std::filesystem::path(path()) / "config.json"));
  for (const auto& [field, value] : config.items()) {
    for (const json& bad : {json(hostile()), json::array({hostile()}), json{{hostile(), 1}}}) {
      const auto checkpoint = copy("hostile-config");
      json changed = config;
      changed[field] = bad;
      std::ofstream(checkpoint / "config.json") << changed.dump();
      const Outcome outcome = run_locus({"run", checkpoint.string(), "--text", "one"});
      if (outcome.status != 0) {
        EXPECT_TRUE(outcome.status == 3 || outcome.status == 4) << outcome.status;
        expect_short(outcome, outcome.status);
      }
    }
  }
}

TEST_F(CliMessages, QuoteLittleOfASessionOrRecipe) {
  const std::string data = file("quoted.npy");
  ASSERT_EQ(run_locus({"figure", "attention", path(), "--text", "one two", "--data", data}).status, 0);
  const json recipe = json::parse(read_text(data + ".recipe.json"));
  int refused = 0;
  const json flat = recipe.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    json changed = recipe;
    changed[json::json_pointer(pointer)] = hostile();
    const std::string written = write("hostile.recipe.json", changed.dump());
    const Outcome outcome = run_locus({"figure", "--recipe", written, "--data", file("never.npy")});
    if (outcome.status != 0) {
      expect_short(outcome, outcome.status);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST_F(CliMessages, QuoteLittleOfEdits) {
  for (const json& edit :
       {json{{"edit", hostile()}}, json{{"edit", "bias"}, {"layer", 0}, {"head", 0}, {"formula", hostile()}},
        json{{"edit", "bias"}, {"layer", 0}, {"head", 0}, {"formula", hostile().substr(0, 1900)}},
        json{{"edit", "head"}, {"layer", hostile()}, {"head", 0}, {"to", "zero"}}, json{{hostile(), 1}}}) {
    const std::string written = write("hostile.json", json{{"edits", json::array({edit})}}.dump());
    expect_short(run_locus({"run", path(), "--text", "one", "--edits", written}), 3);
  }
  expect_short(run_locus({"run", path(), "--text", "one", "--edit", "bias 0.0 " + hostile().substr(0, 1500)}), 3);
  expect_short(run_locus({"run", path(), "--text", "one", "--edit", hostile()}), 3);
}

TEST_F(CliMessages, ListsOfWhatIsKnownEndWhereToReadOn) {
  const auto checkpoint = copy("unknown-family");
  std::ofstream(checkpoint / "config.json") << json{{"model_type", "nothing-like-it"}}.dump();
  const Outcome outcome = run_locus({"info", checkpoint.string()});
  expect_error(outcome, 4, " more: `locus help checkpoints`");
  EXPECT_LT(outcome.err.size(), 600U) << outcome.err;
  expect_error(run_locus({"figure", "horoscope", path(), "--text", "a", "--data", "x.npy"}), 2, " more: `locus help ");
  expect_error(
      run_locus({"train", "text", "--encoding", "compass", "--corpus", file("corpus.txt"), "--out", file("never")}), 2,
      "compass");
}

#if LOCUS_GUI
// libpng would print what it finds wrong beside the one line.
TEST_F(CliMessages, ACutFigureIsOneLine) {
  const std::string figure = file("whole.png");
  ASSERT_EQ(run_locus({"figure", "attention", path(), "--text", "one two", "--out", figure}).status, 0);
  const std::string whole = read_text(figure);
  for (const std::size_t size : {std::size_t{9}, std::size_t{20}, std::size_t{40}, std::size_t{100}, whole.size() / 4,
                                 whole.size() / 2, whole.size() - 5}) {
    const std::string cut = write("cut.png", whole.substr(0, size));
    expect_error(run_program({"figure", "--recipe", cut, "--data", file("never.npy")}), 3, "ends too early");
  }
  for (const std::size_t at : {std::size_t{17}, std::size_t{30}, std::size_t{60}, whole.size() / 2}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Outcome outcome =
        run_program({"figure", "--recipe", write("damaged.png", damaged), "--data", file("never.npy")});
    expect_error(outcome, 3, "expected a whole PNG");
  }
}
#endif

}  // namespace
