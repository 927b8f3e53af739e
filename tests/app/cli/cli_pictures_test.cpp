// Texts with pictures in them on the command line: marks, placeholders, pixels, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/text/tokenizer.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"
#include "tests/support/run_locus.h"

namespace {

namespace fs = std::filesystem;
using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using nlohmann::json;

// A copy of qwen3_vl's folder whose tokens below its placeholder (72) are bytes: digits and some capitals.
class CliPictures : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    folder_ = file("pictured");
    fs::remove_all(folder_);
    fs::copy(locus::test::pictured_folder("qwen3_vl"), folder_);
    ASSERT_TRUE(locus::text::write_byte_tokenizer(folder_).ok());
  }
  std::string picture(int n) const { return (folder_ / ("image" + std::to_string(n) + ".png")).string(); }
  // The ids that are run: start 69, placeholder 72, end 70.
  std::vector<std::int64_t> ids(std::vector<std::string> words, const std::string& warning = {}) const {
    words.insert(words.begin(), {"run", folder_.string()});
    words.emplace_back("--json");
    const auto outcome = run_locus(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), warning.empty() ? 1 : 2) << outcome.err;
    EXPECT_NE(outcome.err.find(warning), std::string::npos) << outcome.err;
    return outcome.status == 0 ? json::parse(outcome.out).at("input_ids").get<std::vector<std::int64_t>>()
                               : std::vector<std::int64_t>();
  }
  // The last line says it; the one before is of the tokenizer, which has more tokens than this tiny model.
  static void expect_mistake(const locus::testing_support::Outcome& outcome, int status, const std::string& naming) {
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
    EXPECT_NE(outcome.err.find("locus: error: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(naming), std::string::npos) << "expected " << naming << " in: " << outcome.err;
  }
  static std::vector<std::int64_t> around(std::int64_t cells) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(cells) + 2, 72);
    tokens.front() = 69;
    tokens.back() = 70;
    return tokens;
  }

  fs::path folder_;
};

std::vector<std::int64_t> joined(const std::vector<std::vector<std::int64_t>>& parts) {
  std::vector<std::int64_t> all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST_F(CliPictures, StandWhereTheirMarksAre) {
  EXPECT_EQ(ids({"--text", "1<image>2<image>3", "--image", picture(0), "--image", picture(1)}),
            joined({{'1'}, around(8), {'2'}, around(9), {'3'}}));
  EXPECT_EQ(ids({"--text", "<image>", "--image", picture(1)}), around(9));
  EXPECT_EQ(ids({"--image", picture(1)}), around(9));
  EXPECT_EQ(ids({"--text", "12"}), (std::vector<std::int64_t>{'1', '2'}));
}

TEST_F(CliPictures, WithoutMarksStandInFront) {
  EXPECT_EQ(ids({"--text", "12", "--image", picture(0)}, "the pictures stand in front of it"),
            joined({around(8), {'1', '2'}}));
}

TEST_F(CliPictures, TakeIdsWithOnePlaceholderOrAll) {
  EXPECT_EQ(ids({"--ids", "1,72,2", "--image", picture(0)}), joined({{1}, around(8), {2}}));
  EXPECT_EQ(ids({"--ids", "1,69,72,70,2", "--image", picture(0)}), joined({{1}, around(8), {2}}));
  EXPECT_EQ(ids({"--ids", "72,72,72,72,72,72,72,72,2", "--image", picture(0)}),
            (std::vector<std::int64_t>{72, 72, 72, 72, 72, 72, 72, 72, 2}));
}

TEST_F(CliPictures, ArePrintedAsOneAmongTheTokens) {
  const auto run =
      run_locus({"run", folder_.string(), "--text", "1<image>2<image>", "--image", picture(0), "--image", picture(1)});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("23 tokens: 1 "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" [image 1, 2 × 4 cells] "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" [image 2, 3 × 3 cells] "), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("row 0"), std::string::npos) << run.out;
}

TEST_F(CliPictures, TakePixelsBesideIds) {
  const auto expected = locus::test::pictured_input("qwen3_vl");
  ASSERT_TRUE(expected.ok());
  std::string words;
  for (const std::int64_t id : *expected->ids) {
    words += (words.empty() ? "" : ",") + std::to_string(id);
  }
  EXPECT_EQ(ids({"--ids", words, "--pixels", (folder_ / "expected.safetensors").string()}), *expected->ids);
}

TEST_F(CliPictures, AFigureHasItsPicturesInTheRecipeAndInItsData) {
  const std::string csv = file("reading.csv");
  const std::string png = file("reading.png");
  const auto made = run_locus({"figure", "reading", folder_.string(), "--text", "1<image>2", "--image", picture(0),
                               "--data", csv, "--out", png});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(read_text(csv).rfind("layer,head,image 1,words,first token,itself", 0), 0U) << read_text(csv).substr(0, 99);
  const std::string again = file("again.csv");
  const auto redrawn = run_locus({"figure", "--recipe", png, "--data", again, "--out", file("again.png")});
  ASSERT_EQ(redrawn.status, 0) << redrawn.err;
  EXPECT_EQ(read_text(again), read_text(csv));
}

TEST_F(CliPictures, MistakesAreOneLine) {
  const std::string model = folder_.string();
  expect_mistake(run_locus({"run", model, "--text", "1<image>2", "--image", picture(0), "--image", picture(1)}), 3,
                 "expected 2 marks <image>, one for each picture, or 17 tokens of id 72, found 1");
  expect_mistake(run_locus({"run", model, "--text", "1<image>2"}), 3,
                 "expected a picture for each mark <image> and each token of id 72, found 1 of these and no picture");
  expect_mistake(run_locus({"run", model, "--ids", "1,2", "--image", picture(0)}), 3, "expected 1 mark <image>");
  expect_mistake(run_locus({"run", model, "--text", "1<image>", "--image", file("none.png")}), 3, "none.png");
  expect_mistake(run_locus({"run", model, "--text", "1<image>", "--image", picture(0), "--pixels", picture(0)}), 2,
                 "found both");
  expect_mistake(run_locus({"run", model, "--image", picture(0), "--image", picture(1)}), 2, "expected exactly one of");
  expect_error(run_locus({"run", path(), "--text", "one", "--image", picture(0)}), 3, "takes no images");
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Four grey frames of 16 × 16 pixels, half a second each: two groups of 2 × 2 cells.
std::string written_clip(const fs::path& folder) {
  const fs::path file = folder / "clip.gif";
  write_bytes(file, locus::test::grey_gif(4, 16, 16, 50));
  return file.string();
}

// The tokens of a group of frames of four cells.
std::vector<std::int64_t> group_of_frames() {
  return {69, 73, 73, 73, 73, 70};
}

TEST_F(CliPictures, VideosAreRefusedByName) {
  const std::string video = written_clip(folder_);
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", folder_.string()});
    return run_locus(words);
  };
  write_bytes(folder_ / "cut.gif", locus::test::grey_gif(4, 16, 16, 50).substr(0, 300));
  expect_mistake(run({"--ids", "1,73", "--video", (folder_ / "cut.gif").string()}), 3, "cut.gif");
  write_bytes(folder_ / "list.mp4", "#EXTM3U\nhttp://example.org/a.ts\n");
  expect_mistake(run({"--ids", "1,73", "--video", (folder_ / "list.mp4").string()}), 3, "list.mp4");
  expect_mistake(run({"--ids", "1,73", "--video", (folder_ / "none.mp4").string()}), 3, "none.mp4");
  expect_mistake(
      run({"--ids", "1,73", "--video", video}), 3,
      "expected 1 mark <video> in a text, one for each video, or 8 tokens of id 73 with the times of frames between "
      "them, found 1");
  expect_mistake(run({"--ids", "1", "--video", video, "--pixels", video}), 2, "--video or --pixels");
  expect_mistake(run({"--text", "1<video>2"}), 3,
                 "expected a video for each mark <video> and each token of id 73, found 1 of these and no video");
  expect_error(run_locus({"run", path(), "--text", "one", "--video", video}), 3, "takes no videos");
  for (const std::string fps : {"0", "-1", "nan", "inf", "1001", "two"}) {
    expect_mistake(run({"--ids", "1,73", "--video", video, "--video-fps", fps}), 2, "--video-fps");
  }
  for (const std::string frames : {"0", "-2", "18001", "1.5", "nan"}) {
    expect_mistake(run({"--ids", "1,73", "--video", video, "--video-frames", frames}), 2, "--video-frames");
  }
  expect_mistake(run({"--ids", "1,73", "--video", video, "--video-frames", "4", "--video-fps", "1"}), 2,
                 "expected at most one of --video-fps, --video-frames");
  expect_mistake(run({"--ids", "1", "--video-fps", "1"}), 2, "--video-fps: expected a --video");
  const std::string without = locus::test::pictured_folder("glm4v").string();
  expect_mistake(run_locus({"run", without, "--ids", "1,73,2"}), 4,
                 "expected no token of id 73, which stands for a video, since models of this family read no videos");
  expect_mistake(run_locus({"run", without, "--ids", "1,73,2", "--video", video}), 4, "read no videos");
}

// Ids that hold all of a video's tokens: two groups of frames of four cells.
TEST_F(CliPictures, VideosTakeIdsWithAllTheirTokens) {
  const std::string video = written_clip(folder_);
  const auto run = run_locus(
      {"run", folder_.string(), "--ids", "1,2,69,73,73,73,73,70,3,69,73,73,73,73,70,4", "--video", video, "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out).at("input_ids").get<std::vector<std::int64_t>>(),
            joined({{1, 2}, group_of_frames(), {3}, group_of_frames(), {4}}));
  const auto shown =
      run_locus({"run", folder_.string(), "--ids", "1,69,73,73,73,73,70,3,69,73,73,73,73,70", "--video", video});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("[video 1, frame 0, 2 × 2 cells]"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("[video 1, frame 1, 2 × 2 cells]"), std::string::npos) << shown.out;
}

// Qwen2-VL: one block of all groups for a mark, a placeholder, or a video alone.
TEST_F(CliPictures, VideosStandWhereTheirMarksAre) {
  const std::string video = written_clip(folder_);
  const fs::path folder = file("qwen2");
  fs::remove_all(folder);
  fs::copy(locus::test::pictured_folder("qwen2_vl"), folder);
  ASSERT_TRUE(locus::text::write_byte_tokenizer(folder).ok());
  const std::vector<std::int64_t> block{69, 73, 73, 73, 73, 73, 73, 73, 73, 70};
  const auto ids_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", folder.string()});
    words.emplace_back("--json");
    const auto run = run_locus(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.status == 0 ? json::parse(run.out).at("input_ids").get<std::vector<std::int64_t>>()
                           : std::vector<std::int64_t>();
  };
  EXPECT_EQ(ids_of({"--text", "1<video>2", "--video", video}), joined({{'1'}, block, {'2'}}));
  EXPECT_EQ(ids_of({"--ids", "1,69,73,70,2", "--video", video}), joined({{1}, block, {2}}));
  EXPECT_EQ(ids_of({"--video", video}), block);
  EXPECT_EQ(ids_of({"--text", "12", "--video", video}), joined({block, {'1', '2'}}));
  const auto both = ids_of({"--text", "1<video>2<image>3", "--video", video, "--image", picture(0)});
  EXPECT_EQ(std::count(both.begin(), both.end(), 73), 8);
  const std::vector<std::int64_t> group{69, 73, 73, 73, 73, 70};  // of two frames
  EXPECT_EQ(ids_of({"--video", video, "--video-frames", "2"}), group);
  EXPECT_EQ(ids_of({"--video", video, "--video-frames", "4"}), block);
  EXPECT_EQ(ids_of({"--video", video, "--video-fps", "1000"}), block);  // it has four frames
  EXPECT_EQ(std::count(both.begin(), both.end(), 72), 8);
  EXPECT_LT(std::find(both.begin(), both.end(), 73), std::find(both.begin(), both.end(), 72));
}

}  // namespace
