// Atlases as columns: what views export of a made-up one, beside runs and alone, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "app/figures/open_columns.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/view.h"
#include "core/base/numbers.h"
#include "models/formats/atlas/contents.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_atlas.h"
#include "tests/support/run_locus.h"

namespace locus::views {
namespace {

using test::atlas_column;
using test::FakeAtlas;
using test_views::at;
using test_views::column_named;
using test_views::expect_near;
using test_views::exported;
using test_views::view_of;

ViewInput atlas_input(std::int64_t layer = 1, std::int64_t head = 2) {
  ViewInput input;
  input.columns = {atlas_column("made-up")};
  input.layer = layer;
  input.head = head;
  input.cache = std::make_shared<FieldCache>(8 << 20);
  return input;
}

TEST(AtlasColumns, AnAtlasRefusesScoresInOneLine) {
  const ViewInput input = atlas_input();
  const models::Trace& trace = *input.columns.front().trace;
  EXPECT_EQ(trace.model().layers, FakeAtlas::kLayers);
  EXPECT_EQ(trace.length(), FakeAtlas::kLength);
  const auto map = trace.map({});
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(trace.overview({}, 4, 4, Reduction::kMean).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(trace.dot_product(0, 0, {}, {}, {}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(trace.write("/nowhere", {}).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(trace.top(5).empty());
}

// Cells of a window of 64 tokens in a bin, one by one.
double cells_of_bin(std::int64_t bin) {
  const std::int64_t from = bin < 32 ? bin : bin == 32 ? 32 : 48;
  const std::int64_t to = bin < 32 ? bin + 1 : bin == 32 ? 48 : 64;
  double cells = 0;
  for (std::int64_t query = 0; query < 64; ++query) {
    for (std::int64_t key = 0; key <= query; ++key) {
      cells += query - key >= from && query - key < to ? 1 : 0;
    }
  }
  return cells;
}

TEST(AtlasColumns, DistanceProfileShowsBinsWithIntervals) {
  const FakeAtlas atlas;
  ViewInput input = atlas_input();
  const Data data = exported("distance-profile", input);
  ASSERT_EQ(data.shape[0], 34);
  for (const std::int64_t bin : {std::int64_t{0}, std::int64_t{7}, std::int64_t{33}}) {
    const double mean = atlas.mean_of("profile.weight", 1, 2, bin, false);
    expect_near(at(data, bin, column_named(data, "made-up mean")), mean, 1e-6);
    expect_near(at(data, bin, column_named(data, "made-up low")), mean - 0.03, 1e-6);
    expect_near(at(data, bin, column_named(data, "made-up count")), 40 * cells_of_bin(bin), 1e-6);
  }
  EXPECT_EQ(at(data, 33, column_named(data, "made-up from")), 48);
  const auto figure = view_of("distance-profile").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& curve = std::get<figure::Curve>(figure->panels[0].layers[0]);
  EXPECT_EQ(curve.x.back(), 55.5);  // 48 to 63
  EXPECT_NE(figure->panels[0].note.find("95 % of the mean over 40 windows of 64 tokens"), std::string::npos)
      << figure->panels[0].note;
  EXPECT_EQ(figure->panels[0].y.label.find("(i + 1)"), std::string::npos);
  input.quantity = models::Quantity::kContent;
  EXPECT_EQ(view_of("distance-profile").figure(input).error().code, ErrorCode::kUnsupported);
}

TEST(AtlasColumns, DistanceProfileStandsBesideARunOnTheSameScale) {
  ViewInput input = atlas_input();
  input.columns.push_back(test::column_of(test::bundled("text-rope"), test_views::kText));
  const auto figure = view_of("distance-profile").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(figure->panels[0].layers.size() >= 2, true);
  EXPECT_EQ(figure->panels[0].y.label.find("(i + 1)"), std::string::npos);
  EXPECT_NE(figure->panels[0].note.find("others: mean"), std::string::npos) << figure->panels[0].note;
}

TEST(AtlasColumns, HeadsShowMeansWithHalfTheirIntervals) {
  const FakeAtlas atlas;
  ViewInput input = atlas_input();
  input.options.set("statistic", std::string("induction"));
  const Data data = exported("heads", input);
  ASSERT_EQ(data.shape[0], 12);
  for (std::int64_t row = 0; row < 12; ++row) {
    const auto layer = static_cast<std::int64_t>(at(data, row, column_named(data, "layer")));
    const auto head = static_cast<std::int64_t>(at(data, row, column_named(data, "head")));
    expect_near(at(data, row, column_named(data, "induction")), atlas.mean_of("heads.induction", layer, head, 0, false),
                1e-6);
    expect_near(at(data, row, column_named(data, "induction ±")), atlas.half_of(head), 1e-6);
    EXPECT_TRUE(std::isnan(at(data, row, column_named(data, "wavelength"))));
  }
  const auto figure = view_of("heads").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& table = std::get<figure::HeatMap>(figure->panels[0].layers[0]);
  const std::set<std::string> texts(table.texts->begin(), table.texts->end());
  EXPECT_TRUE(texts.contains("0.850")) << "an induction head";
  EXPECT_TRUE(texts.contains("(0.050)")) << "as with shuffled tokens";
  const std::set<std::string> intervals(table.details->begin(), table.details->end());
  EXPECT_TRUE(intervals.contains("± 0.020") && intervals.contains("± 0.010"));
}

TEST(AtlasColumns, KernelStandsBesideTheProfileOfAnAtlas) {
  ViewInput input = atlas_input(0, 2);
  EXPECT_EQ(view_of("kernel").figure(input).error().code, ErrorCode::kUsage);  // no weights
  input.columns.insert(input.columns.begin(), test::column_of(test::bundled("text-rope"), test_views::kText));
  input.options.set("reach", std::int64_t{80});
  const auto figure = view_of("kernel").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->columns, 1);
  const auto& curve = std::get<figure::Curve>(figure->panels[0].layers[2]);
  const Data data = exported("kernel", input);
  const std::int64_t kernel = column_named(data, "text-rope kernel");
  double cells = 0, mean = 0, shift = 0;
  std::vector<double> binned(34), measured(34), count(34);
  for (std::int64_t bin = 0; bin < 34; ++bin) {
    const auto n = static_cast<std::size_t>(bin);
    const std::int64_t from = bin < 32 ? bin : bin == 32 ? 32 : 48;
    const std::int64_t to = bin < 32 ? bin + 1 : bin == 32 ? 48 : 64;
    for (std::int64_t d = from; d < to; ++d) {
      binned[n] += at(data, d, kernel) / static_cast<double>(to - from);
      count[n] += 64.0 - static_cast<double>(d);
    }
    measured[n] = FakeAtlas().mean_of("profile.logit", 0, 2, bin, false);
    cells += count[n];
    mean += count[n] * measured[n];
    shift += count[n] * (measured[n] - binned[n]);
  }
  double around = 0, missed = 0;
  for (std::size_t n = 0; n < 34; ++n) {
    around += count[n] * std::pow(measured[n] - mean / cells, 2);
    missed += count[n] * std::pow(measured[n] - binned[n] - shift / cells, 2);
  }
  const double share = 1 - missed / around;
  const std::string wanted =
      "made-up less " + short_number(shift / cells) + ", R² " + (share < 0 ? "−" : "") + fixed_text(std::abs(share), 3);
  EXPECT_EQ(curve.name, wanted);
}

// A file of one statistic: two samples, which give 0.25 and 0.75 everywhere.
void write_small_atlas(const std::filesystem::path& file) {
  models::atlas::Contents contents;
  contents.info.checkpoint = "text-rope";
  contents.info.sha256 = "00ff";
  contents.info.layers = 2;
  contents.info.heads = 2;
  contents.info.step = 300;
  contents.info.windows = contents.info.done = 2;
  contents.info.length = 8;
  contents.info.replicates = 2;
  contents.info.version = "1";
  contents.info.corpus = {{"alice.txt", "ab", 12}};
  contents.samples["windows"] = {2, {2, 1}};
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    contents.tables.push_back(
        {"heads.previous", layer, models::AtlasNull::kText, {2}, {1, 1}, {0.625, 0.625}, {1, 1, 0.25, 0.75}});
  }
  const Status written = models::atlas::write_atlas(file, contents);
  ASSERT_TRUE(written.ok()) << written.error().describe();
}

TEST(AtlasColumns, AFileOpensAsAColumnWithoutACheckpoint) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "small.safetensors";
  write_small_atlas(file);
  session::ColumnMaker maker(
      [](const std::filesystem::path& path, const models::OpenOptions&, StopToken, const Progress&)
          -> Result<std::shared_ptr<const models::Model>> { return bad_input("opened", path.string()); },
      [](const models::Model&, const models::Input&) -> Result<std::shared_ptr<const models::Trace>> {
        return bad_input("ran");
      });
  session::CheckpointEntry entry;
  entry.path = file;
  const auto columns = maker.columns({entry}, {});
  ASSERT_TRUE(columns.ok()) << columns.error().describe();
  ASSERT_EQ(columns->size(), 1U);
  EXPECT_EQ(columns->front().name, "small");
  const models::Atlas* const atlas = models::atlas_of(*columns->front().trace);
  ASSERT_NE(atlas, nullptr);
  EXPECT_EQ(atlas->info().step, 300);
  ViewInput input;
  input.columns = *columns;
  const Data data = exported("heads", input);
  ASSERT_EQ(data.shape[0], 4);
  expect_near(at(data, 3, column_named(data, "previous-token")), 0.5, 1e-6);
  std::filesystem::remove(file);
}

TEST(AtlasColumns, InfoPrintsWhatAnAtlasIs) {
  const std::string file = testing::TempDir() + "small-info.safetensors";
  write_small_atlas(file);
  const auto text = testing_support::run_locus({"info", file});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("atlas of        text-rope, step 300"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("heads.previous"), std::string::npos) << text.out;
  const auto json = testing_support::run_locus({"info", file, "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_NE(json.out.find("\"step\": 300"), std::string::npos) << json.out;
  EXPECT_EQ(testing_support::run_locus({"info", file, "--length", "8"}).status, 2);
  std::filesystem::resize_file(file, 200);
  EXPECT_EQ(testing_support::run_locus({"info", file}).status, 3);
  std::filesystem::remove(file);
}

// The files that locus atlas writes, not made-up ones: their means are in the views.
TEST(AtlasColumns, TheBundledAtlasesAreShown) {
  for (const std::string name : {"text-rope-800", "text-cope", "text-tapa", "text-alibi", "text-learned"}) {
    ViewInput input;
    const auto trace = models::open_atlas_trace(test::source_dir() + "/assets/atlases/" + name + ".safetensors");
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    input.columns = {{"atlas", nullptr, *trace}};
    input.layer = 1;
    input.head = 2;
    const models::Atlas& atlas = *models::atlas_of(**trace);
    const auto weights = atlas.values("profile.weight", 1);
    ASSERT_TRUE(weights.ok());
    const std::int64_t bins = weights->shape.back();
    const Data profile = exported("distance-profile", input);
    ASSERT_EQ(profile.shape[0], bins) << name;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const auto n = static_cast<std::size_t>(2 * bins + bin);
      expect_near(at(profile, bin, column_named(profile, "atlas mean")), weights->mean[n], 1e-6);
      expect_near(at(profile, bin, column_named(profile, "atlas high")), weights->high[n], 1e-6);
    }
    const double cells = static_cast<double>(atlas.info().length) * static_cast<double>(atlas.info().length + 1) / 2;
    double counted = 0;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      counted += at(profile, bin, column_named(profile, "atlas count"));
    }
    expect_near(counted, cells * static_cast<double>(atlas.info().done), 1e-6);
    EXPECT_EQ(exported("heads", input).shape[0], atlas.info().layers * atlas.info().heads) << name;
  }
}

TEST(AtlasColumns, AnAtlasStandsBesideACheckpointWhateverThatReads) {
  const std::string assets = test::source_dir() + "/assets/";
  const std::string file = testing::TempDir() + "beside-an-atlas.csv";
  const auto drawn = testing_support::run_locus({"figure", "kernel", assets + "checkpoints/text-rope",
                                                 assets + "atlases/text-rope-800.safetensors", "--ids", "0", "--option",
                                                 "reach=64", "--data", file});
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".recipe.json");
}

}  // namespace
}  // namespace locus::views
