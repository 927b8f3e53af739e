#include "app/session/session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/session/portable.h"
#include "core/base/atomic_file.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

std::filesystem::path scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "locus-session-XXXXXX").string();
  return ::mkdtemp(name.data());
}

session::Session example(const std::filesystem::path& folder) {
  session::Session session;
  session.checkpoints.push_back({folder / "checkpoints" / "a", {}, true});
  session.checkpoints.push_back({folder / "checkpoints" / "a", {5e5, "yarn:4", "global", "0,3", true, 2}, false});
  session.checkpoints.back().edits = {
      *models::parse_edit("head 0.1 zero", 0),     *models::parse_edit("bias all.0 -d/8", 1),
      *models::parse_edit("decay 2.all mean", 2),  *models::parse_edit("reset 2.0,1 at 4", 3),
      *models::parse_edit("unwrite all.1 3:5", 4), *models::parse_edit("mixer zero 1.0", 5)};
  session.checkpoints.back().base = folder / "bases" / "b";
  session.input.text = "text with \"quotes\", a line\nfeed and é";
  session.state.view = "pe-dot-product";
  session.state.layer = 2;
  session.state.head = views::kMean;
  session.state.query = 7;
  session.state.partners = {{2, -1}, {0, 3}};
  session.state.quantity = models::Quantity::kContribution;
  session.state.scale.colormap = "magma";
  session.state.scale.low = 0.25F;
  session.state.scale.transfer = figure::Transfer::kLog;
  session.state.camera = views::Camera{{1, 9}, {9, 1}};
  session.state.options["pe-dot-product"].set("cosine", true);
  session.bookmarks.push_back({"one", session.state});
  return session;
}

TEST(Session, WhatIsSavedIsWhatIsLoaded) {
  const auto folder = scratch();
  const session::Session saved = example(folder);
  ASSERT_TRUE(session::save_session(saved, folder / "s.locus.json").ok());
  const auto loaded = session::load_session(folder / "s.locus.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  EXPECT_EQ(loaded->checkpoints, saved.checkpoints);
  EXPECT_EQ(loaded->input, saved.input);
  EXPECT_EQ(loaded->state.scale, saved.state.scale);
  EXPECT_EQ(loaded->state.options, saved.state.options);
  EXPECT_EQ(loaded->state.quantity, saved.state.quantity);
  EXPECT_EQ(loaded->state.partners, saved.state.partners);
  EXPECT_EQ(loaded->state.head, views::kMean);
  ASSERT_TRUE(loaded->state.camera.has_value());
  EXPECT_EQ(loaded->state.camera->y.low, 9);
  ASSERT_EQ(loaded->bookmarks.size(), 1U);
  EXPECT_EQ(to_json(*loaded, folder), to_json(saved, folder));
  EXPECT_NE(to_json(saved, folder).find("\"rope_base_layers\": \"global\""), std::string::npos);
  EXPECT_NE(to_json(saved, folder).find("\"speed\": \"fast\""), std::string::npos);
  EXPECT_NE(to_json(saved, folder).find("\"stage\": 2"), std::string::npos);
}

TEST(Session, KeepsTheHalfOfACheckpointAndRefusesOthers) {
  const auto folder = scratch();
  session::Session saved = example(folder);
  saved.checkpoints.front().overrides.half = "text";
  std::string text = to_json(saved, folder);
  std::ofstream(folder / "s.locus.json") << text;
  const auto kept = session::load_session(folder / "s.locus.json");
  ASSERT_TRUE(kept.ok()) << kept.error().describe();
  EXPECT_EQ(kept->checkpoints, saved.checkpoints);
  const std::string half = "\"half\": \"text\"";
  ASSERT_NE(text.find(half), std::string::npos) << text;
  text.replace(text.find(half), half.size(), "\"half\": \"sound\"");
  std::ofstream(folder / "s.locus.json") << text;
  const auto loaded = session::load_session(folder / "s.locus.json");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().describe().find("half"), std::string::npos) << loaded.error().describe();
}

TEST(Session, AnUnknownSpeedIsRefused) {
  const auto folder = scratch();
  std::string text = to_json(example(folder), folder);
  text.replace(text.find("\"fast\""), 6, "\"swift\"");
  std::ofstream(folder / "s.locus.json") << text;
  const auto loaded = session::load_session(folder / "s.locus.json");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().describe().find("expected exact or fast"), std::string::npos) << loaded.error().describe();
}

TEST(Session, TheFramesOfVideosAreKept) {
  const auto folder = scratch();
  for (const models::VideoFrames& frames : {models::VideoFrames{0.1, {}}, models::VideoFrames{{}, 16}}) {
    session::Session saved = example(folder);
    saved.input.text = "<video>";
    saved.input.videos = {folder / "clip.mp4"};
    saved.input.video_frames = frames;
    ASSERT_TRUE(session::save_session(saved, folder / "s.locus.json").ok());
    const auto loaded = session::load_session(folder / "s.locus.json");
    ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
    EXPECT_EQ(loaded->input.video_frames, frames);
    EXPECT_EQ(loaded->input.videos, saved.input.videos);
  }
}

TEST(Session, PathsMoveWithTheFolder) {
  const auto folder = scratch();
  std::filesystem::create_directories(folder / "here");
  ASSERT_TRUE(session::save_session(example(folder / "here"), folder / "here" / "s.locus.json").ok());
  std::filesystem::rename(folder / "here", folder / "there");
  const auto loaded = session::load_session(folder / "there" / "s.locus.json");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->checkpoints.front().path, folder / "there" / "checkpoints" / "a");
  EXPECT_TRUE(loaded->checkpoints.front().base.empty());
  EXPECT_EQ(loaded->checkpoints.back().base, folder / "there" / "bases" / "b");
}

// A path of another machine is no path of this one.
TEST(Session, TheBaseOfAnAdapterElsewhereIsKeptAsItIs) {
  const auto folder = scratch();
  session::Session saved;
  saved.checkpoints.push_back({"ssh://there/lora", {}, true});
  saved.checkpoints.back().base = "bases/b";
  ASSERT_TRUE(session::save_session(saved, folder / "s.locus.json").ok());
  const auto loaded = session::load_session(folder / "s.locus.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  EXPECT_EQ(loaded->checkpoints, saved.checkpoints);
}

TEST(Session, WhatIsMissingIsNamedAndFoundBesideWhatIsLocated) {
  const auto folder = scratch();
  std::filesystem::create_directories(folder / "old" / "checkpoints" / "a");
  std::filesystem::create_directories(folder / "old" / "checkpoints" / "b");
  session::Session saved = example(folder / "old");
  saved.bookmarks[0].about = "what is seen there";
  saved.bookmarks[0].columns.push_back({folder / "old" / "checkpoints" / "b", {}, true});
  saved.bookmarks[0].columns.push_back({folder / "old" / "checkpoints" / "gone", {}, true});
  ASSERT_TRUE(session::save_session(saved, folder / "old" / "s.locus.json").ok());
  std::filesystem::create_directories(folder / "new" / "models");
  std::filesystem::rename(folder / "old" / "checkpoints" / "a", folder / "new" / "models" / "a");
  std::filesystem::rename(folder / "old" / "checkpoints" / "b", folder / "new" / "models" / "b");
  std::filesystem::rename(folder / "old" / "s.locus.json", folder / "new" / "s.locus.json");
  auto loaded = session::load_session(folder / "new" / "s.locus.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  EXPECT_EQ(loaded->bookmarks[0].about, "what is seen there");
  const auto missing = session::missing_checkpoints(*loaded);
  ASSERT_EQ(missing.size(), 3U);  // "a" once, though two columns are made of it
  EXPECT_EQ(missing[0].filename(), "a");
  EXPECT_EQ(session::missing_checkpoints(*loaded, false).size(), 1U);
  const session::Session placed = session::relocated(*loaded, missing[0], folder / "new" / "models" / "a");
  EXPECT_EQ(placed.checkpoints[1].path, folder / "new" / "models" / "a");
  EXPECT_EQ(placed.bookmarks[0].columns[0].path, folder / "new" / "models" / "b");
  EXPECT_EQ(session::missing_checkpoints(placed), (std::vector<std::filesystem::path>{missing[2]}));
}

TEST(Session, CheckpointsAreFoundByNameBesideTheFile) {
  const auto folder = scratch();
  ASSERT_TRUE(session::save_session(example(folder / "far" / "away"), folder / "s.locus.json").ok());
  std::filesystem::create_directories(folder / "checkpoints" / "a");
  const auto loaded = session::load_session(folder / "s.locus.json");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->checkpoints.front().path, folder / "checkpoints" / "a");
}

TEST(Session, TheBundledSessionIsReadable) {
  const auto loaded =
      session::load_session(std::filesystem::path(test::source_dir()) / "assets/sessions/first-light.locus.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  EXPECT_FALSE(loaded->checkpoints.empty());
  for (const session::Bookmark& bookmark : loaded->bookmarks) {
    EXPECT_TRUE(views::find_view(bookmark.state.view).ok()) << bookmark.state.view;
  }
}

// A folder of texts or a file of results beside the session is that one, wherever the program runs; one that is not
// there stays as it is.
TEST(Session, FoldersOfTextsAndFilesOfResultsLieBesideTheFile) {
  const auto folder = scratch();
  std::filesystem::create_directories(folder / "samples");
  std::filesystem::create_directories(folder / "sessions");
  std::ofstream(folder / "sessions" / "s.locus.json")
      << R"({"locus": "session/1", "bookmarks": [{"name": "one", "state":
    {"options": {"length-curve": {"texts": "../samples"}, "knock-out": {"texts": "elsewhere"},
                 "task-accuracy": {"file": "rows.json"}}}}, {"name": "two", "state":
    {"options": {"task-accuracy": {"file": "elsewhere.json"}}}}]})";
  std::ofstream(folder / "sessions" / "rows.json") << "{}";
  const auto loaded = session::load_session(folder / "sessions" / "s.locus.json");
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  const auto& options = loaded->bookmarks[0].state.options;
  EXPECT_EQ(*options.at("length-curve").text("texts", ""), (folder / "samples").string());
  EXPECT_EQ(*options.at("knock-out").text("texts", ""), "elsewhere");
  EXPECT_EQ(*options.at("task-accuracy").text("file", ""), (folder / "sessions" / "rows.json").string());
  const auto& other = loaded->bookmarks[1].state.options;
  EXPECT_EQ(*other.at("task-accuracy").text("file", ""), "elsewhere.json");
}

TEST(Session, BadFilesAreOneClearError) {
  const auto file = scratch() / "bad.locus.json";
  for (const auto& [text, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""},
           {"{", ""},
           {"[]", "object"},
           {"{\"locus\": \"session/9\"}", "session/1"},
           {"{\"locus\": \"session/1\", \"checkpoints\": 3}", "checkpoints"},
           {"{\"locus\": \"session/1\", \"checkpoints\": [{}]}", "checkpoints[0].path"},
           {"{\"locus\": \"session/1\", \"state\": {\"layer\": \"x\"}}", "state.layer"},
           {"{\"locus\": \"session/1\", \"state\": {\"quantity\": \"mass\"}}", "quantity"},
           {"{\"locus\": \"session/1\", \"state\": {\"partners\": [[1]]}}", "partners"},
           {"{\"locus\": \"session/1\", \"state\": {\"camera\": {\"x\": [1]}}}", "camera.x"},
           {"{\"locus\": \"session/1\", \"state\": {\"partners\": {\"a\": [1, 2]}}}", "partners: expected a list"},
           {"{\"locus\": \"session/1\", \"state\": {\"options\": \"x\"}}", "state.options: expected an object"},
           {"{\"locus\": \"session/1\", \"state\": {\"options\": [1]}}", "state.options"},
           {"{\"locus\": \"session/1\", \"state\": {\"options\": {\"heads\": 7}}}", "state.options.heads"},
           {"{\"locus\": \"session/1\", \"state\": {\"options\": {\"a\\u0000b\": 7}}}", "state.options.a"},
           {"{\"locus\": \"session/1\", \"state\": {\"options\": {\"heads\": {\"as\": []}}}}", "options.heads.as"},
           {"{\"locus\": \"session/1\", \"state\": {\"scale\": 1}}", "state.scale"},
           {"{\"locus\": \"session/1\", \"bookmarks\": [{\"state\": {\"options\": 1}}]}", "bookmarks[0].state.options"},
           {"{\"locus\": \"session/1\", \"checkpoints\": [{\"path\": \"a\", \"edits\": [{\"edit\": \"wish\"}]}]}",
            "checkpoints[0]: edits[0].edit: expected one of positions"},
           {"{\"locus\": \"session/1\", \"input\": {\"ids\": 5}}", "ids: expected a list"},
           {"{\"locus\": \"session/1\", \"input\": {\"ids\": [1, \"a\"]}}", "ids[1]"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_fps\": 0}}", "video_fps: expected frames a second from"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_fps\": -1}}", "video_fps"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_fps\": 1e9}}", "video_fps"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_fps\": \"fast\"}}", "video_fps"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_frames\": 0}}", "video_frames: expected frames from 1"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_frames\": 18001}}", "video_frames"},
           {"{\"locus\": \"session/1\", \"input\": {\"video_frames\": 8, \"video_fps\": 1}}", "found both"}}) {
    ASSERT_TRUE(write_file(file, text).ok());
    const auto loaded = session::load_session(file);
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_EQ(loaded.error().code, ErrorCode::kBadInput);
    EXPECT_NE(loaded.error().describe().find(what), std::string::npos) << loaded.error().describe();
    EXPECT_NE(loaded.error().describe().find("bad.locus.json"), std::string::npos);
  }
  EXPECT_FALSE(session::load_session("/nowhere/at/all.locus.json").ok());
}

}  // namespace
}  // namespace locus::workbench
