#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using nlohmann::json;

class CliFigure : public CheckpointTest {};

TEST_F(CliFigure, DataIsTheMap) {
  const std::string npy = file("map.npy");
  const auto outcome = run_locus({"figure", "attention", path(), "--text", "one two", "--layer", "1", "--data", npy});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string bytes = read_text(npy);
  ASSERT_EQ(bytes.substr(0, 6), "\x93NUMPY");
  EXPECT_NE(bytes.find("'shape': (7, 7)"), std::string::npos) << bytes.substr(0, 128);
  std::vector<float> values(49);
  const std::size_t size = values.size() * sizeof(float);
  std::memcpy(values.data(), bytes.data() + bytes.size() - size, size);
  for (std::size_t row = 0; row < 7; ++row) {
    float sum = 0;
    for (std::size_t column = 0; column < 7; ++column) {
      EXPECT_TRUE(column <= row || values[row * 7 + column] == 0.0F) << row << " sees " << column;
      sum += values[row * 7 + column];
    }
    EXPECT_NEAR(sum, 1, 1e-5) << row;
  }
  const json recipe = json::parse(read_text(npy + ".recipe.json"));
  EXPECT_EQ(recipe.at("state").at("view"), "attention");
  EXPECT_EQ(recipe.at("checkpoints").at(0).at("sha256").get<std::string>().size(), 64U);
}

TEST_F(CliFigure, AllLayersAndHeadsMakeOneArray) {
  const std::string npy = file("all.npy");
  const auto outcome =
      run_locus({"figure", "attention", path(), "--text", "one", "--layer", "all", "--head", "all", "--data", npy});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(read_text(npy).find("'shape': (2, 2, 3, 3)"), std::string::npos);
}

// Views of what lies beside checkpoints run any input, of image models too, and are made again without one.
TEST_F(CliFigure, WhatShowsNoRunNeedsNoInput) {
  const std::string folder = locus::test::source_dir() + "/assets/checkpoints/";
  const std::string csv = file("errors.csv");
  const auto outcome =
      run_locus({"figure", "task-accuracy", folder + "shapes-learned", folder + "flip-flop-cope", "--data", csv});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(read_text(csv).find("shapes-learned error"), std::string::npos) << read_text(csv);
  const std::string again = file("again.csv");
  const auto repeated = run_locus({"figure", "--recipe", csv + ".recipe.json", "--data", again});
  ASSERT_EQ(repeated.status, 0) << repeated.err;
  EXPECT_EQ(read_text(again), read_text(csv));
}

TEST_F(CliFigure, AReferenceAmongThreeColumnsIsNoFourth) {
  const std::string second = copy("second").string();
  const std::string third = copy("third").string();
  const std::string csv = file("three.csv");
  const auto outcome = run_locus(
      {"figure", "attention", path(), second, third, "--reference", second, "--text", "one two", "--data", csv});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json recipe = json::parse(read_text(csv + ".recipe.json"));
  EXPECT_EQ(recipe.at("checkpoints").size(), 3U);
  EXPECT_EQ(recipe.at("state").at("reference"), 1);
  EXPECT_EQ(recipe.at("state").at("difference"), true);
  const auto fourth = run_locus(
      {"figure", "attention", path(), second, "--reference", third, "--text", "one two", "--data", file("fourth.csv")});
  ASSERT_EQ(fourth.status, 0) << fourth.err;
  const json other = json::parse(read_text(file("fourth.csv.recipe.json")));
  EXPECT_EQ(other.at("checkpoints").size(), 3U);
  EXPECT_EQ(other.at("state").at("reference"), 2);
}

// The recipe and the checkpoint move, under another name and out of reach of the stored path.
TEST_F(CliFigure, ARecipeFindsItsCheckpointAgain) {
  const auto moved = copy("moved-from");
  const std::string npy = file("first.npy");
  ASSERT_EQ(run_locus({"figure", "attention", moved.string(), "--text", "one two", "--data", npy}).status, 0);
  const std::filesystem::path there = file("there");
  std::filesystem::remove_all(there);
  std::filesystem::create_directories(there);
  std::filesystem::rename(moved, there / "renamed");
  std::filesystem::rename(npy + ".recipe.json", there / "r.recipe.json");
  const std::string recipe = (there / "r.recipe.json").string();
  const auto by_digest = run_locus({"figure", "--recipe", recipe, "--data", file("again.npy")});
  ASSERT_EQ(by_digest.status, 0) << by_digest.err;
  EXPECT_EQ(by_digest.err, "");
  EXPECT_EQ(read_text(npy), read_text(file("again.npy")));
  EXPECT_EQ(read_text(recipe), read_text(file("again.npy.recipe.json")));  // calls the checkpoint as it did

  const std::filesystem::path elsewhere = file("elsewhere");
  std::filesystem::rename(there / "renamed", elsewhere);
  expect_error(run_locus({"figure", "--recipe", recipe, "--data", file("x.npy")}), 3, "moved-from");
  const auto told = run_locus({"figure", "--recipe", recipe, elsewhere.string(), "--data", file("told.npy")});
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_EQ(read_text(npy), read_text(file("told.npy")));
  expect_error(run_locus({"figure", "--recipe", recipe, path(), path(), "--data", file("x.npy")}), 2, "PATH");
}

TEST_F(CliFigure, ARecipeBelowTheWorkingDirectoryIsRelative) {
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(path()).parent_path());
  const auto outcome = run_locus({"figure", "attention", "tiny", "--text", "one", "--data", "relative.npy"});
  std::filesystem::current_path(here);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json recipe = json::parse(read_text(file("relative.npy.recipe.json")));
  EXPECT_EQ(recipe.at("checkpoints").at(0).at("path"), "tiny");
}

#if LOCUS_GUI

TEST_F(CliFigure, AMissingCheckpointOfASessionIsLeftOutWithALine) {
  const auto one = [](const std::string& name, const std::string& columns) {
    return R"({"name": ")" + name + R"(", "columns": [)" + columns + R"(], "state": {"view": "attention"}})";
  };
  const std::string tiny = R"({"path": "tiny"})";
  const std::string gone = R"({"path": "gone/away"})";
  std::ofstream(file("s.locus.json")) << R"({"locus": "session/1", "input": {"text": "one two"}, "bookmarks": [)"
                                      << one("Both", tiny + ", " + gone) << ", " << one("None", gone) << ", "
                                      << one("Whole", tiny) << "]}";
  const auto outcome = run_locus({"--figures", file("drawn"), file("s.locus.json")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("locus: warning: Both: checkpoint away is not at"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("locus: warning: None: not drawn"), std::string::npos) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(file("drawn/both.png")));
  EXPECT_TRUE(std::filesystem::exists(file("drawn/whole.pdf")));
  EXPECT_FALSE(std::filesystem::exists(file("drawn/none.png")));
}

TEST_F(CliFigure, FiguresOfASessionAreDrawnAgainOnlyWhereTheyAreOlder) {
  std::ofstream(file("shared.txt")) << "one two";
  std::ofstream(file("two.locus.json")) << R"({"locus": "session/1", "input": {"text_file": "shared.txt"}, )"
                                        << R"("checkpoints": [)"
                                        << R"({"path": "tiny"}], "bookmarks": [)"
                                        << R"({"name": "First map", "state": {"view": "attention"}}, )"
                                        << R"({"name": "Heads", "state": {"view": "heads"}}]})";
  const auto drawn = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--figures", file("two"), file("two.locus.json")};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = run_locus(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  };
  const auto time = [&](const std::string& name) { return std::filesystem::last_write_time(file("two/" + name)); };
  const auto only = drawn({"--only", "first"});
  EXPECT_EQ(only.out,
            file("two/first-map.png") + "\n" + file("two/first-map.pdf") + "\n" + file("two/first-map.html") + "\n");
  EXPECT_FALSE(std::filesystem::exists(file("two/heads.png")));
  const auto first = time("first-map.png");
  const auto all = drawn({});
  EXPECT_NE(all.out.find("heads.pdf"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("first-map.pdf"), std::string::npos) << "it is printed though it is not drawn: " << all.out;
  EXPECT_NE(all.err.find("1 of 2 figures is newer than what it shows"), std::string::npos) << all.err;
  EXPECT_EQ(time("first-map.png"), first);
  // A newer checkpoint, and a figure that is gone.
  std::filesystem::remove(file("two/heads.pdf"));
  std::filesystem::last_write_time(path() + "/config.json", std::filesystem::file_time_type::clock::now());
  const auto again = drawn({});
  EXPECT_EQ(again.err.find("newer"), std::string::npos) << again.err;
  EXPECT_GT(time("first-map.png"), first);
  EXPECT_TRUE(std::filesystem::exists(file("two/heads.pdf")));
  EXPECT_NE(drawn({}).err.find("newer"), std::string::npos);
  // Another text, even in a file that is older than the figures.
  const auto old = std::filesystem::last_write_time(file("shared.txt"));
  std::ofstream(file("shared.txt")) << "two three";
  std::filesystem::last_write_time(file("shared.txt"), old);
  EXPECT_EQ(drawn({}).err.find("newer"), std::string::npos);
  expect_error(run_locus({"--figures", file("two"), file("two.locus.json"), "--only", "third"}), 2, "--only");
  expect_error(run_locus({"--only", "third"}), 2, "--only: expected --figures");
}

TEST_F(CliFigure, DrawsEveryFormatAndMakesItAgain) {
  for (const std::string ending : {"png", "svg", "pdf"}) {
    const std::string first = file("figure." + ending);
    const std::string second = file("again." + ending);
    const auto made = run_locus({"figure", "attention", path(), "--text", "one two", "--head", "1", "--out", first});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.out, first + "\n");
    const auto again = run_locus({"figure", "--recipe", first, "--out", second});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_GT(read_text(first).size(), 1000U) << ending;
    EXPECT_EQ(read_text(first), read_text(second)) << ending;
  }
}

// A figure with fast products says so where titles are left out too, and is made again with them.
TEST_F(CliFigure, SaysThatProductsAreFast) {
  const std::string svg = file("fast.svg");
  const auto made = run_locus(
      {"figure", "attention", path(), "--text", "one", "--speed", "fast", "--without", "titles", "--out", svg});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.err.find("fast products: none here, all are exact"), std::string::npos) << made.err;
  EXPECT_NE(read_text(svg).find("fast products (rounded), not exact: "), std::string::npos);
  ASSERT_EQ(run_locus({"figure", "--recipe", svg, "--out", file("again.svg")}).status, 0);
  EXPECT_EQ(read_text(file("again.svg")), read_text(svg));
  const auto exact = run_locus({"figure", "attention", path(), "--text", "one", "--out", file("exact.svg")});
  ASSERT_EQ(exact.status, 0) << exact.err;
  EXPECT_EQ(read_text(file("exact.svg")).find("fast products"), std::string::npos);
}

TEST_F(CliFigure, NumbersTheFilesOfAllHeads) {
  const auto outcome = run_locus(
      {"figure", "attention", path(), "--text", "one", "--layer", "all", "--head", "all", "--out", file("each.svg")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* const name : {"each-l0-h0.svg", "each-l0-h1.svg", "each-l1-h0.svg", "each-l1-h1.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(file(name))) << name;
  }
}

TEST_F(CliFigure, RefusesFilesItCannotDraw) {
  std::ofstream(file("plain.svg")) << "<svg xmlns='http://www.w3.org/2000/svg'/>";
  expect_error(run_locus({"figure", "--recipe", file("plain.svg"), "--out", file("y.svg")}), 3, "plain.svg");
}

#endif

}  // namespace
