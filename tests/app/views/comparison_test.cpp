// Columns against a reference, columns with heads and texts of their own, and how much two maps differ in numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "app/figures/view_input.h"
#include "app/session/session.h"
#include "app/views/shared/score_maps/map_metrics.h"
#include "app/views/shared/view.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_model.h"

namespace locus::views {
namespace {

using test_views::view_of;

constexpr const char* kThreeWords = "one two three";

ViewInput input_of_slopes(const std::vector<double>& slopes) {
  ViewInput input;
  for (std::size_t n = 0; n < slopes.size(); ++n) {
    test::FakeShape shape;
    shape.slope = slopes[n];
    input.columns.push_back(
        {std::string(1, static_cast<char>('a' + n)), nullptr, std::make_shared<test::FakeTrace>(shape, kThreeWords)});
  }
  return input;
}

double weight(const ViewInput& input, std::size_t column, std::int64_t i, std::int64_t j) {
  const HeadRef head = head_of_column(input, column);
  return static_cast<const test::FakeTrace&>(*input.columns[column].trace).weight(head.layer, head.head, i, j);
}

const figure::HeatMap& shown_map(const figure::Figure& figure, std::size_t panel) {
  return std::get<figure::HeatMap>(figure.panels.at(panel).layers.front());
}

// Layers by depth: every layer of the deepest column is shown, and beside it the layer that lies as deep.
TEST(Comparison, LayersByDepthLieAsDeep) {
  for (std::int64_t among = 1; among <= 13; ++among) {
    for (std::int64_t layers = 1; layers <= among; ++layers) {
      for (std::int64_t of = 0; of < among; ++of) {
        const double depth = among > 1 ? static_cast<double>(of) / static_cast<double>(among - 1) : 0;
        EXPECT_EQ(layer_at_depth(of, among, layers),
                  static_cast<std::int64_t>(std::floor(depth * static_cast<double>(layers - 1) + 0.5 + 1e-12)))
            << of << " of " << among << " in " << layers;
      }
      EXPECT_GE(layer_at_depth(among, among, layers), layers) << "no layer lies there";
      for (std::int64_t own = 0; own < layers; ++own) {
        EXPECT_EQ(layer_at_depth(layer_at_depth(own, layers, among), among, layers), own);
      }
    }
  }
}

TEST(Comparison, ColumnsOfDifferentDepthAreLinkedByDepth) {
  ViewInput input;
  for (const auto& [name, layers] : {std::pair("six", 6), std::pair("twelve", 12), std::pair("own", 20)}) {
    test::FakeShape shape;
    shape.layers = layers;
    input.columns.push_back({name, nullptr, std::make_shared<test::FakeTrace>(shape, kThreeWords)});
  }
  input.columns[2].own = HeadRef{17, 1};  // has no part in it
  input.head = 2;
  input.layer = 11;
  EXPECT_FALSE(view_of("attention").figure(input).ok()) << "one of six layers has none of that number";
  input.by_depth = true;
  for (const auto& [layer, other] :
       {std::pair(0, 0), std::pair(1, 0), std::pair(2, 1), std::pair(7, 3), std::pair(11, 5)}) {
    input.layer = layer;
    EXPECT_EQ(head_of_column(input, 0), (HeadRef{other, 2}));
    EXPECT_EQ(head_of_column(input, 1), (HeadRef{layer, 2}));
    EXPECT_EQ(head_of_column(input, 2), (HeadRef{17, 1}));
    const auto figure = view_of("attention").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    for (std::size_t n = 0; n < 3; ++n) {
      const std::string named = "layer " + std::to_string(head_of_column(input, n).layer) + ", head ";
      EXPECT_NE(figure->panels[n].title.find(named), std::string::npos) << figure->panels[n].title;
      EXPECT_NEAR(static_cast<double>(shown_map(*figure, n).field->at(9, 4)), weight(input, n, 9, 4), 1e-6);
    }
    EXPECT_EQ(of_column(input, 0).layer, other);
    EXPECT_EQ(head_of_column(of_column(input, 0), 0).layer, other) << "it is that column's already";
  }
  EXPECT_EQ(linked_layer(input, 0, 4), 9);
  EXPECT_EQ(linked_layer(input, 1, 4), 4);
  input.layer = 12;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
  input.layer = 11;
  input.partners = {{11, 2}, {0, 3}, {0, 0}};
  EXPECT_EQ(head_of_column(input, 1), (HeadRef{0, 3})) << "partners are chosen by hand";
}

TEST(Comparison, OfThreeColumnsEveryOtherShowsWhatItDiffersFromTheReferenceBy) {
  ViewInput input = input_of_slopes({0.2, 0.5, 0.9});
  input.difference = true;
  for (const std::int64_t reference : {0, 1, 2, -1}) {
    input.reference = reference;
    const std::size_t from = reference < 0 ? 2 : static_cast<std::size_t>(reference);
    const auto figure = view_of("attention").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    ASSERT_EQ(figure->panels.size(), 3U);
    EXPECT_EQ(figure->columns, 3);
    for (std::size_t n = 0; n < 3; ++n) {
      const float seen = shown_map(*figure, n).field->at(9, 4);
      const double own = weight(input, n, 9, 4);
      EXPECT_NEAR(static_cast<double>(seen), n == from ? own : own - weight(input, from, 9, 4), 1e-6);
      EXPECT_EQ(figure->panels[n].title.find(" − ") == std::string::npos, n == from) << figure->panels[n].title;
    }
    // One zero-centred range for all differences; the reference keeps its own, and both say what they are.
    const std::size_t first = compared_columns(input).front();
    const std::size_t last = compared_columns(input).back();
    EXPECT_EQ(shown_map(*figure, first).scale.high, shown_map(*figure, last).scale.high);
    EXPECT_EQ(shown_map(*figure, first).scale.low, -shown_map(*figure, first).scale.high);
    EXPECT_EQ(shown_map(*figure, from).scale.low, 0.0F);
    EXPECT_EQ(figure->panels[from].color_bar_label, "attention weight");
    EXPECT_EQ(figure->panels[last].color_bar_label, "difference of attention weight");
    const auto data = view_of("attention").data(input);
    ASSERT_TRUE(data.ok()) << data.error().describe();
    const auto cell = static_cast<std::size_t>(9 * input.columns[0].trace->length() + 4);
    EXPECT_NEAR(static_cast<double>(data->values[cell]), weight(input, first, 9, 4) - weight(input, from, 9, 4), 1e-6);
  }
}

TEST(Comparison, OfTwoColumnsTheFirstMayBeTheReference) {
  ViewInput input = input_of_slopes({0.2, 0.5});
  input.difference = true;
  input.reference = 0;
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 3U);
  EXPECT_EQ(figure->panels[2].title, "b − a · layer 0, head 0");
  EXPECT_NEAR(static_cast<double>(shown_map(*figure, 2).field->at(9, 4)),
              weight(input, 1, 9, 4) - weight(input, 0, 9, 4), 1e-6);
  figure::Hit hit;
  hit.panel = 2;
  hit.x = 4.5;
  hit.y = 9.5;
  EXPECT_EQ(view_of("attention").pick(input, hit).column, 1);
  EXPECT_EQ(view_of("attention").places(input, view_of("attention").pick(input, hit)).size(), 3U);
}

TEST(Comparison, UnlinkedColumnsShowTheirOwnHead) {
  ViewInput input = input_of_slopes({0.2, 0.2});
  input.layer = 1;
  input.head = 2;
  input.columns[1].own = HeadRef{0, 3};
  auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(figure->panels[0].title, "a · layer 1, head 2");
  EXPECT_EQ(figure->panels[1].title, "b ⚮ layer 0, head 3");
  EXPECT_NEAR(static_cast<double>(shown_map(*figure, 1).field->at(9, 4)), weight(input, 1, 9, 4), 1e-6);
  input.layer = 2;  // the others move on
  figure = view_of("attention").figure(input);
  EXPECT_EQ(figure->panels[0].title, "a · layer 2, head 2");
  EXPECT_EQ(figure->panels[1].title, "b ⚮ layer 0, head 3");
  input.columns[1].own->layer = 9;
  EXPECT_EQ(view_of("attention").figure(input).error().code, ErrorCode::kUsage);
}

Field field_of(std::vector<float> values, std::int64_t columns) {
  Field field = Field::zeros(static_cast<std::int64_t>(values.size()) / columns, columns);
  field.values = std::move(values);
  return field;
}

TEST(Comparison, MetricsAreThoseOfTheirDefinitions) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Field a = field_of({1, nan, 0.5F, 0.5F}, 2);
  const Field b = field_of({1, nan, 1, 0}, 2);
  const MapMetrics both = map_metrics(a, b, {0, 2}, false);
  EXPECT_NEAR(both.mean_absolute, 1.0 / 3, 1e-12);  // of the three cells with a value
  // Row 1: m = (0.75, 0.25); KL(p‖m) = ½ log₂(0.5/0.75) + ½ log₂(0.5/0.25); KL(q‖m) = log₂(1/0.75).
  const double row = (std::log2(0.5 / 0.75) / 2 + std::log2(2.0) / 2 + std::log2(1 / 0.75)) / 2;
  ASSERT_TRUE(both.jensen_shannon.has_value());
  EXPECT_NEAR(*both.jensen_shannon, row / 2, 1e-12);
  EXPECT_NEAR(*map_metrics(a, b, {1, 2}, false).jensen_shannon, row, 1e-12);
  EXPECT_EQ(map_metrics(a, a, {0, 2}, false).mean_absolute, 0);
  EXPECT_EQ(*map_metrics(a, a, {0, 2}, false).jensen_shannon, 0);
  EXPECT_NEAR(*map_metrics(field_of({1, 0}, 2), field_of({0, 1}, 2), {0, 1}, false).jensen_shannon, 1, 1e-12);
  EXPECT_FALSE(map_metrics(field_of({nan, 0}, 2), field_of({0, 1}, 2), {0, 1}, false).jensen_shannon.has_value());
  EXPECT_EQ(metrics_text(both, false), "mean |Δ| 0.333");
}

TEST(Comparison, APinnedQuerysRowHasItsOwnNumbers) {
  ViewInput input = input_of_slopes({0.2, 0.5});
  input.difference = true;
  input.query = 9;
  const auto figure = view_of("attention").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  double absolute = 0;
  for (std::int64_t j = 0; j <= 9; ++j) {
    absolute += std::abs(weight(input, 0, 9, j) - weight(input, 1, 9, j)) / 10;
  }
  MapMetrics row;
  row.mean_absolute = absolute;
  const std::string wanted = "; query 9: " + metrics_text(row, false) + ", JS ";
  EXPECT_NE(figure->panels[2].note.find(wanted), std::string::npos) << figure->panels[2].note << " " << wanted;
}

TEST(Comparison, FormatsOfQuantisedWeightsAreNamedOnce) {
  const session::CheckpointEntry entry;
  models::ModelInfo opened;
  opened.name = "model.gguf";
  for (const char* const plain : {"", "float64", "float32", "float16", "bfloat16"}) {
    opened.dtype = plain;
    EXPECT_EQ(session::label_of(entry, &opened), "");
  }
  for (const std::string format : {"Q4_K", "MXFP4", "F8_E4M3", "AWQ 4-bit", "GPTQ 4-bit"}) {
    opened.dtype = format;
    EXPECT_EQ(session::label_of(entry, &opened), " " + format);
  }
  opened.name = "SmolLM2-135M-q4_k_m.gguf";
  opened.dtype = "Q4_K";
  EXPECT_EQ(session::label_of(entry, &opened), "");
  opened.dtype = "Q6_K";
  EXPECT_EQ(session::label_of(entry, &opened), " Q6_K");
}

TEST(Comparison, AColumnsOwnTextIsKeptInFilesAndNames) {
  session::CheckpointEntry entry;
  entry.path = "/there/text-rope";
  entry.text = "Nine\nnaïve tests of a longer text";
  EXPECT_EQ(session::label_of(entry), " “Nine naïve tests of a l…”");
  models::Input input;
  input.text = "another";
  EXPECT_EQ(session::input_of(entry, input, {}).text, entry.text);
  session::Session session;
  session.checkpoints = {entry, entry};
  session.checkpoints[1].own = HeadRef{2, kMean};
  session.state.reference = 1;
  const auto again = session::parse_session(session::to_json(session, "/"), "s.json", "/");
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ(again->checkpoints, session.checkpoints);
  EXPECT_EQ(again->state.reference, 1);
}

// Files that say it of places, and the command line.
TEST(Comparison, HeadsThatAreSaidByPlaceAreTheColumnsOwn) {
  session::Session session;
  session.checkpoints = {{"/there/a", {}, true}, {"/there/hidden", {}, false}, {"/there/b", {}, true}};
  session.state.unlinked = {{kNone, 0}, {2, kMean}};
  session.bookmarks.push_back({"one", session.state, {}, {session.checkpoints[0], session.checkpoints[2]}});
  const auto read = session::parse_session(session::to_json(session, "/"), "s.json", "/");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_TRUE(read->state.unlinked.empty());
  EXPECT_FALSE(read->checkpoints[0].own || read->checkpoints[1].own);
  EXPECT_EQ(read->checkpoints[2].own, (HeadRef{2, kMean}));
  EXPECT_TRUE(read->bookmarks[0].state.unlinked.empty());
  EXPECT_EQ(read->bookmarks[0].columns[1].own, (HeadRef{2, kMean}));
}

}  // namespace
}  // namespace locus::views
