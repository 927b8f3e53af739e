#include "app/session/history.h"

#include <gtest/gtest.h>

namespace locus::workbench {
namespace {

session::ViewState at_layer(std::int64_t layer) {
  session::ViewState state;
  state.layer = layer;
  return state;
}

TEST(History, GoesBackAndForthAndForgetsWhatWasUndoneAtTheNextChange) {
  History history;
  EXPECT_EQ(history.previous(), nullptr);
  history.change(at_layer(1));
  history.change(at_layer(2));
  history.undo({history.state(), {}, {}, {}});
  EXPECT_EQ(history.state().layer, 1);
  history.redo({history.state(), {}, {}, {}});
  EXPECT_EQ(history.state().layer, 2);
  EXPECT_EQ(history.next(), nullptr);
  history.undo({history.state(), {}, {}, {}});
  history.change(at_layer(7));
  EXPECT_EQ(history.next(), nullptr);
  history.undo({history.state(), {}, {}, {}});
  EXPECT_EQ(history.state().layer, 1);
}

TEST(History, SetIsNoStep) {
  History history;
  history.set(at_layer(3));
  EXPECT_EQ(history.state().layer, 3);
  EXPECT_EQ(history.previous(), nullptr);
}

TEST(History, AStepMayHoldTheInputTheColumnsAndTheFigures) {
  History history;
  models::Input typed;
  typed.text = "typed";
  history.push({history.state(), typed, std::vector<session::CheckpointEntry>{{"a", {}, true}},
                std::vector<session::Bookmark>(2)});
  ASSERT_NE(history.previous(), nullptr);
  models::Input chosen;
  chosen.text = "of the figure";
  const Step back = history.undo(
      {history.state(), chosen, std::vector<session::CheckpointEntry>{}, std::vector<session::Bookmark>(1)});
  EXPECT_EQ(back.input->text, "typed");
  EXPECT_EQ(back.columns->size(), 1U);
  EXPECT_EQ(back.figures->size(), 2U);
  EXPECT_EQ(history.next()->input->text, "of the figure");
}

TEST(History, KeepsTheLastTwoHundredSteps) {
  History history;
  for (int n = 1; n <= 300; ++n) {
    history.change(at_layer(n));
  }
  int steps = 0;
  for (; history.previous() != nullptr; ++steps) {
    history.undo({history.state(), {}, {}, {}});
  }
  EXPECT_EQ(steps, 200);
  EXPECT_EQ(history.state().layer, 100);
  history.clear();
  EXPECT_EQ(history.next(), nullptr);
}

}  // namespace
}  // namespace locus::workbench
