// What changes when a picture is moved: trained models with known answers, and what is refused.
#include "models/api/picture_stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/base/atomic_file.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/layouts.h"
#include "tests/support/opened.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus::models {
namespace {

struct Seen {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Trace> trace;
};

// As large as the models' input: a resized picture's patches hold a little of their neighbours.
std::filesystem::path even_picture() {
  static const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "picture.png";
  test::write_picture(file, 24, 24);
  return file;
}

Seen seen_by(const std::string& checkpoint, const std::string& changes = "") {
  const auto model = open(test::source_dir() + "/assets/checkpoints/" + checkpoint);
  EXPECT_TRUE(model.ok());
  Input input;
  input.image = even_picture();
  input.picture = *parse_picture_changes(changes);
  const auto trace = (*model)->run(input);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return {*model, *trace};
}

std::vector<PictureStabilityPoint> points_of(const Seen& seen, PictureMove move, std::vector<double> by,
                                             bool undo = true) {
  const auto points = picture_stability(*seen.model, *seen.trace, {move, std::move(by), undo});
  EXPECT_TRUE(points.ok()) << (points.ok() ? "" : points.error().describe());
  return points.ok() ? *points : std::vector<PictureStabilityPoint>();
}

// The same runs, and nothing moved: nothing changes.
TEST(PictureStability, NothingChangesWhereNothingMoves) {
  const Seen seen = seen_by("shapes-learned");
  for (const auto& [move, none] : {std::pair(PictureMove::kRight, 0.0), std::pair(PictureMove::kRotate, 0.0),
                                   std::pair(PictureMove::kScale, 1.0)}) {
    const auto points = points_of(seen, move, {none});
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].patches, seen.trace->image_grid().rows * seen.trace->image_grid().columns);
    EXPECT_NEAR(points[0].prediction, 0, 1e-6);
    for (const PictureStabilityRow& row : points[0].layers) {
      EXPECT_NEAR(row.attention, 0, 1e-6);
      EXPECT_NEAR(row.states, 0, 1e-6);
    }
  }
}

// The first layer under an encoding of relative places: its queries and keys come from the patches alone, so that its
// map moves with the picture. Under learned places it does not; they are in the states too.
TEST(PictureStability, TheFirstLayerOfRelativeEncodingsMovesWithThePicture) {
  const auto points = points_of(seen_by("shapes-rope-mixed"), PictureMove::kRight, {-1, -0.5, 1});
  ASSERT_EQ(points.size(), 3U);
  for (const std::size_t whole : {0U, 2U}) {
    EXPECT_LT(points[whole].layers.front().attention, 2e-4);
    EXPECT_LT(points[whole].layers.front().states, 2e-3);
  }
  EXPECT_GT(points[1].layers.front().states, 0.02);
  const auto learned = points_of(seen_by("shapes-learned"), PictureMove::kRight, {1});
  EXPECT_GT(learned[0].layers.front().attention, 0.02);
  EXPECT_GT(learned[0].layers.front().states, 0.02);
}

// A patch further in one step, or by changes that the input has already.
TEST(PictureStability, MovesOnFromTheChangesOfTheInput) {
  const auto far = points_of(seen_by("shapes-rope-mixed", "shift 1p 0"), PictureMove::kDown, {1});
  EXPECT_LT(far[0].layers.front().attention, 2e-4);
  const Seen mirrored = seen_by("shapes-rope-mixed", "mirror");
  const auto after = points_of(mirrored, PictureMove::kRight, {1});
  EXPECT_LT(after[0].layers.front().attention, 2e-4);
}

TEST(PictureStability, ComparedWhereTheyAreThePatchesOfAMovedPictureDiffer) {
  const Seen seen = seen_by("shapes-rope-mixed");
  const auto still = points_of(seen, PictureMove::kRight, {1}, false);
  EXPECT_EQ(still[0].patches, seen.trace->image_grid().rows * seen.trace->image_grid().columns);
  EXPECT_GT(still[0].layers.front().states, 0.1);
}

// The tower of a vision-language model, whose patches stand cell by cell.
TEST(PictureStability, OfAVisionLanguageModelItIsTheTower) {
  const auto model = open(test::pictured_folder("qwen2_5_vl"));
  ASSERT_TRUE(model.ok());
  Input input;
  input.image = test::source_dir() + "/assets/samples/star.png";
  const auto trace = (*model)->run(input);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const auto points = picture_stability(**model, **trace, {PictureMove::kRight, {0, 1}});
  ASSERT_TRUE(points.ok()) << points.error().describe();
  EXPECT_EQ(static_cast<std::int64_t>(points->front().layers.size()), (*model)->info().vision_layers);
  EXPECT_NEAR(points->front().layers.front().attention, 0, 1e-6);
  EXPECT_NEAR(points->front().prediction, 0, 1e-6);
  EXPECT_GT(points->back().layers.front().states, 0);
}

Result<std::vector<PictureStabilityPoint>> moved_points(const std::string& family, const Input& input) {
  LOCUS_TRY(const auto model, open(test::pictured_folder(family)));
  LOCUS_TRY(const auto trace, model->run(input));
  return picture_stability(*model, *trace, {PictureMove::kRight, {0, 1}});
}

// Tiles share their places; a picture that is one tile is a grid like any other.
TEST(PictureStability, RefusesPicturesInTilesByName) {
  for (const std::string family : {"internvl_tiles", "llava_next"}) {
    SCOPED_TRACE(family);
    Input input;
    input.image = test::pictured_folder(family) / "image0.png";
    const auto points = moved_points(family, input);
    ASSERT_FALSE(points.ok());
    EXPECT_EQ(points.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(points.error().describe().find("image0.png: expected a picture in one part, found one in "),
              std::string::npos)
        << points.error().describe();
  }
  const test::TemporaryFolder folder;
  Input input;
  input.image = folder.path() / "small.png";
  test::write_picture(*input.image, 16, 16);
  const auto points = moved_points("internvl_tiles", input);
  ASSERT_TRUE(points.ok()) << points.error().describe();
  EXPECT_NEAR(points->front().layers.front().states, 0, 1e-6);
  EXPECT_NEAR(points->front().prediction, 0, 1e-6);
  EXPECT_GT(points->back().layers.front().states, 0);
}

TEST(PictureStability, RefusesVideosByName) {
  const test::TemporaryFolder folder;
  Input input;
  input.ids = std::vector<std::int64_t>{1, 72, 73, 2};
  input.images = {test::pictured_folder("qwen2_vl") / "image0.png"};
  input.videos = {folder.path() / "clip.gif"};
  ASSERT_TRUE(write_file(input.videos.front(), test::grey_gif(4, 16, 16, 50)).ok());
  const auto points = moved_points("qwen2_vl", input);
  ASSERT_FALSE(points.ok());
  EXPECT_NE(points.error().message.find("no video; qwen2_vl read 1 video"), std::string::npos)
      << points.error().describe();
}

TEST(PictureStability, RefusesWhatHasNoPictureToMove) {
  const Seen seen = seen_by("shapes-learned");
  const auto code = [](const auto& result) { return result.ok() ? ErrorCode::kInternal : result.error().code; };
  EXPECT_EQ(code(picture_stability(*seen.model, *seen.trace, {PictureMove::kRight, {}})), ErrorCode::kBadInput);
  EXPECT_EQ(code(picture_stability(*seen.model, *seen.trace, {PictureMove::kRight, std::vector<double>(130, 0)})),
            ErrorCode::kBadInput);
  const auto text = open(test::source_dir() + "/assets/checkpoints/text-rope");
  Input words;
  words.text = "no picture";
  const auto read = (*text)->run(words);
  EXPECT_EQ(code(picture_stability(**text, **read, {PictureMove::kRight, {1}})), ErrorCode::kUnsupported);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code(picture_stability(*seen.model, *seen.trace, {PictureMove::kRight, {1}}, stop.get_token())),
            ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus::models
