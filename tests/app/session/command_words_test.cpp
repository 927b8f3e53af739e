// What is shown as words of the command line: running them draws the same.
#include "app/session/command_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/figures/figure_job.h"
#include "tests/support/run_locus.h"

namespace {

using locus::ErrorCode;
using locus::session::command_words;
using locus::session::PaperState;
using locus::session::Recipe;
using locus::session::shell_line;
using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using nlohmann::json;

class CommandWords : public CheckpointTest {
 protected:
  Recipe recipe() const {
    Recipe made;
    made.session.checkpoints = {{path(), {}, true}, {"/not/shown", {}, false}};
    made.session.input.text = "it's \"one\"\nor $two";
    made.session.state.layer = 1;
    return made;
  }
};

TEST_F(CommandWords, DrawTheSame) {
  Recipe made = recipe();
  const std::string second = copy("second").string();
  made.session.checkpoints.push_back({second, {}, true});
  made.session.state.view = "pe-dot-product";
  made.session.state.query = 3;
  made.session.state.difference = true;
  made.session.state.reference = 0;
  made.session.state.scale.percentile = 97.5;
  made.session.state.scale.shared = false;
  made.session.state.options["pe-dot-product"].set("cosine", true);
  made.session.state.options["heads"].set("sort", std::string("sink"));  // of another view
  made.paper.text_pt = 8;
  made.paper.titles = false;
  auto words = command_words(made);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  words->insert(words->end(), {"--data", file("again.csv")});
  const auto outcome = run_locus(*words);
  ASSERT_EQ(outcome.status, 0) << outcome.err << "\n" << shell_line(*words);
  const json again = json::parse(read_text(file("again.csv.recipe.json")));
  json wanted = json::parse(locus::session::to_json(made));
  wanted["state"]["options"].erase("heads");
  wanted["state"]["query_text"] = {3.0, 4.0, 0.0};  // what the token stands for, which the words leave to the run
  EXPECT_EQ(again.at("state"), wanted.at("state"));
  EXPECT_EQ(again.at("input"), wanted.at("input"));
  EXPECT_EQ(again.at("paper"), wanted.at("paper"));
  ASSERT_EQ(again.at("checkpoints").size(), 2U);
}

TEST_F(CommandWords, NameTheLayersOfAnOverride) {
  Recipe made = recipe();
  made.session.checkpoints.front().overrides = {2000.0, "linear:4", "0", "global"};
  made.session.state.view = "attention";
  const auto words = command_words(made);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  EXPECT_NE(shell_line(*words).find(" --rope-base 2000@0 --rope-scaling linear:4@global"), std::string::npos)
      << shell_line(*words);
  EXPECT_EQ(shell_line(*words).find("--speed"), std::string::npos);
  made.session.checkpoints.front().overrides = {};
  made.session.checkpoints.front().overrides.fast = true;
  const auto fast = command_words(made);
  ASSERT_TRUE(fast.ok()) << fast.error().describe();
  EXPECT_NE(shell_line(*fast).find(" --speed fast"), std::string::npos) << shell_line(*fast);
  EXPECT_EQ(shell_line(*fast).find("--stage"), std::string::npos);
  made.session.checkpoints.front().overrides.stage = 3;
  const auto staged = command_words(made);
  ASSERT_TRUE(staged.ok()) << staged.error().describe();
  EXPECT_NE(shell_line(*staged).find(" --stage 3"), std::string::npos) << shell_line(*staged);
  EXPECT_EQ(shell_line(*fast).find("--half"), std::string::npos);
  made.session.checkpoints.front().overrides = {};
  made.session.checkpoints.front().overrides.half = "text";
  const auto half = command_words(made);
  ASSERT_TRUE(half.ok()) << half.error().describe();
  EXPECT_NE(shell_line(*half).find(" --half text"), std::string::npos) << shell_line(*half);
}

TEST_F(CommandWords, NameTheFramesOfVideos) {
  Recipe made = recipe();
  made.session.state.view = "attention";
  made.session.input.videos = {"/clip.mp4"};
  made.session.input.video_frames.fps = 0.1;
  auto words = command_words(made);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  EXPECT_NE(shell_line(*words).find(" --video /clip.mp4 --video-fps 0.1"), std::string::npos) << shell_line(*words);
  made.session.input.video_frames = {{}, 16};
  words = command_words(made);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  EXPECT_NE(shell_line(*words).find(" --video-frames 16"), std::string::npos) << shell_line(*words);
}

TEST_F(CommandWords, NameTheBaseOfAdapters) {
  Recipe made = recipe();
  made.session.state.view = "attention";
  for (auto& entry : made.session.checkpoints) {
    entry.base = "/bases/b";
  }
  const auto words = command_words(made);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  EXPECT_NE(shell_line(*words).find(" --base /bases/b"), std::string::npos) << shell_line(*words);
  made.session.checkpoints.push_back({path(), {}, true});
  EXPECT_EQ(command_words(made).error().code, ErrorCode::kUnsupported);
}

TEST_F(CommandWords, AreQuotedForAShell) {
  EXPECT_EQ(shell_line({"figure", "a b", "it's", "x=1", ""}), "locus figure 'a b' 'it'\\''s' x=1 ''");
}

TEST_F(CommandWords, SayThatOnlyARecipeCanTellColumnsOfOneCheckpointApart) {
  Recipe made = recipe();
  made.session.checkpoints.push_back({path(), {2000.0, ""}, true});
  EXPECT_EQ(command_words(made).error().code, ErrorCode::kUnsupported);
  made.session.checkpoints.back().overrides = {};
  made.session.checkpoints.back().text = "own";
  EXPECT_EQ(command_words(made).error().code, ErrorCode::kUnsupported);
}

TEST_F(CommandWords, TypeAndPartsOfTheFigureAreInItsRecipe) {
  const std::string csv = file("parts.csv");
  const auto outcome = run_locus({"figure", "attention", path(), "--text", "one two", "--data", csv, "--text-pt", "9",
                                  "--without", "titles,legend"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto read = locus::session::parse_recipe(read_text(csv + ".recipe.json"), csv + ".recipe.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(read->paper.text_pt, 9);
  EXPECT_FALSE(read->paper.titles);
  EXPECT_TRUE(read->paper.labels);
  EXPECT_FALSE(read->paper.legend);
  expect_error(run_locus({"figure", "attention", path(), "--text", "a", "--data", csv, "--without", "title"}), 2,
               "--without");
  std::string text = read_text(csv + ".recipe.json");
  text.replace(text.find("titles,legend"), 13, "axes");
  EXPECT_EQ(
      locus::session::parse_recipe(text, "r.json").error().describe(),
      "r.json: paper.without: expected titles, labels, legend or several of them, separated by commas, found axes");
}

TEST_F(CommandWords, WhatThePaperLeavesOutIsNotDrawn) {
  locus::figure::Figure figure;
  figure.title = "all";
  figure.panels.resize(1);
  figure.panels[0].title = "one";
  figure.panels[0].x.label = "key";
  figure.panels[0].color_bar_label = "weight";
  figure.panels[0].layers.emplace_back(locus::figure::Curve{"named", {0, 1}, {0, 1}, {}, {}});
  PaperState paper;
  paper.labels = false;
  auto drawn = locus::figures::on_paper(figure, paper);
  EXPECT_EQ(drawn.panels[0].x.label, "");
  EXPECT_TRUE(drawn.panels[0].color_bar);  // the bar stays, without its words
  EXPECT_EQ(drawn.panels[0].title, "one");
  paper = {};
  paper.legend = false;
  paper.titles = false;
  drawn = locus::figures::on_paper(figure, paper);
  EXPECT_EQ(drawn.title + drawn.panels[0].title + drawn.panels[0].color_bar_label, "");
  EXPECT_EQ(std::get<locus::figure::Curve>(drawn.panels[0].layers[0]).name, "");
  EXPECT_EQ(drawn.panels[0].x.label, "key");
  // The mark of an unlinked column is for the window.
  figure.panels[0].title = "one ⚮ layer 0, head 3";
  EXPECT_EQ(locus::figures::on_paper(figure, {}).panels[0].title, "one · layer 0, head 3");
}

}  // namespace
