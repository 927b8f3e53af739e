#include "app/workbench/work/columns.h"

#include <gtest/gtest.h>

#include "tests/support/event_loop.h"
#include "tests/support/fake_model.h"

namespace locus::workbench {
namespace {
namespace columns_suite {

Result<std::shared_ptr<const models::Model>> open_fake(const std::filesystem::path& path, const models::OpenOptions&,
                                                       const StopToken&, const Progress&) {
  if (path.filename() == "broken") {
    return bad_input("expected a header", path.string());
  }
  test::FakeShape shape;
  shape.name = path.filename().string();
  shape.layers = path.filename() == "deep" ? 9 : 3;
  shape.unverified = path.filename() == "strange" ? "family" : "";
  shape.dtype = path.filename() == "coarse" ? "Q4_K" : "float32";
  return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
}

class Columns : public test::EventLoopTest {
 protected:
  Columns() {
    QObject::connect(&input_, &LiveInput::due, &columns_.runs(), &CheckpointRuns::run_all);
    QObject::connect(&columns_.runs(), &CheckpointRuns::started, &columns_, [this] { ++started_; });
    QObject::connect(&columns_, &workbench::Columns::extent_changed, &columns_, [this] { ++updated_; });
    const auto keep = [this](const Error& error) { errors_.push_back(error); };
    QObject::connect(&columns_.opener(), &CheckpointOpener::failed, &columns_, keep);
    QObject::connect(&columns_.runs(), &CheckpointRuns::failed, &columns_, keep);
  }
  int open(const char* name, bool shown = true) {
    session::CheckpointEntry entry;
    entry.path = name;
    entry.shown = shown;
    return columns_.open(entry);
  }
  void type(const char* text) {
    models::Input input;
    input.text = text;
    input_.set(input);
  }
  bool settle() {
    return wait([this] {
      worker_.drain();
      return worker_.idle();
    });
  }
  std::vector<std::string> shown() {
    std::vector<std::string> names;
    for (const Checkpoint* each : columns_.list().shown()) {
      names.push_back(each->name);
    }
    return names;
  }

  LiveInput input_{1};
  Worker worker_{[] {}};
  workbench::Columns columns_{worker_, input_, "cpu", open_fake};
  int started_ = 0;
  int updated_ = 0;
  std::vector<Error> errors_;
};

using Names = std::vector<std::string>;

TEST_F(Columns, WhatIsShownAndHasRunIsAColumn) {
  type("one two");
  const int gentle = open("gentle");
  open("steep", false);
  EXPECT_TRUE(columns_.list().waiting());
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown(), Names{"gentle"});
  EXPECT_EQ(started_, 1);
  EXPECT_GE(updated_, 2);  // opened, ran
  EXPECT_EQ(columns_.list().find(gentle)->top.size(), 8U);
  EXPECT_EQ(columns_.list().entries().size(), 2U);
  EXPECT_EQ(columns_.list().shown_entries().size(), 1U);
  columns_.set_shown(columns_.list().all()[1].id, true);
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown(), (Names{"gentle", "steep"}));
}

TEST_F(Columns, TheSamePathIsOpenedOnceAndNamesDiffer) {
  const int first = open("gentle");
  EXPECT_EQ(open("gentle"), first);
  session::CheckpointEntry other;
  other.path = "elsewhere/gentle";
  columns_.open(other);
  session::CheckpointEntry base;
  base.path = "gentle";
  base.overrides.rope_base = 300;
  columns_.open(base);
  ASSERT_TRUE(settle());
  ASSERT_EQ(columns_.list().all().size(), 3U);
  EXPECT_EQ(columns_.list().all()[1].name, "gentle (2)");
  EXPECT_EQ(columns_.list().all()[2].name, "gentle base 300");
}

TEST_F(Columns, AFamilyThatIsNotVerifiedStandsBesideTheName) {
  type("one two");
  open("strange");
  open("gentle");
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown(), (Names{"strange (not verified)", "gentle"}));
}

TEST_F(Columns, TheFormatOfQuantisedWeightsStandsBesideTheName) {
  type("one two");
  open("coarse");
  open("gentle");
  session::CheckpointEntry base;
  base.path = "coarse";
  base.overrides.rope_base = 300;
  columns_.open(base);
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown(), (Names{"coarse Q4_K", "gentle", "coarse Q4_K base 300"}));
}

TEST_F(Columns, WhatDoesNotOpenSaysSoAndIsTriedAgain) {
  open("broken");
  ASSERT_TRUE(settle());
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_TRUE(columns_.list().all().front().error.has_value());
  EXPECT_TRUE(columns_.list().shown_ids().empty());
  open("broken");
  ASSERT_TRUE(settle());
  EXPECT_EQ(errors_.size(), 2U);
  EXPECT_EQ(columns_.list().all().size(), 1U);
}

TEST_F(Columns, ArrangingShowsExactlyTheseInTheirOrder) {
  type("one");
  open("a");
  open("b");
  open("c");
  ASSERT_TRUE(settle());
  columns_.arrange({{"c", {}, true}, {"d", {}, true}, {"a", {}, true}});
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown(), (Names{"c", "d", "a"}));
  EXPECT_EQ(columns_.list().all().size(), 4U);  // b stays open
  for (const char* figure : {"e", "f", "g"}) {
    columns_.arrange({{figure, {}, true}});
    ASSERT_TRUE(settle());
    EXPECT_EQ(shown(), (Names{figure}));
    EXPECT_EQ(columns_.list().all().size(), 4U) << figure;  // what a figure brought goes with it
  }
  const int kept = columns_.list().all().front().id;  // g
  columns_.set_shown(kept, false);
  columns_.arrange({{"a", {}, true}});
  ASSERT_TRUE(settle());
  EXPECT_NE(columns_.list().find(kept), nullptr);  // the user unticked it: it is theirs
}

// Undoing an edit leaves the checkpoints in their places, hidden ones among them.
TEST_F(Columns, ArrangingWhatIsOpenKeepsItsPlace) {
  type("one");
  for (const char* name : {"a", "b", "c"}) {
    open(name, std::string(name) != "a");
  }
  ASSERT_TRUE(settle());
  session::CheckpointEntry edited{"b", {}, true};
  edited.edits.emplace_back();
  edited.edits.back().kind = models::EditKind::kShift;
  edited.edits.back().by = 2;
  columns_.open(edited);
  ASSERT_TRUE(settle());
  const auto names = [this] {
    Names list;
    for (const Checkpoint& each : columns_.list().all()) {
      list.push_back(each.entry.path.filename().string() + (each.entry.edits.empty() ? "" : "*"));
    }
    return list;
  };
  EXPECT_EQ(names(), (Names{"a", "b", "c", "b*"}));
  columns_.arrange({{"b", {}, true}, {"c", {}, true}});
  ASSERT_TRUE(settle());
  EXPECT_EQ(names(), (Names{"a", "b", "c"}));
  columns_.arrange({{"c", {}, true}, {"b", {}, true}});
  ASSERT_TRUE(settle());
  EXPECT_EQ(names(), (Names{"a", "c", "b"}));  // in the order that is asked for
}

TEST_F(Columns, LayersAndHeadsAreThoseThatAllHave) {
  EXPECT_EQ(columns_.list().largest_layer(), 0);
  type("one");
  open("deep");
  ASSERT_TRUE(settle());
  EXPECT_EQ(columns_.list().largest_layer(), 8);
  const int gentle = open("gentle");
  ASSERT_TRUE(settle());
  EXPECT_EQ(columns_.list().largest_layer(), 2);
  EXPECT_EQ(columns_.list().largest_head(), 3);
  EXPECT_EQ(columns_.list().largest_layer(models::Side::kDecoder, true), 8);  // by depth that any has
  columns_.set_own_head(gentle, views::HeadRef{2, 1});
  EXPECT_EQ(columns_.list().largest_layer(), 8);  // it has its own
  columns_.set_own_head(columns_.list().all().front().id, views::HeadRef{5, 1});
  EXPECT_EQ(columns_.list().largest_layer(), 2);
  columns_.set_own_head(gentle, std::nullopt);
  EXPECT_EQ(columns_.list().largest_layer(), 2);
  columns_.remove(gentle);
  EXPECT_EQ(columns_.list().largest_layer(), 8);
}

TEST_F(Columns, AnEmptyTextLeavesNothingToShow) {
  type("one");
  open("a");
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown().size(), 1U);
  type("");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(shown().empty());
  EXPECT_FALSE(columns_.list().running());
}

}  // namespace columns_suite
}  // namespace
}  // namespace locus::workbench
