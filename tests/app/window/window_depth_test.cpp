// Columns of different depth in the window: layers of one number, or layers that lie as deep.
#include "tests/support/window.h"

#include <QAction>
#include <QSpinBox>

namespace locus::workbench {
namespace {

class WindowDepth : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = [](const std::filesystem::path& path, const models::OpenOptions&, const StopToken&,
                 const Progress&) -> Result<std::shared_ptr<const models::Model>> {
      test::FakeShape shape;
      shape.name = path.filename().string();
      shape.layers = shape.name == "twelve" ? 12 : 6;
      return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
    };
    WindowTest::SetUp();
  }
  Studio& studio() { return window_->studio(); }
  void key(int key, Qt::KeyboardModifiers modifiers = {}) {
    press(window_->canvas(), key, {}, modifiers);
    ASSERT_TRUE(settle());
  }
  std::vector<std::int64_t> layers() {
    const views::ViewInput input = studio().view_input();
    std::vector<std::int64_t> list;
    for (std::size_t n = 0; n < input.columns.size(); ++n) {
      list.push_back(views::head_of_column(input, n).layer);
    }
    return list;
  }
};

using Layers = std::vector<std::int64_t>;

TEST_F(WindowDepth, ColumnsShowLayersThatLieAsDeep) {
  open("six");
  type("one two three");
  ASSERT_TRUE(settle());
  auto* command = window_->findChild<QAction*>(QStringLiteral("by-depth"));
  ASSERT_NE(command, nullptr);
  key(Qt::Key_U, Qt::ShiftModifier);
  EXPECT_FALSE(studio().state().by_depth) << "there is one depth";
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("different depth")), -1);
  open("twelve");
  for (int n = 0; n < 8; ++n) {
    key(Qt::Key_Down);
  }
  EXPECT_EQ(layers(), (Layers{5, 5}));
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("Shift+U")), -1) << window_->last_message().toStdString();
  // The chosen column keeps its layer; the other follows.
  key(Qt::Key_U, Qt::ShiftModifier);
  EXPECT_EQ(layers(), (Layers{5, 11}));
  EXPECT_EQ(window_->findChild<QSpinBox*>(QStringLiteral("layer"))->maximum(), 11);
  EXPECT_NE(studio().scheduler().figure()->panels[1].title.find("layer 11"), std::string::npos);
  Layers six;
  for (int layer = 11; layer >= 0; --layer) {
    EXPECT_EQ(layers()[1], layer);
    six.push_back(layers()[0]);
    key(Qt::Key_Up);
  }
  EXPECT_EQ(six, (Layers{5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0}));
  // A head that is clicked in the shallow column is the one that it shows.
  session::ViewState state = studio().state();
  session::show_view(state, "attention-grid");
  studio().change(state);
  ASSERT_TRUE(settle());
  const views::ViewInput input = studio().view_input();
  const auto picked = studio().view().pick(input, {0, 2.5, 3.5});
  ASSERT_EQ(picked.layer, 3);
  EXPECT_EQ(views::linked_layer(input, 0, 3), 7);
  studio().undo();
  ASSERT_TRUE(settle());
  // It is a step for undo(), and in the session.
  EXPECT_TRUE(studio().sessions().present("kept").state.by_depth);
  session::Session kept;
  kept.state = studio().state();
  const std::filesystem::path folder = config_.path().toStdString();
  const auto again = session::parse_session(session::to_json(kept, folder), "it", folder);
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_TRUE(again->state.by_depth);
  key(Qt::Key_U, Qt::ShiftModifier);
  EXPECT_FALSE(studio().state().by_depth);
  EXPECT_EQ(layers(), (Layers{0, 0}));
}

}  // namespace
}  // namespace locus::workbench
