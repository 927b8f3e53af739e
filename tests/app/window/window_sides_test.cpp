// An encoder–decoder in the window: its side is chosen in the bar, what its decoder has read is typed in the input
// dock.
#include "tests/support/window.h"

#include <QComboBox>
#include <QLineEdit>

#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowSides : public WindowTest {
 protected:
  WindowSides() { opener_ = models::open; }

  QComboBox* side() { return window_->findChild<QComboBox*>(QStringLiteral("side")); }
  QLineEdit* decoder() { return window_->findChild<QLineEdit*>(QStringLiteral("decoder-text")); }
  void choose(int index) {
    side()->setCurrentIndex(index);
    Q_EMIT side()->activated(index);
    ASSERT_TRUE(settle());
  }
  std::pair<std::int64_t, std::int64_t> shape() {
    const models::Trace& trace = *window_->studio().view_input().columns.front().trace;
    return {trace.length(), trace.keys()};
  }
};

TEST_F(WindowSides, AreChosenInTheBarAndTypedInTheDock) {
  using Shape = std::pair<std::int64_t, std::int64_t>;
  EXPECT_FALSE(side()->isVisible());
  EXPECT_FALSE(decoder()->isVisible());
  open((test::source_dir() + "/tests/golden/families/t5").c_str());
  EXPECT_TRUE(decoder()->isVisible());
  window_->studio().inputs().set_ids({5, 9, 13, 2, 7});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(side()->isVisible());
  // Its decoder has its start token alone: the encoder is what is there to be seen, and the window says so.
  EXPECT_EQ(shape(), Shape(5, 5));
  EXPECT_EQ(side()->currentText(), QStringLiteral("encoder"));
  EXPECT_TRUE(window_->last_message().contains(QStringLiteral("encoder")));
  EXPECT_EQ(window_->studio().history().previous(), nullptr) << "it was not the user who did that";
  choose(0);
  EXPECT_EQ(shape(), Shape(1, 1));
  decoder()->setText(QStringLiteral("0,4,8"));
  Q_EMIT decoder()->textEdited(decoder()->text());
  ASSERT_TRUE(settle());
  EXPECT_EQ(shape(), Shape(3, 3));
  EXPECT_EQ(title(), "t5 · layer 0, head 0");

  choose(2);
  EXPECT_EQ(window_->studio().state().side, models::Side::kCross);
  EXPECT_EQ(shape(), Shape(3, 5));
  EXPECT_EQ(title(), "t5 (cross) · layer 0, head 0");
  window_->studio().pin(2, 4);  // a key that the decoder has not
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().state().key, 4);
  ASSERT_FALSE(window_->studio().scheduler().cells().empty());
  EXPECT_EQ(window_->studio().scheduler().cells().front().key_token, "7");
  choose(1);
  EXPECT_EQ(shape(), Shape(5, 5));
  EXPECT_EQ(window_->studio().state().key, views::kNone);
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(shape(), Shape(3, 5));
  EXPECT_EQ(side()->currentText(), QStringLiteral("cross"));

  // Only opening chooses: what was chosen since stays, whatever the decoder reads.
  decoder()->clear();
  Q_EMIT decoder()->textEdited(decoder()->text());
  ASSERT_TRUE(settle());
  EXPECT_EQ(shape(), Shape(1, 5));
  EXPECT_EQ(window_->studio().input().ids, (std::vector<std::int64_t>{5, 9, 13, 2, 7}));
  EXPECT_FALSE(window_->studio().scheduler().error().has_value());
}

}  // namespace
}  // namespace locus::workbench
