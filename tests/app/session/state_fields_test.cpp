// One list of fields: what is added to it is in files, recipes, flags, undo, docks and help; and what each field
// refuses.
#include "app/session/state_fields.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/field_flags.h"
#include "app/session/recipe.h"
#include "app/session/session.h"
#include "core/base/controls.h"

namespace locus::workbench {
namespace {

// The list with one more, of a member that a state has.
session::StateFields with_tilt() {
  session::StateFields fields = session::state_fields();
  fields.push_back(session::state_field(
      {Parameter::Kind::kNumber, "tilt", "Tilt", "How far the map leans", 0.5, 0, 90, {}}, "--tilt",
      [](auto& s) -> auto& { return s.scale.gamma; }));
  return fields;
}

const session::StateField& field_of(const session::StateFields& fields, const std::string& name) {
  return *std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.parameter.name == name; });
}

TEST(StateFields, AFieldOfOneLineIsInFilesRecipesFlagsAndHelp) {
  const session::StateFields fields = with_tilt();
  session::Session session;
  ASSERT_TRUE(session::type_field(fields.back(), session.state, "30", "--tilt").ok());
  const std::string text = to_json(session, "/", fields);
  EXPECT_NE(text.find("\"tilt\": 30.0"), std::string::npos) << text;
  session::ViewState plain;
  session.state.scale.gamma = 0.5F;
  nlohmann::json document = nlohmann::json::parse(to_json(session, "/", fields));
  document["state"]["tilt"] = 45;
  document["state"].erase("scale");
  const auto loaded = session::parse_session(document.dump(), "s.json", "/", fields);
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  EXPECT_EQ(loaded->state.scale.gamma, 45.0F);
  document["state"]["tilt"] = 91;
  const auto refused = session::parse_session(document.dump(), "s.json", "/", fields);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().describe(), "s.json: session.state.tilt: expected a number from 0 to 90, found 91");
  // Recipes.
  session::Recipe recipe;
  recipe.session = session;
  recipe.session.state.scale.gamma = 12.0F;
  EXPECT_NE(to_json(recipe, fields).find("\"tilt\":12.0"), std::string::npos);
  // Flags, and the help of the command.
  CLI::App app;
  std::vector<cli::Option> table;
  cli::FieldFlags<session::ViewState> flags(fields);
  std::vector<cli::NamedFiles> files;
  std::vector<cli::Proposals> proposals;
  cli::Arguments arguments(app, table, files, proposals, "figure");
  flags.declare(arguments);
  EXPECT_NE(app.help().find("--tilt"), std::string::npos);
  EXPECT_NE(app.help().find("how far the map leans"), std::string::npos);
  app.parse("--tilt 60 --low 0.25", false);
  ASSERT_TRUE(flags.read(plain).ok());
  EXPECT_EQ(plain.scale.gamma, 60.0F);
  EXPECT_EQ(plain.scale.low, 0.25F);
}

TEST(StateFields, EveryFieldIsReadBackAsItIsWritten) {
  session::ViewState state;
  state.view = "heads";
  state.layer = 3;
  state.head = views::kMean;
  state.partners = {{3, -1}, {2, 5}};
  state.query = {9, views::TokenText{{12, 15}, 1}};
  state.key = {4, views::TokenText{{5, 5}, 0}};
  state.quantity = models::Quantity::kContribution;
  state.side = models::Side::kCross;
  state.reduction = Reduction::kMean;
  state.difference = true;
  state.reference = 1;
  state.unlinked = {{-1, 0}, {2, 5}};
  state.by_depth = true;
  state.ignore_first = true;
  state.scale = {"magma", -0.5F, 2.5F, 97.5, false, figure::Transfer::kGamma, 0.7F, 0x000000FF};
  state.camera = views::Camera{{0, 12.5}, {20, 4}};
  state.plots.hidden = {"text-rope", "theory"};
  state.plots.axes = {{0, false, figure::Interval{2.5, 40}, session::AxisScale::kLogarithmic},
                      {1, true, std::nullopt, session::AxisScale::kLinear}};
  state.marks = {{{3, 9}}, {{1, {0, 4}, {2, 7}}}};
  state.navigator = {"entropy", true, session::NavigatorChoice::Fold::kOpen};
  session::ViewState again;
  for (const session::StateField& field : session::state_fields()) {
    const auto value = field.get(state);
    ASSERT_TRUE(value.has_value()) << field.parameter.name;
    EXPECT_NE(field.get(again), value) << field.parameter.name << " is one that was not set above";
    if (field.parameter.name != "partners" &&
        field.parameter.name != "unlinked") {  // a mean as a partner has no text of its own
      ASSERT_TRUE(session::type_field(field, again, session::typed_text(field, state), "it").ok())
          << field.parameter.name;
    } else {
      field.put(again, value);
    }
    EXPECT_EQ(field.get(again), value) << field.parameter.name;
  }
  EXPECT_EQ(again.scale, state.scale);
  EXPECT_EQ(again.plots, state.plots);
  EXPECT_EQ(again.marks, state.marks);
  EXPECT_EQ(again.navigator, state.navigator);
}

TEST(StateFields, AScaleThatFilesNameStaysAndAFreshOneFollowsTheData) {
  session::Session session;
  EXPECT_NE(to_json(session, "/").find(R"("transfer": "auto")"), std::string::npos);
  for (const auto& [word, transfer] : {std::pair<std::string, std::optional<figure::Transfer>>("auto", std::nullopt),
                                       {"linear", figure::Transfer::kLinear},
                                       {"log", figure::Transfer::kLog}}) {
    const std::string file = R"({"locus": "session/1", "state": {"scale": {"transfer": ")" + word + R"("}}})";
    const auto loaded = session::parse_session(file, "s.json", "/");
    ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
    EXPECT_EQ(loaded->state.scale.transfer, transfer);
  }
}

TEST(StateFields, WhatIsChosenOnTheCanvasIsInFilesWhereItIsChosen) {
  session::Session session;
  for (const char* word : {"hidden", "axes", "profiles", "measures", "navigator"}) {
    EXPECT_EQ(to_json(session, "/").find(word), std::string::npos) << word;
  }
  session.state.plots = {{"rope"}, {{1, true, figure::Interval{0.25, 8}, session::AxisScale::kAsDrawn}}};
  session.state.marks = {{{3, 9}}, {{0, {0, 4}, {2, 7}}}};
  session.state.navigator.fold = session::NavigatorChoice::Fold::kFolded;
  const auto loaded = session::parse_session(to_json(session, "/"), "s.json", "/");
  ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
  EXPECT_EQ(loaded->state, session.state);
  session::show_view(session.state, "gates");
  EXPECT_TRUE(session.state.plots.empty());
  EXPECT_TRUE(session.state.marks.empty());
  EXPECT_EQ(session.state.navigator.fold, session::NavigatorChoice::Fold::kFolded);
}

TEST(StateFields, WhatAFieldCannotBeIsRefused) {
  session::ViewState state;
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"layer", "-1"},
                                                                  {"layer", "mean"},
                                                                  {"head", "-3"},
                                                                  {"query", "-2"},
                                                                  {"key", "1.5"},
                                                                  {"quantity", "mass"},
                                                                  {"reduction", "sum"},
                                                                  {"scale.colormap", "rainbow"},
                                                                  {"scale.percentile", "0"},
                                                                  {"scale.percentile", "nan"},
                                                                  {"scale.gamma", "0"},
                                                                  {"scale.low", "inf"},
                                                                  {"camera.x", "1"},
                                                                  {"camera.y", "1,2,3"},
                                                                  {"partners", "1,2,3"},
                                                                  {"axes", "0,1,2"},
                                                                  {"measures", "0,1,2,3"},
                                                                  {"navigator.statistic", "luck"},
                                                                  {"view", "horoscope"},
                                                                  {"scale.shared", "both"},
                                                                  {"scale.mask", "-1"}}) {
    const Status status = session::type_field(field_of(session::state_fields(), name), state, text, "--it");
    ASSERT_FALSE(status.ok()) << name << " " << text;
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    EXPECT_EQ(status.error().message.rfind("--it: expected ", 0), 0U) << status.error().message;
  }
  EXPECT_TRUE(session::type_field(field_of(session::state_fields(), "scale.low"), state, "", "--it").ok());
  EXPECT_FALSE(state.scale.low.has_value());
}

// As a person would write them, and read back as the same.
TEST(StateFields, NumbersAreWrittenShort) {
  for (const auto& [number, written] : {std::pair(0.7F, 0.7), {-20.12F, -20.12}, {1e-5F, 1e-5}, {3e30F, 3e30}}) {
    const auto value = session::to_value(number);
    ASSERT_TRUE(value);
    EXPECT_EQ(std::get<double>(*value), written);
    float back = 0;
    session::from_value(value, back);
    EXPECT_EQ(back, number);
  }
}

}  // namespace
}  // namespace locus::workbench
