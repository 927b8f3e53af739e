// What a state says of tokens stays with the text; so it does in files.
#include "app/session/pins.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/figures/view_input.h"
#include "app/views/shared/alignment.h"
#include "tests/support/fake_model.h"

namespace locus::session {
namespace {

std::shared_ptr<test::FakeTrace> trace_of(const std::string& text, std::size_t bytes_per_token = 1) {
  test::FakeShape shape;
  shape.bytes_per_token = bytes_per_token;
  return std::make_shared<test::FakeTrace>(shape, text);
}

TEST(Pins, AnIndexIsSettledOnItsText) {
  ViewState state;
  state.query = 4;
  state.key = 99;
  resolve_tokens(state, *trace_of("one two"));
  EXPECT_EQ(state.query.text, (views::TokenText{{4, 5}, 0}));
  EXPECT_EQ(state.key.index, 99);  // is refused, not changed
  EXPECT_FALSE(state.key.text);
  resolve_tokens(state, *trace_of("one two", 2));  // another first column
  EXPECT_EQ(state.query, (views::Token{2, views::TokenText{{4, 5}, 0}}));
  resolve_tokens(state, *trace_of("one two"));
  EXPECT_EQ(state.query.index, 4);
}

TEST(Pins, TextBeforeThemMovesThem) {
  const auto before = trace_of("one two");
  const auto after = trace_of("then one two");
  ViewState state;
  state.query = 4;
  state.key = 1;
  state.options["attention"].set("queries", std::string("4 6"));
  state.options["attention-text"].set("queries", std::string("no numbers"));
  state.options["knock-out"].set("at", std::int64_t{4});
  resolve_tokens(state, *before);
  follow(state, token_anchor(*before), token_anchor(*after));
  resolve_tokens(state, *after);
  EXPECT_EQ(state.query, (views::Token{9, views::TokenText{{9, 10}, 0}}));
  EXPECT_EQ(state.key.index, 6);
  EXPECT_EQ(*state.options["attention"].text("queries", ""), "9 11");
  EXPECT_EQ(*state.options["attention-text"].text("queries", ""), "no numbers");
  EXPECT_EQ(*state.options["knock-out"].integer("at", -1), 9);
}

TEST(Pins, WhatIsDeletedIsChosenNoMore) {
  const auto before = trace_of("one two");
  const auto after = trace_of("one");
  ViewState state;
  state.query = 1;
  state.key = 5;
  state.options["attention"].set("queries", std::string("1 5"));
  resolve_tokens(state, *before);
  follow(state, token_anchor(*before), token_anchor(*after));
  EXPECT_EQ(state.query.index, 1);
  EXPECT_FALSE(state.key.chosen());
  EXPECT_EQ(*state.options["attention"].text("queries", ""), "1");
  follow(state, token_anchor(*after), token_anchor(*trace_of("none of it")));
  EXPECT_FALSE(state.query.chosen());
}

// Queries that views keep are numbers of the first column, whichever that is.
TEST(Pins, KeptQueriesAreThoseOfTheFirstColumn) {
  const auto letters = trace_of("one two");
  const auto pairs = trace_of("one two", 2);
  ViewState state;
  state.options["attention"].set("queries", std::string("4,6"));
  follow(state, token_anchor(*letters), token_anchor(*pairs));
  EXPECT_EQ(*state.options["attention"].text("queries", ""), "2 3");
}

TEST(Pins, InputsWithoutATextKeepIndices) {
  const auto text = trace_of("one two");
  test::FakeShape eyes;
  eyes.rows = 3;
  eyes.columns = 5;
  const test::FakeTrace image(eyes, "");
  ViewState state;
  state.query = 4;
  resolve_tokens(state, image);
  EXPECT_EQ(state.query, views::Token(4));
  follow(state, token_anchor(image), token_anchor(*text));
  resolve_tokens(state, *text);
  EXPECT_EQ(state.query.text, (views::TokenText{{4, 5}, 0}));
  follow(state, token_anchor(*text), token_anchor(image));
  EXPECT_EQ(state.query, views::Token(4));
}

TEST(Pins, FilesHaveTheirBytesAndOlderFilesTheirIndex) {
  Session session;
  session.state.query = {4, views::TokenText{{9, 12}, 0}};
  const std::string text = to_json(session, "/");
  EXPECT_EQ(nlohmann::json::parse(text).at("state").at("query_text"), nlohmann::json::parse("[9, 12, 0]"));
  const auto again = parse_session(text, "s.json", "/");
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ(again->state.query, session.state.query);
  EXPECT_FALSE(again->state.key.chosen());
  const auto old = parse_session(R"({"locus": "session/1", "state": {"query": 4, "key": 2}})", "s.json", "/");
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->state.query, views::Token(4));
  EXPECT_EQ(old->state.key, views::Token(2));
  const auto bad = parse_session(R"({"locus": "session/1", "state": {"query_text": [4]}})", "s.json", "/");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().describe().find("query_text"), std::string::npos) << bad.error().describe();
}

// A byte that only the second column splits off is that byte there, and what holds it in the first.
TEST(Pins, ATokenOfASecondColumnIsKeptAsItIs) {
  const std::string text = "one two";
  views::ViewInput input;
  input.columns = {{"pairs", nullptr, trace_of(text, 2)}, {"letters", nullptr, trace_of(text)}};
  const auto picked = views::token_at(input, input.columns[1], 4);  // "t" of "tw"
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked->index, 2);
  EXPECT_EQ(views::own_token(input, *picked, input.columns[1]), 4);
  EXPECT_EQ(views::own_token(input, *picked, input.columns[0]), 2);
  ViewState state;
  state.query = *picked;
  const views::View& view = **views::find_view("attention");
  const views::ViewInput shown = view_input(state, input.columns, view);
  EXPECT_EQ(views::query_of(shown, shown.columns[1]), 4);
  std::swap(input.columns[0], input.columns[1]);
  const views::ViewInput swapped = view_input(state, input.columns, view);
  EXPECT_EQ(swapped.query.index, 4);
  EXPECT_EQ(views::query_of(swapped, swapped.columns[1]), 2);
  views::ViewInput measured = swapped;
  measured.options.set("at", std::int64_t{4});  // a position that an option names
  EXPECT_EQ(*views::token_option(measured, "at", measured.columns[0]), 4);
  EXPECT_EQ(*views::token_option(measured, "at", measured.columns[1]), 2);
  EXPECT_EQ(*views::token_option(swapped, "at", swapped.columns[1]), -1);
}

}  // namespace
}  // namespace locus::session
