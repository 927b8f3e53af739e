// The sentence at the pointer: for every view that draws cells, the number that is read at a cell is the number that is
// exported for it, to the digits that are printed.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/read_out.h"
#include "app/views/shared/view.h"
#include "core/base/numbers.h"
#include "tests/support/atlas_inputs.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"
#include "tests/support/family_column.h"
#include "tests/support/paths.h"

namespace locus::views {
namespace {

using test_views::view_of;

constexpr const char* kShort = "One boat, two boats.";

// One figure of a view, and where its data has the number of a cell.
struct Sentence {
  std::string view;
  std::string checkpoint = "text-rope";
  std::vector<std::pair<std::string, std::string>> options{};
  models::Quantity quantity = models::Quantity::kWeight;
  std::size_t panel = 0;
  bool difference = false;
  // The entry of the data's values for row r and column c of the panel's map; none: r · columns + c.
  std::function<std::size_t(const ViewInput&, const Data&, const Field&, std::int64_t, std::int64_t)> entry{};
};

ViewInput sentence_input(const Sentence& of) {
  ViewInput input;
  if (of.checkpoint == "atlas") {
    input = test::made_up_input();
  } else if (of.checkpoint.starts_with("family:")) {
    input.columns.push_back(test::family_column(of.checkpoint.substr(7)));
  } else if (of.checkpoint.starts_with("shapes")) {
    models::Input image;
    image.image = test::source_dir() + "/assets/samples/circle-square.png";
    input.columns.push_back(test::column_of(test::bundled(of.checkpoint), image));
  } else {
    input.columns.push_back(test::column_of(test::bundled(of.checkpoint), std::string(kShort)));
    if (of.difference || of.view == "head-difference") {
      input.columns.push_back(test::column_of(test::bundled(of.checkpoint, 300.0), std::string(kShort), "base 300"));
    }
  }
  input.difference = of.difference;
  input.layer = 1;
  input.head = 2;
  input.quantity = of.quantity;
  input.width_px = input.height_px = 2048;
  input.cache = std::make_shared<FieldCache>(std::size_t{64} << 20);
  const auto options = parse_options(view_of(of.view), of.options);
  EXPECT_TRUE(options.ok()) << (options.ok() ? "" : options.error().describe());
  input.options = options.ok() ? *options : Settings();
  return input;
}

std::size_t grid_entry(const ViewInput& input, const Data& data, const Field& mosaic, std::int64_t r, std::int64_t c) {
  const auto length = static_cast<std::int64_t>(data.shape.back());
  const models::ModelInfo& model = input.columns.front().trace->model();
  const std::int64_t size = mosaic.rows / model.layers;
  const std::int64_t row = (r % size) * length / size;
  const std::int64_t key = (c % size) * length / size;
  return static_cast<std::size_t>((((r / size) * model.heads + c / size) * length + row) * length + key);
}

// Rows of the table are amounts, its columns the amount, patches, prediction, and the layers of each measure.
std::size_t moved_entry(const ViewInput& /*input*/, const Data& data, const Field& /*field*/, std::int64_t r,
                        std::int64_t c) {
  return static_cast<std::size_t>(c * data.shape[1] + 3 + r);
}

// The table's columns are layer and head, then every statistic; the figure leaves out those that no head has.
std::size_t heads_entry(const ViewInput& /*input*/, const Data& data, const Field& /*field*/, std::int64_t r,
                        std::int64_t c) {
  const std::int64_t columns = data.shape[1];
  std::int64_t left = c;
  for (std::int64_t column = 2; column < columns; ++column) {
    bool any = false;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      any = any || !std::isnan(test_views::at(data, row, column));
    }
    if (any && left-- == 0) {
      return static_cast<std::size_t>(r * columns + column);
    }
  }
  return 0;
}

// Of data with a row for each cell: the column of that name.
std::function<std::size_t(const ViewInput&, const Data&, const Field&, std::int64_t, std::int64_t)> column_of_cells(
    const std::string& name) {
  return [name](const ViewInput&, const Data& data, const Field& field, std::int64_t r, std::int64_t c) {
    const std::int64_t column = test_views::column_named(data, name);
    return static_cast<std::size_t>((r * field.columns + c) * data.shape[1] + column);
  };
}

std::vector<Sentence> listed_sentences() {
  using models::Quantity;
  const auto second_panel = [](const ViewInput&, const Data& data, const Field&, std::int64_t r, std::int64_t c) {
    return static_cast<std::size_t>(data.shape[1] * data.shape[2] + r * data.shape[2] + c);
  };
  return {
      {"attention"},
      {"attention", "text-rope", {}, Quantity::kLogit},
      {"attention", "text-rope", {}, Quantity::kContent},
      {"attention", "text-rope", {}, Quantity::kContribution},
      {"attention", "text-cope", {}, Quantity::kGate},
      {"attention", "text-cope", {}, Quantity::kPosition},
      {"attention", "text-rope", {{"pairs", "0:3"}}},
      {"attention", "text-rope", {}, Quantity::kWeight, 2, true},
      {"attention", "text-rope", {}, Quantity::kLogit, 2, true},
      {"attention-grid", "text-rope", {}, Quantity::kWeight, 0, false, grid_entry},
      {"attention-grid", "text-rope", {}, Quantity::kLogit, 0, false, grid_entry},
      {"attention-image", "shapes-seqpe"},
      {"mean-map", "atlas"},
      {"pe-dot-product"},
      {"pe-dot-product", "text-rope", {{"length", "40"}}},
      {"pe-dot-product", "text-rope", {{"cosine", "true"}, {"centred", "true"}}},
      {"pe-dot-product", "text-rope", {}, Quantity::kWeight, 2, true},
      {"pe-dot-product-2d", "shapes-seqpe"},
      {"picture-stability", "shapes-seqpe", {{"steps", "1"}}, Quantity::kWeight, 0, false, moved_entry},
      {"pe-dot-product-2d", "shapes-seqpe", {}, Quantity::kWeight, 1, false, second_panel},
      {"gates", "text-cope"},
      {"positions", "text-cope"},
      {"position-attention", "text-cope"},
      {"position-attention", "text-rope"},
      {"transform", "family:path_attn"},
      {"transform", "family:path_attn", {{"of", "carried"}}},
      {"heads", "text-rope", {{"rows", "4096"}}, Quantity::kWeight, 0, false, heads_entry},
      {"heads", "text-rope", {{"as", "map"}, {"statistic", "entropy"}}},
      {"head-difference"},
      {"knock-out"},
      {"logit-lens"},
      {"logit-lens", "text-rope", {{"token", "e"}}},
      {"needle", "atlas", {{"of", "score"}}, Quantity::kWeight, 0, false, column_of_cells("mean")},
      {"reading", "text-rope", {{"of", "heads"}}, Quantity::kWeight, 0, false, column_of_cells("other tokens")},
      {"reading", "text-rope", {{"of", "heads"}}, Quantity::kWeight, 1, false, column_of_cells("first token")},
      {"move", "text-rope", {{"as", "map"}, {"tokens", "8:12"}, {"by", "-2:2"}, {"measure", "weight"}}},
      {"word-problem",
       "text-rope",
       {{"word", "abcajj"}},
       Quantity::kWeight,
       0,
       false,
       [](const ViewInput&, const Data& data, const Field&, std::int64_t r, std::int64_t c) {
         constexpr std::int64_t kBefore = 3;  // columns of the table: prefix, identity, logit
         return c % 6 == 5 ? data.values.size()
                           : static_cast<std::size_t>(c / 6 * data.shape[1] + kBefore + 5 * r + c % 6);
       }},
      {"pair-energy",
       "text-rope",
       {},
       Quantity::kWeight,
       0,
       false,
       [](const ViewInput& input, const Data& data, const Field&, std::int64_t r, std::int64_t c) {
         return r == input.head ? static_cast<std::size_t>(c) : data.values.size();
       }},
  };
}

// Views without cells of a map in their first panel, or that are covered below.
const std::set<std::string>& without_cells() {
  static const std::set<std::string> names{
      "attention-text",  "distance-profile", "distance-bias", "kernel",
      "pair-scores",     "pair-profile",     "pair-plane",    "shift-stability",
      "effect",          "length-curve",     "task-accuracy", "training-curve",
      "training",        "loss-by-position", "atlas",         "logit-attribution",
      "memory",          "addressing",       "score-sources", "learned-positions",
      "transform-steps", "examples",         "repeated-text", "perceived-distance"};
  return names;
}

// Returns the case listed for a view; for any other view whose first panel is a map, its cells as they are exported.
std::vector<Sentence> sentences() {
  std::vector<Sentence> all = listed_sentences();
  std::set<std::string> read = without_cells();
  for (const Sentence& each : all) {
    read.insert(each.view);
  }
  for (const View* view : views()) {
    const Sentence own{view->info().name};
    if (!read.contains(own.view) && map_of(view->figure(sentence_input(own)).value().panels.front()) != nullptr) {
      all.push_back(own);
    }
  }
  return all;
}

TEST(ReadOut, TheNumberAtACellIsTheNumberThatIsExportedForIt) {
  for (const Sentence& each : sentences()) {
    const ViewInput input = sentence_input(each);
    const Data data = test_views::exported(each.view, input);
    const auto figure = view_of(each.view).figure(input);
    ASSERT_TRUE(figure.ok()) << each.view << ": " << figure.error().describe();
    ASSERT_LT(each.panel, figure->panels.size()) << each.view;
    const figure::HeatMap* const map = map_of(figure->panels[each.panel]);
    ASSERT_NE(map, nullptr) << each.view;
    const Field& field = *map->field;
    std::int64_t compared = 0;
    for (std::int64_t r = 0; r < field.rows; ++r) {
      for (std::int64_t c = 0; c < field.columns; ++c) {
        const std::size_t entry =
            each.entry ? each.entry(input, data, field, r, c) : static_cast<std::size_t>(r * field.columns + c);
        if (each.entry && entry >= data.values.size()) {
          continue;
        }
        ASSERT_LT(entry, data.values.size()) << each.view;
        const float exported = data.values[entry];
        const Hit hit{each.panel, field.column_axis.first + (static_cast<double>(c) + 0.5) * field.column_axis.step,
                      field.row_axis.first + (static_cast<double>(r) + 0.5) * field.row_axis.step, -1};
        const auto read = read_out(*figure, hit);
        ASSERT_TRUE(read.has_value()) << each.view;
        const std::string where = each.view + " row " + std::to_string(r) + " column " + std::to_string(c);
        if (std::isnan(read->value)) {  // masked: of weights, and of their differences, 0 in data
          ASSERT_TRUE(std::isnan(exported) || exported == 0) << where << ": " << exported;
          continue;
        }
        const std::string printed = general_text(static_cast<double>(exported), 5);
        ASSERT_EQ(general_text(static_cast<double>(read->value), 5), printed) << where;
        ASSERT_NE(read->words.find(printed), std::string::npos) << where << ": " << read->words;
        ASSERT_GT(read->words.size(), printed.size() + 2) << where << ": no name before the number";
        ++compared;
      }
    }
    EXPECT_GT(compared, 0) << each.view;
  }
}

TEST(ReadOut, ATokenOfTheTextReadsItsOwnValue) {
  for (const models::Quantity quantity : {models::Quantity::kWeight, models::Quantity::kLogit}) {
    ViewInput input = sentence_input({"attention-text", "text-rope", {}, quantity});
    input.query = 9;
    const Data data = test_views::exported("attention-text", input);
    const auto figure = view_of("attention-text").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    for (std::int64_t key = 0; key <= 9; ++key) {
      Hit hit;
      hit.token = key;
      const auto read = read_out(*figure, hit);
      ASSERT_TRUE(read.has_value());
      EXPECT_EQ(read->value, data.values[static_cast<std::size_t>(2 * key + 1)]);
      EXPECT_NE(read->words.find(general_text(static_cast<double>(read->value), 5)), std::string::npos) << read->words;
    }
    Hit later;
    later.token = 12;
    EXPECT_TRUE(std::isnan(read_out(*figure, later)->value));
  }
}

// The number that has the cell's colour on the bar: of a table its share, of others the value itself.
TEST(ReadOut, AValueIsFoundOnTheBarOfItsColours) {
  ViewInput input = sentence_input({"attention"});
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto read = read_out(*figure, {0, 4.5, 9.5, -1});
  ASSERT_TRUE(read && read->bar);
  EXPECT_EQ(*read->bar, 0U);
  EXPECT_EQ(read->colored, read->value);
  EXPECT_EQ(read->name, "attention weight");
  EXPECT_FALSE(read_out(*figure, {0, 9.5, 4.5, -1})->bar);  // masked: it has no colour

  const auto table = view_of("heads").figure(sentence_input({"heads"}));
  ASSERT_TRUE(table.ok()) << table.error().describe();
  EXPECT_FALSE(read_out(*table, {0, 0.5, 0.5, -1})->bar);  // a table has no bar
  const auto grid = view_of("attention-grid").figure(sentence_input({"attention-grid"}));
  ASSERT_TRUE(grid.ok()) << grid.error().describe();
  EXPECT_TRUE(read_out(*grid, {0, 0.01, 0.99, -1})->bar);
}

TEST(ReadOut, ACellOfSeveralCellsSaysSoBehindItsValue) {
  auto field = std::make_shared<Field>(Field::zeros(2, 2));
  field->row_axis = {"query", "token", 0, 4};
  field->column_axis = {"key", "token", 0, 3};
  field->at(1, 0) = 0.5F;
  figure::HeatMap map;
  map.field = field;
  figure::Panel panel;
  panel.color_bar_label = "attention weight";
  panel.layers.emplace_back(map);
  figure::Figure figure;
  figure.panels.push_back(panel);
  EXPECT_EQ(read_out(figure, {0, 1.0, 5.0, -1})->words, "attention weight 0.5 (max of up to 4×3 cells)");
}

// Tables colour shares; the number is that of the cell, and its name that of its column.
TEST(ReadOut, ACellOfTheTableOfHeadsReadsItsStatistic) {
  const ViewInput input = sentence_input({"heads"});
  const auto figure = view_of("heads").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto& map = std::get<figure::HeatMap>(figure->panels.front().layers.front());
  for (std::int64_t c = 0; c < map.field->columns; ++c) {
    const auto read = read_out(*figure, {0, static_cast<double>(c) + 0.5, 0.5, -1});
    ASSERT_TRUE(read.has_value());
    if (!std::isnan(read->value)) {
      const std::string& cell = (*map.texts)[static_cast<std::size_t>(c)];
      double written = 0;  // a decimal point, whatever the locale
      std::from_chars(cell.data(), cell.data() + cell.size(), written);
      EXPECT_NEAR(written, static_cast<double>(read->value), 0.01 * std::abs(static_cast<double>(read->value)) + 0.01)
          << cell;
    }
  }
  EXPECT_EQ(read_out(*figure, {0, 0.5, 0.5, -1})->words.rfind("entropy (nats) ", 0), 0U);
}

TEST(ReadOut, TheStripOfPositionsReadsItsNumbers) {
  ViewInput input = sentence_input({"positions", "text-cope"});
  input.query = 10;
  const auto figure = view_of("positions").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const Field gates = test_views::map_of(*input.columns.front().trace, 1, 2, models::Quantity::kGate);
  const Field weights = test_views::map_of(*input.columns.front().trace, 1, 2);
  for (std::int64_t key = 2; key <= 10; ++key) {
    const auto at = [&](double row) { return read_out(*figure, {1, static_cast<double>(key) + 0.5, row + 0.5, -1}); };
    EXPECT_EQ(at(0)->words, "distance " + std::to_string(10 - key));
    EXPECT_EQ(at(1)->value, gates.at(10, key));
    EXPECT_EQ(at(3)->value, weights.at(10, key));
    EXPECT_EQ(at(3)->words, "attention " + general_text(static_cast<double>(weights.at(10, key)), 5));
  }
}

// The lens leads with the token, its probability and its rank, and says where it reads.
TEST(ReadOut, TheLensReadsTokenProbabilityAndRankBeforeALayer) {
  const ViewInput input = sentence_input({"logit-lens", "text-rope", {{"token", "e"}}});
  const View& lens = view_of("logit-lens");
  const auto figure = lens.figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto read = read_out(*figure, {0, 3.5, 1.5, -1});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->words.rfind("“e”, probability ", 0), 0U) << read->words;
  EXPECT_NE(read->words.find(", rank "), std::string::npos) << read->words;
  EXPECT_EQ(lens.said_of(input, {0, 3.5, 1.5, -1}), std::vector<std::string>{"before layer 1"});
  const auto layers = static_cast<double>(input.columns.front().trace->model().layers);
  EXPECT_EQ(lens.said_of(input, {0, 3.5, layers + 0.5, -1}),
            std::vector<std::string>{"after the last layer: what the model says"});
  EXPECT_NE(lens.info().caption.find("before each layer"), std::string::npos);
  const auto& map = std::get<figure::HeatMap>(figure->panels.front().layers.front());
  const auto cell = static_cast<std::size_t>(map.field->columns + 3);
  EXPECT_TRUE(read->words.ends_with(", rank " + (*map.texts)[cell])) << read->words;
  EXPECT_EQ((*map.details)[cell], fixed_text(static_cast<double>(map.field->at(1, 3)), 2));
}

// Positions have no tokens, whatever stands there, and none where the text has ended.
TEST(ReadOut, PositionsAreNamedWithoutTokens) {
  const ViewInput input = sentence_input({"pe-dot-product", "text-rope", {{"length", "40"}}});
  const View& view = view_of("pe-dot-product");
  EXPECT_FALSE(view.names_tokens());
  EXPECT_FALSE(view.info().of_scores);
  EXPECT_EQ(view.said_of(input, {0, 3.5, 35.5, -1}),
            (std::vector<std::string>{"position i = 35", "position j = 3", "Δ = 32"}));
}

// What the inspector has of a cell is what the view draws there.
TEST(ReadOut, TheInspectorsValueIsTheDrawnOne) {
  for (const Sentence& each :
       {Sentence{"pe-dot-product"}, Sentence{"pe-dot-product", "text-rope", {{"cosine", "true"}, {"centred", "true"}}},
        Sentence{"position-attention", "text-cope"}, Sentence{"position-attention", "text-rope"}}) {
    const ViewInput input = sentence_input(each);
    const Data data = test_views::exported(each.view, input);
    for (const auto& [query, key] : {std::pair<std::int64_t, std::int64_t>{9, 4}, {12, 12}, {5, 0}}) {
      const auto drawn = view_of(each.view).drawn_at(input, 0, query, key);
      ASSERT_TRUE(drawn.ok() && drawn->has_value()) << each.view;
      EXPECT_EQ(general_text(static_cast<double>((*drawn)->value), 5),
                general_text(test_views::at(data, query, key), 5))
          << each.view;
      EXPECT_FALSE((*drawn)->name.empty());
    }
  }
  const auto of_scores = view_of("attention").drawn_at(sentence_input({"attention"}), 0, 9, 4);
  EXPECT_TRUE(of_scores.ok() && !of_scores->has_value());
}

TEST(ReadOut, AMaskedCellSaysWhy) {
  models::ModelInfo model;
  model.layers = 3;
  model.layer_info.resize(3);
  model.layer_info[1].window = 5;
  model.layer_info[2].chunk = 4;
  EXPECT_EQ(masked_text(model, 0, 3, 7), "masked: the key comes after the query");
  EXPECT_EQ(masked_text(model, 1, 9, 4), "masked: the key is outside the window of 5 tokens");
  EXPECT_EQ(masked_text(model, 2, 9, 7), "masked: the key is in another chunk of 4 tokens");
  EXPECT_EQ(masked_text(model, 0, 7, 3), "masked: the query does not see this key");
  model.causal = false;
  EXPECT_EQ(masked_text(model, 1, 4, 9), "masked: the key is outside the window of 5 tokens");
}

}  // namespace
}  // namespace locus::views
