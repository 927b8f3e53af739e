#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <variant>

#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/score_maps/kept_queries.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/atomic_file.h"
#include "tests/support/bundled.h"
#include "tests/support/data_text.h"
#include "tests/support/fake_atlas.h"
#include "tests/support/fake_model.h"
#include "tests/support/fake_views.h"
#include "tests/support/family_column.h"
#include "tests/support/hybrid.h"

namespace locus::views {
namespace {

using namespace test_views;

TEST(Views, NamesAreUniqueAndEveryViewExplainsItself) {
  std::set<std::string> names;
  for (const View* view : views()) {
    EXPECT_TRUE(names.insert(view->info().name).second) << view->info().name;
    EXPECT_FALSE(view->info().title.empty());
    EXPECT_FALSE(view->info().shows.empty());
  }
  EXPECT_FALSE(find_view("no such view").ok());
}

// Two runs of the bundled model, for the views that analyse queries and keys or run the model again; the fake for those
// of contextual encodings.
ViewInput input_for(const View& view) {
  ViewInput real;
  for (const double base : {10000.0, 500.0}) {
    real.columns.push_back(
        test::column_of(test::bundled("text-rope", base), kSentences, "base " + std::to_string(base)));
  }
  if (!view.info().of_runs) {
    real.columns = {test::atlas_column("early", 100, 0.5), test::atlas_column("late", 300)};
  }
  if (view.info().of_edits) {
    real.columns.back() =
        test::column_of(test::with_edit(test::bundled("text-rope"), "head 1.0 zero"), kSentences, "edited");
  }
  if (view.info().name == "memory") {
    real.columns = {test::hybrid_column("qwen3_next"), test::hybrid_column("lfm2")};
  }
  if (view.info().name == "learned-positions") {
    real.columns = {test::column_of(test::bundled("text-repo"), kSentences, "text-repo")};
  }
  if (view.info().name.starts_with("transform")) {
    real.columns = {test::family_column("path_attn")};
  }
  if (view.info().name == "picture-stability") {
    models::Input picture;
    picture.image = test::source_dir() + "/assets/samples/star.png";
    real.columns = {test::column_of(test::bundled("shapes-learned"), picture, "shapes-learned")};
  }
  if (view.info().name == "task-accuracy") {
    real.columns.pop_back();  // nothing is recorded with that base
  }
  if (view.available(real.columns[0]).ok()) {
    return real;
  }
  return view.available(fake_text().columns[0]).ok() ? fake_text() : fake_image();
}

TEST(Views, EveryViewDrawsAndExportsWhatItShows) {
  for (const View* view : views()) {
    const ViewInput input = input_for(*view);
    const auto figure = view->figure(input);
    ASSERT_TRUE(figure.ok()) << view->info().name << ": " << figure.error().describe();
    EXPECT_FALSE(figure->panels.empty()) << view->info().name;
    const auto data = view->data(input);
    ASSERT_TRUE(data.ok()) << view->info().name << ": " << data.error().describe();
    std::int64_t count = 1;
    for (const std::int64_t size : data->shape) {
      count *= size;
    }
    EXPECT_EQ(count, static_cast<std::int64_t>(data->values.size())) << view->info().name;
    EXPECT_GT(count, 0) << view->info().name;
  }
}

TEST(Views, TracesThatKeepNoQueriesAndKeysAreRefusedByName) {
  for (const char* const name : {"distance-bias", "heads"}) {
    const auto figure = view_of(name).figure(fake_text());
    ASSERT_FALSE(figure.ok()) << name;
    EXPECT_EQ(figure.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(figure.error().describe().find("fake"), std::string::npos);
  }
  for (const char* const name : {"shift-stability", "length-curve", "picture-stability"}) {
    EXPECT_EQ(view_of(name).available(fake_text().columns[0]).error().code, ErrorCode::kUnsupported) << name;
  }
}

TEST(Views, AttentionDataIsTheTracesMap) {
  ViewInput input = fake_text();
  const std::int64_t length = fake(input).length();
  input.layer = kAll;
  input.head = kAll;
  const auto data = view_of("attention").data(input);
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{3, 4, length, length}));
  for (const std::int64_t layer : {0, 2}) {
    for (const std::int64_t head : {0, 3}) {
      for (std::int64_t i = 0; i < length; i += 3) {
        for (std::int64_t j = 0; j < length; ++j) {
          const auto index = static_cast<std::size_t>(((layer * 4 + head) * length + i) * length + j);
          expect_close(static_cast<double>(data->values[index]), fake(input).weight(layer, head, i, j));
        }
      }
    }
  }
}

TEST(Views, AttentionMasksTheFutureAndKeepsZeroOnTop) {
  const ViewInput input = fake_text();
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok());
  const figure::Panel& panel = figure->panels.front();
  EXPECT_GT(panel.y.view.low, panel.y.view.high);
  const Field& field = *std::get<figure::HeatMap>(panel.layers.front()).field;
  EXPECT_TRUE(std::isnan(field.at(3, 4)));
  expect_close(static_cast<double>(field.at(4, 3)), fake(input).weight(0, 0, 4, 3));
}

TEST(Views, DifferenceIsFirstMinusSecond) {
  ViewInput input = fake_text();
  test::FakeShape other;
  other.slope = 0.5;
  input.columns.push_back({"other", nullptr, std::make_shared<test::FakeTrace>(other, kSentences)});
  input.difference = true;
  const auto data = view_of("attention").data(input);
  ASSERT_TRUE(data.ok());
  const std::int64_t length = fake(input).length();
  for (std::int64_t i = 0; i < length; ++i) {
    const auto index = static_cast<std::size_t>(i * length + i / 2);
    expect_close(static_cast<double>(data->values[index]),
                 fake(input, 0).weight(0, 0, i, i / 2) - fake(input, 1).weight(0, 0, i, i / 2));
  }
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok());
  ASSERT_EQ(figure->panels.size(), 3U);
  const auto& scale = std::get<figure::HeatMap>(figure->panels[2].layers.front()).scale;
  EXPECT_FLOAT_EQ(scale.low, -scale.high);
}

// The second run has tokens of two bytes: half of each of its weights stands for either byte.
TEST(Views, DifferenceOfOtherTokensIsAlignedByText) {
  ViewInput input = fake_text();
  test::FakeShape other;
  other.slope = 0.5;
  other.bytes_per_token = 2;
  input.columns.push_back({"pairs", nullptr, std::make_shared<test::FakeTrace>(other, kSentences)});
  input.difference = true;
  const auto data = view_of("attention").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  const std::int64_t length = fake(input).length();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{length, length}));
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double second = fake(input, 1).weight(0, 0, i / 2, j / 2) / 2;
      expect_close(static_cast<double>(data->values[static_cast<std::size_t>(i * length + j)]),
                   fake(input, 0).weight(0, 0, i, j) - second);
    }
  }
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 3U);
  EXPECT_NE(figure->panels[2].note.find("aligned by text"), std::string::npos) << figure->panels[2].note;
  const Field& shown = *std::get<figure::HeatMap>(figure->panels[2].layers.front()).field;
  expect_close(static_cast<double>(shown.at(9, 4)),
               static_cast<double>(data->values[static_cast<std::size_t>(9 * length + 4)]));

  input.quantity = models::Quantity::kLogit;  // no shares of a whole: a byte's value is that of its pair
  const auto logits = view_of("attention").data(input);
  ASSERT_TRUE(logits.ok());
  expect_close(static_cast<double>(logits->values[static_cast<std::size_t>(9 * length + 4)]),
               fake(input, 0).logit(0, 0, 9, 4) - fake(input, 1).logit(0, 0, 4, 2));
}

TEST(Views, WithoutATextInCommonTheDifferenceSaysWhy) {
  ViewInput input = fake_text();
  input.columns.push_back({"other", nullptr, std::make_shared<test::FakeTrace>(test::FakeShape{}, "short")});
  input.difference = true;
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 3U);  // the two maps are there all the same
  EXPECT_NE(figure->panels[2].note.find("no text in common"), std::string::npos) << figure->panels[2].note;
  EXPECT_EQ(view_of("attention").data(input).error().code, ErrorCode::kUnsupported);
}

TEST(Views, PartnersGiveEveryColumnItsOwnHead) {
  ViewInput input = fake_text();
  input.columns.push_back({"other", nullptr, std::make_shared<test::FakeTrace>(test::FakeShape{}, kSentences)});
  input.layer = 1;
  input.head = 2;
  input.partners = {{1, 2}, {0, 3}};
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(figure->panels[0].title, "fake · layer 1, head 2");
  EXPECT_EQ(figure->panels[1].title, "other · layer 0, head 3");
  const Field& second = *std::get<figure::HeatMap>(figure->panels[1].layers.front()).field;
  expect_close(static_cast<double>(second.at(9, 4)), fake(input, 1).weight(0, 3, 9, 4));
  input.head = 1;  // another head than the pair's: the partners are of no concern
  EXPECT_EQ(view_of("attention").figure(input)->panels[1].title, "other · layer 1, head 1");
  input.head = 2;
  input.partners[1].head = 9;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
}

TEST(Views, EveryLayerOfTheDotProductStandsSideBySide) {
  ViewInput input = fake_text();
  input.columns.push_back({"other", nullptr, std::make_shared<test::FakeTrace>(test::FakeShape{}, kSentences)});
  input.options = {{"layers", true}};
  const View& view = view_of("pe-dot-product");
  const auto figure = view.figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 6U);
  EXPECT_EQ(figure->columns, 3);
  const auto& last = std::get<figure::HeatMap>(figure->panels[5].layers.front());
  expect_close(static_cast<double>(last.field->at(9, 4)), std::cos(0.5) + 0.02);
  const auto& first = std::get<figure::HeatMap>(figure->panels[0].layers.front());
  EXPECT_EQ(first.scale.high, last.scale.high);  // one range for all
  EXPECT_EQ(last.scale.high, 1.02F);
  figure::Hit hit;
  hit.panel = 4;
  hit.x = 4.5;
  hit.y = 9.5;
  const Selection picked = view.pick(input, hit);
  EXPECT_EQ(picked.layer, 1);
  EXPECT_EQ(picked.column, 1);
  EXPECT_EQ(picked.query, 9);
  const auto places = view.places(input, picked);
  ASSERT_EQ(places.size(), 6U);
  EXPECT_EQ(places[5].panel, 5U);
}

TEST(Views, LongMapsAreReducedToTheScreenExactly) {
  ViewInput input = fake_text(std::string(300, 'x'));
  input.width_px = 100;
  input.height_px = 100;
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok());
  const auto& map = std::get<figure::HeatMap>(figure->panels.front().layers.front());
  EXPECT_EQ(map.field->rows, 100);
  EXPECT_FALSE(figure->panels.front().note.empty());
  double largest = 0;
  for (int i = 150; i < 153; ++i) {
    for (int j = 147; j < 150; ++j) {
      largest = std::max(largest, fake(input).weight(0, 0, i, j));
    }
  }
  expect_close(static_cast<double>(map.field->at(50, 49)), largest);
}

TEST(Views, ZoomedMapsCoverTheCamera) {
  ViewInput input = fake_text(std::string(300, 'x'));
  input.width_px = 50;
  input.height_px = 50;
  input.camera = Camera{{100, 120}, {140, 120}};
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok());
  const Field& field = *std::get<figure::HeatMap>(figure->panels.front().layers.front()).field;
  EXPECT_LE(field.column_axis.first, 100);
  EXPECT_GE(field.column_axis.first + static_cast<double>(field.columns) * field.column_axis.step, 120);
  EXPECT_DOUBLE_EQ(field.column_axis.step, 1);  // every cell can be told apart
  const auto row = static_cast<std::int64_t>(130 - field.row_axis.first);
  const auto column = static_cast<std::int64_t>(110 - field.column_axis.first);
  expect_close(static_cast<double>(field.at(row, column)), fake(input).weight(0, 0, 130, 110));
}

TEST(Views, PositionAttentionHasRowMaximumOne) {
  const ViewInput input = fake_text();
  const auto data = view_of("position-attention").data(input);
  ASSERT_TRUE(data.ok());
  const std::int64_t length = fake(input).length();
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      // The nearest key has the largest contribution.
      expect_close(static_cast<double>(data->values[static_cast<std::size_t>(i * length + j)]),
                   std::exp(fake(input).contribution(0, i, j)));
    }
  }
}

// What the analyses measure needs the queries and keys that a run keeps; the numbers are those of curve_views_test.
TEST(Views, ATraceWithoutQueriesAndKeysHasNoDistanceProfile) {
  const auto data = view_of("distance-profile").data(fake_text());
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, ErrorCode::kUnsupported);
}

TEST(Views, GatesNeedAContextualEncoding) {
  const ViewInput input = fake_text(kSentences, false);
  const auto figure = view_of("gates").figure(input);
  ASSERT_FALSE(figure.ok());
  EXPECT_EQ(figure.error().code, ErrorCode::kUnsupported);
}

TEST(Views, PickAndPlacesAreInverse) {
  ViewInput input = fake_text();
  figure::Hit hit;
  hit.x = 3.4;
  hit.y = 7.9;
  const Selection cell = view_of("attention").pick(input, hit);
  EXPECT_EQ(cell.key, 3);
  EXPECT_EQ(cell.query, 7);
  const auto places = view_of("attention").places(input, cell);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].x.low, 3);
  hit.y = 1.5;
  const Selection head = view_of("attention-grid").pick(input, hit);
  EXPECT_EQ(head.layer, 1);
  EXPECT_EQ(head.head, 3);
  EXPECT_TRUE(head.open);
  hit.x = 1e6;
  EXPECT_FALSE(view_of("attention").pick(input, hit).query.has_value());
}

// Many layers of few heads stand in blocks beside each other: each square is its head's map, and opens it.
TEST(Views, AGridOfManyLayersStandsInBlocks) {
  test::FakeShape shape;
  shape.layers = 12;
  shape.heads = 2;
  const std::string text = "one two";
  ViewInput input;
  input.columns.push_back({"fake", nullptr, std::make_shared<test::FakeTrace>(shape, text)});
  const View& view = view_of("attention-grid");
  const auto figure = view.figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  const auto columns = static_cast<std::int64_t>(panel.x.view.high);
  const auto rows = static_cast<std::int64_t>(panel.y.view.low);
  EXPECT_EQ(rows * columns, 24);
  EXPECT_LT(rows, 12);
  EXPECT_EQ(view.home(input)->x, panel.x.view);
  EXPECT_EQ(view.home(input)->y, panel.y.view);
  const Field& mosaic = *std::get<figure::HeatMap>(panel.layers.front()).field;
  const std::int64_t size = mosaic.rows / rows;
  const std::int64_t length = fake(input).length();
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      figure::Hit hit;
      hit.x = static_cast<double>(column) + 0.5;
      hit.y = static_cast<double>(row) + 0.5;
      const Selection picked = view.pick(input, hit);
      ASSERT_TRUE(picked.layer && picked.head);
      seen.emplace(*picked.layer, *picked.head);
      const auto places = view.places(input, picked);
      ASSERT_EQ(places.size(), 1U);
      EXPECT_EQ(places[0].x.low, column);
      EXPECT_EQ(places[0].y.low, row);
      EXPECT_EQ((*panel.x.cell_names)[static_cast<std::size_t>(column)], std::to_string(*picked.head));
      const std::string& layers = (*panel.y.cell_names)[static_cast<std::size_t>(row)];
      EXPECT_NE((" " + layers + " ").find(" " + std::to_string(*picked.layer) + " "), std::string::npos) << layers;
      // The last query's weight on the key in the middle, of cells that are as many as there is room for.
      const std::int64_t r = row * size + size - 1;
      const std::int64_t c = column * size + size / 2;
      const std::int64_t key = (size / 2) * std::min(size, length) / size;
      if (size >= length) {
        expect_close(mosaic.at(r, c), fake(input).weight(*picked.layer, *picked.head, length - 1, key));
      }
    }
  }
  EXPECT_EQ(seen.size(), 24U);
}

TEST(Views, OptionsAreCheckedAgainstTheControls) {
  const View& view = view_of("distance-profile");
  EXPECT_TRUE(parse_options(view, {{"skip-first", "4"}, {"baseline", "false"}}).ok());
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"skip-first", "-2"}, {"skip-first", "4x"}, {"skip-first", "65"}, {"baseline", "perhaps"}, {"none", "1"}}) {
    const auto options = parse_options(view, {{name, value}});
    ASSERT_FALSE(options.ok()) << name << "=" << value;
    EXPECT_EQ(options.error().code, ErrorCode::kUsage);
  }
}

TEST(Views, LayersAndHeadsOutOfRangeAreUsageErrors) {
  ViewInput input = fake_text();
  input.layer = 3;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
  input.layer = 0;
  input.head = 4;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
  input.columns.clear();
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
}

TEST(Views, TheCacheGivesTheSameFieldForTheSameInputs) {
  ViewInput input = fake_text();
  input.cache = std::make_shared<FieldCache>(1 << 20);
  const auto field_of = [&] {
    return std::get<figure::HeatMap>(view_of("attention").figure(input)->panels.front().layers.front()).field;
  };
  const auto first = field_of();
  input.scale.colormap = "magma";
  EXPECT_EQ(field_of(), first);
  input.head = 1;
  EXPECT_NE(field_of(), first);
}

TEST(Views, RowsOfKeptQueriesAreCurvesBelowTheMap) {
  const auto trace = std::make_shared<test::FakeTrace>(test::FakeShape{}, kSentences);
  ViewInput input;
  input.columns.push_back({"fake", nullptr, trace});
  input.options.set("queries", std::string("5 9"));
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  ASSERT_EQ(figure->panels[1].layers.size(), 2U);
  const auto map = trace->map({}, {});
  for (std::size_t q = 0; q < 2; ++q) {
    const auto& curve = std::get<figure::Curve>(figure->panels[1].layers[q]);
    const std::int64_t query = q == 0 ? 5 : 9;
    ASSERT_EQ(static_cast<std::int64_t>(curve.y.size()), query + 1);
    for (std::int64_t key = 0; key <= query; ++key) {
      EXPECT_EQ(curve.y[static_cast<std::size_t>(key)], static_cast<double>(map->at(query, key)));
    }
  }
  EXPECT_EQ(toggled_query(input, 7), "5 9 7");
  EXPECT_EQ(toggled_query(input, 5), "9");
  EXPECT_FALSE(view_of("attention").pick(input, {1, 2.5, 0.5, -1}).query.has_value());  // curves choose nothing
  input.options.set("queries", std::string("five"));
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
}

TEST(Views, NpyAndCsvHoldShapeAndValues) {
  const Data data{{2, 2}, {1, 0.5F, NAN, 3}, {"a", "b,c"}};
  EXPECT_EQ(test::written(data, ".csv"), "a,\"b,c\"\n1,0.5\nnan,3\n");
  const Data maps{{2, 1, 2}, {1, 2, 3, 4}, {}, {"the", ", a\n"}, {"model, layer 0", "model, layer 1"}};
  EXPECT_EQ(test::written(maps, ".csv"), "# tokens,the,\", a \"\n# model, layer 0\n1,2\n\n# model, layer 1\n3,4\n");
  const std::string npy = test::written(data, ".npy");
  EXPECT_EQ(npy.substr(1, 5), "NUMPY");
  EXPECT_NE(npy.find("'shape': (2, 2)"), std::string::npos);
  EXPECT_EQ(npy.size() % 64, 16U);
}

// A trace that counts the maps it has computed.
class CountingTrace final : public test::FakeTrace {
 public:
  CountingTrace() : FakeTrace({}, kSentences) {}
  Result<Field> map(const models::MapRequest& request, StopToken stop) const override {
    ++maps;
    return FakeTrace::map(request, std::move(stop));
  }

  mutable int maps = 0;
};

TEST(Views, MapsOfEveryHeadAreComputedAsTheyAreWritten) {
  const auto trace = std::make_shared<CountingTrace>();
  ViewInput input;
  input.columns.push_back({"fake", nullptr, trace});
  input.layer = input.head = kAll;
  const auto cells = static_cast<std::size_t>(trace->length() * trace->length());
  for (const char* view : {"attention", "attention-grid"}) {
    trace->maps = 0;
    const auto parts = view_of(view).data_parts(input);
    ASSERT_TRUE(parts.ok()) << parts.error().describe();
    EXPECT_EQ(parts->count, 12);
    EXPECT_EQ(trace->maps, 0);
    for (int n = 0; n < 3; ++n) {
      EXPECT_EQ(parts->part(n)->size(), cells);  // one map is all that is held
      EXPECT_EQ(trace->maps, n + 1);
    }
    const auto file = std::filesystem::path(testing::TempDir()) / ("every-head-" + std::to_string(getpid()));
    const auto whole = view_of(view).data(input);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(whole->titles.size(), 12U);
    EXPECT_EQ(whole->titles[5], "fake, layer 1, head 1: attention weight");
    EXPECT_EQ(static_cast<std::int64_t>(whole->tokens.size()), trace->length());
    for (const bool npy : {true, false}) {
      const auto path = file.string() + (npy ? ".npy" : ".csv");
      ASSERT_TRUE(write_data(*parts, "", path).ok());
      const auto written = read_file(path, 1 << 26);
      ASSERT_TRUE(written.ok());
      EXPECT_EQ(*written, test::written(*whole, npy ? ".npy" : ".csv"));
      std::filesystem::remove(path);
    }
  }
}

TEST(Views, AStoppedExportLeavesNoFile) {
  std::stop_source stop;
  DataParts parts{{2, 3}, {}, 2, [&](std::int64_t) -> Result<std::vector<float>> {
                    stop.request_stop();
                    return std::vector<float>{1, 2, 3};
                  }};
  const auto file = std::filesystem::path(testing::TempDir()) / ("stopped-" + std::to_string(getpid()) + ".npy");
  const Status written = write_data(parts, "{}", file, stop.get_token());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(file));
  parts.count = 1;
  EXPECT_EQ(write_data(parts, "", file).error().code, ErrorCode::kInternal);  // fewer numbers than the shape says
}

}  // namespace
}  // namespace locus::views
