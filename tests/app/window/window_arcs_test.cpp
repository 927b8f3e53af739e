// Arcs above the tokens: of the token under the pointer in the strip, in the text or on the canvas, else of the pinned
// one; off there are none.
#include "tests/support/window.h"

#include <QDockWidget>
#include <QMouseEvent>
#include <QScrollBar>
#include <QSplitter>

#include "app/workbench/input/arc_link.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/input/token_strip.h"
#include "app/workbench/widgets/exact_editor.h"

namespace locus::workbench {
namespace {

class WindowArcs : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    open("gentle");
    type("a few words");
    ASSERT_TRUE(settle());
  }
  TokenStrip& strip() { return *window_->findChild<TokenStrip*>(QStringLiteral("token-strip")); }
  QAction& toggle() { return *window_->findChild<QAction*>(QStringLiteral("arcs")); }
  void hover(std::int64_t token) {
    Q_EMIT strip().hovered(token);
    ASSERT_TRUE(settle());
  }
};

TEST_F(WindowArcs, AHoveredTokenHasArcsOfWhatItReadsAndWhatReadsIt) {
  EXPECT_EQ(strip().arcs_drawn(), 0U);
  hover(6);
  EXPECT_GT(strip().arcs_drawn(), 0U);
  EXPECT_TRUE(strip().arcs_said().contains(QStringLiteral("arcs hold "))) << strip().arcs_said().toStdString();
  const QImage with = strip().grab().toImage();
  Q_EMIT strip().hovered(-1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(strip().arcs_drawn(), 0U);
  EXPECT_NE(strip().grab().toImage(), with);
  // The pinned token keeps its arcs.
  window_->studio().pin(4);
  ASSERT_TRUE(settle());
  EXPECT_GT(strip().arcs_drawn(), 0U);
}

TEST_F(WindowArcs, EachColumnHasItsArcs) {
  hover(6);
  const std::size_t one = strip().arcs_drawn();
  Q_EMIT strip().hovered(-1);
  open("steep");
  hover(6);
  EXPECT_GT(strip().arcs_drawn(), one);
  EXPECT_EQ(strip().arcs_said().count(QStringLiteral(" arcs hold ")), 2) << strip().arcs_said().toStdString();
}

TEST_F(WindowArcs, TheTextPointsLikeTheStrip) {
  auto* editor = window_->findChild<ExactEditor*>(QStringLiteral("editor"));
  QTextCursor at(editor->document());
  at.setPosition(6);
  editor->setTextCursor(at);
  const QPoint place = editor->cursorRect().center() + QPoint(2, 0);
  QMouseEvent move(QEvent::MouseMove, place, editor->viewport()->mapToGlobal(place), Qt::NoButton, Qt::NoButton, {});
  QCoreApplication::sendEvent(editor->viewport(), &move);
  EXPECT_EQ(window_->studio().pointed().query.index, 6);
  ASSERT_TRUE(settle());
  EXPECT_GT(strip().arcs_drawn(), 0U);
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(editor->viewport(), &leave);
  ASSERT_TRUE(settle());
  EXPECT_EQ(strip().arcs_drawn(), 0U);
}

TEST_F(WindowArcs, OffThereIsNeitherRoomNorWork) {
  ASSERT_TRUE(strip().has_arc_room());
  ASSERT_TRUE(toggle().isChecked());
  toggle().trigger();
  EXPECT_FALSE(strip().has_arc_room());
  EXPECT_FALSE(window_->findChild<ExactEditor*>(QStringLiteral("editor"))->viewport()->hasMouseTracking());
  hover(6);
  EXPECT_EQ(strip().arcs_drawn(), 0U);
  toggle().trigger();
  EXPECT_TRUE(strip().has_arc_room());
  ASSERT_TRUE(settle());
  EXPECT_GT(strip().arcs_drawn(), 0U);  // of the token that is still pointed at
}

TEST_F(WindowArcs, AStripOfOneRowHasNoRoomForThem) {
  window_->findChild<QDockWidget*>(QStringLiteral("input-dock"))->findChild<QSplitter*>()->setSizes({10'000, 0});
  ASSERT_TRUE(wait([this] { return strip().height() == strip().minimumHeight(); })) << strip().height();
  EXPECT_FALSE(strip().has_arc_room());
  window_->findChild<QDockWidget*>(QStringLiteral("input-dock"))->findChild<QSplitter*>()->setSizes({0, 10'000});
  EXPECT_TRUE(wait([this] { return strip().has_arc_room(); }));
}

TEST_F(WindowArcs, OnlyTokensInSightHaveArcs) {
  window_->studio().inputs().set_text(std::string(2000, 'x'));
  ASSERT_TRUE(settle());
  const Range top = strip().seen();
  EXPECT_EQ(top.begin, 0);
  EXPECT_LT(top.end, 2000);
  hover(top.end - 1);
  EXPECT_GT(strip().arcs_drawn(), 0U);
  strip().verticalScrollBar()->setValue(strip().verticalScrollBar()->maximum());
  EXPECT_EQ(strip().arcs_drawn(), 0U);
  EXPECT_EQ(strip().seen().end, 2000);
  ASSERT_TRUE(settle());
}

}  // namespace
}  // namespace locus::workbench
