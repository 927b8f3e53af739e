// Traces as columns: beside checkpoints, from the files of several ranks, and while a run elsewhere writes them anew.
#include "tests/support/window.h"

#include "app/workbench/state/change_state.h"
#include "core/base/atomic_file.h"
#include "tests/support/bundled.h"

namespace locus::workbench {
namespace {

class WindowTraces : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    model_ = test::bundled("text-rope");
    ASSERT_NE(model_, nullptr);
  }

  std::filesystem::path file(const std::string& name) const { return files_.path().toStdString() + "/" + name; }

  // As a run of that text writes it: whole, under another name first.
  void write(const std::string& name, const std::string& text) const {
    models::Input input;
    input.text = text;
    const auto trace = model_->run(input);
    ASSERT_TRUE(trace.ok());
    const Status written = (*trace)->write(file(name), {"q", "k"});
    ASSERT_TRUE(written.ok()) << written.error().describe();
  }

  const Checkpoint* open(const std::string& name) {
    session::CheckpointEntry entry;
    entry.path = file(name);
    const int id = window_->studio().column_actions().open(entry);
    EXPECT_TRUE(settle());
    return window_->studio().checkpoints().find(id);
  }

  std::int64_t length() const {
    const auto shown = window_->studio().checkpoints().shown();
    return shown.empty() ? 0 : shown.front()->trace->length();
  }

  QTemporaryDir files_;
  std::shared_ptr<const models::Model> model_;
};

TEST_F(WindowTraces, ATraceThatIsWrittenOnIsFollowed) {
  write("t.safetensors", "To be");
  const Checkpoint* column = open("t.safetensors");
  ASSERT_NE(column, nullptr);
  ASSERT_EQ(length(), 5);
  session::ViewState state = window_->studio().state();
  state.layer = 2;
  state.head = 3;
  window_->studio().change(state);
  window_->studio().pin(1);
  ASSERT_TRUE(settle());
  for (const std::string text : {"To be,", "To be, or", "To be, or not to be"}) {  // steps of a generation
    write("t.safetensors", text);
    ASSERT_TRUE(wait([&] { return length() == static_cast<std::int64_t>(text.size()); })) << text;
    ASSERT_TRUE(settle());
    EXPECT_EQ(window_->studio().state().layer, 2);
    EXPECT_EQ(window_->studio().state().head, 3);
    EXPECT_TRUE(is_pinned(window_->studio(), 1));
    const auto& figure = window_->studio().scheduler().figure();
    ASSERT_TRUE(figure);
    EXPECT_EQ(std::abs(figure->panels.at(0).y.view.high - figure->panels.at(0).y.view.low),
              static_cast<double>(text.size()));
  }
}

TEST_F(WindowTraces, WhatIsShownStaysWhereTheFileIsGoneOrBroken) {
  write("t.safetensors", "To be");
  open("t.safetensors");
  std::filesystem::rename(file("t.safetensors"), file("away.safetensors"));
  wait([] { return false; }, 500);  // longer than a change is waited for
  ASSERT_TRUE(settle());
  EXPECT_EQ(length(), 5);
  ASSERT_TRUE(write_file(file("t.safetensors"), "no trace").ok());
  const auto error = [&] { return window_->studio().checkpoints().all().front().error.has_value(); };
  ASSERT_TRUE(wait(error));
  EXPECT_EQ(length(), 5);
  write("t.safetensors", "To be, or");
  ASSERT_TRUE(wait([&] { return length() == 9; }));
  EXPECT_FALSE(error());
}

TEST_F(WindowTraces, ATraceStandsBesideACheckpointByItsText) {
  write("t.safetensors", "To be, or not");
  open("t.safetensors");
  session::CheckpointEntry entry;
  entry.path = "pairs";  // tokens of two bytes
  window_->studio().column_actions().open(entry);
  type("To be, or not");
  session::ViewState state = window_->studio().state();
  state.difference = true;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  const auto columns = window_->studio().view_input().columns;
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].trace->length(), 13);
  EXPECT_EQ(columns[1].trace->length(), 7);
  const auto& figure = window_->studio().scheduler().figure();
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->panels.size(), 3U);  // with their difference, on the tokens of the first
}

}  // namespace
}  // namespace locus::workbench
