// A screen of 1280 × 800 with the usual panels: figures have their room, and nothing is cut.
#include "tests/support/window.h"

#include <QAction>
#include <QApplication>
#include <QScrollArea>
#include <QToolButton>
#include <QTreeWidget>
#include <QWidget>

namespace locus::workbench {
namespace {

class WindowSmallScreen : public WindowTest {
 protected:
  static void SetUpTestSuite() { start(QStringLiteral("1280x800x24"), {}); }
  void SetUp() override {
    WindowTest::SetUp();
    window_->findChild<QAction*>(QStringLiteral("reset-layout"))->trigger();
    window_->resize(1280, 800);
    open("gentle");
    type("one two three");
    ASSERT_TRUE(settle());
  }
  // The least side of the maps; 0 while there are not so many.
  double least(std::size_t panels) {
    const figure::Layout* layout = window_->canvas()->layout();
    double side = layout != nullptr && layout->panels.size() == panels ? 1e9 : 0;
    for (const figure::PanelLayout& panel : layout->panels) {
      side = std::min({side, panel.plot.width, panel.plot.height});
    }
    return side;
  }
};

TEST_F(WindowSmallScreen, MapsAreLarge) {
  EXPECT_TRUE(wait([&] { return least(1) >= 480; })) << least(1);
  open("steep");
  open("third");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return least(3) >= 240; })) << least(3);
}

TEST_F(WindowSmallScreen, PlotsAreHigh) {
  session::ViewState bias = window_->studio().state();
  session::show_view(bias, "distance-bias");
  window_->studio().change(bias);
  EXPECT_TRUE(wait([this] { return window_->canvas()->height() >= 420; })) << window_->canvas()->height();
  window_->studio().cancel();
  ASSERT_TRUE(settle());
}

// A strip with more than a line holds says so, whatever the view before had.
TEST_F(WindowSmallScreen, OptionsThatDoNotFitAreBehindMore) {
  const auto show = [this](const char* view) {
    session::ViewState state = window_->studio().state();
    session::show_view(state, view);
    window_->studio().change(state);
  };
  const auto* more = window_->findChild<QWidget*>(QStringLiteral("more-options"));
  ASSERT_NE(more, nullptr);
  for (const int width : {1280, 1000, 1280}) {
    window_->resize(width, 800);
    show("attention");
    ASSERT_TRUE(wait([&] { return !more->isVisible(); })) << width;
    show("distance-bias");
    ASSERT_TRUE(wait([&] { return more->isVisible() && more->width() > 0; })) << width;
  }
  window_->studio().cancel();
  ASSERT_TRUE(settle());
}

// They stand over the window, so that the figure keeps its room.
TEST_F(WindowSmallScreen, MoreOpensTheOtherOptionsWithoutTakingRoom) {
  session::ViewState state = window_->studio().state();
  session::show_view(state, "distance-bias");
  window_->studio().change(state);
  auto* more = window_->findChild<QToolButton*>(QStringLiteral("more-options"));
  ASSERT_NE(more, nullptr);
  ASSERT_TRUE(wait([&] { return more->isVisible(); }));
  window_->studio().cancel();
  ASSERT_TRUE(settle());
  auto* popover = window_->findChild<QWidget*>(QStringLiteral("more-options-popover"));
  ASSERT_NE(popover, nullptr);
  const int height = window_->canvas()->height();
  more->click();
  ASSERT_TRUE(wait([&] { return popover->isVisible(); }));
  EXPECT_EQ(window_->canvas()->height(), height);
  std::size_t shown = 0;
  for (const views::Control& control : window_->studio().view().info().controls) {
    for (auto* box :
         window_->findChildren<QWidget*>(QStringLiteral("option-") + QString::fromStdString(control.name))) {
      shown += box->isVisible() ? 1 : 0;
    }
  }
  EXPECT_EQ(shown, window_->studio().view().info().controls.size());
  EXPECT_TRUE(popover->isAncestorOf(QApplication::focusWidget()) || QApplication::focusWidget() == nullptr);
  press(popover, Qt::Key_Escape);
  EXPECT_TRUE(wait([&] { return !popover->isVisible(); }));
}

TEST_F(WindowSmallScreen, TheNameOfACheckpointIsSeenBesideItsDetails) {
  const auto* tree = window_->findChild<QTreeWidget*>(QStringLiteral("checkpoints"));
  ASSERT_NE(tree, nullptr);
  ASSERT_TRUE(tree->topLevelItem(0)->isExpanded());
  const int name = tree->fontMetrics().horizontalAdvance(tree->topLevelItem(0)->text(0));
  EXPECT_TRUE(wait([&] { return tree->columnWidth(0) >= name + 2 * tree->indentation(); }))
      << tree->columnWidth(0) << " for a name of " << name;
}

// What the inspector shows ends where its scroll bar begins.
TEST_F(WindowSmallScreen, TheInspectorIsNotCut) {
  auto* dock = window_->findChild<QWidget*>(QStringLiteral("inspector-dock"));
  auto* scroll = dock->findChild<QScrollArea*>();
  ASSERT_NE(scroll, nullptr);
  EXPECT_LE(dock->width(), 226);
  EXPECT_LE(scroll->widget()->width(), scroll->viewport()->width());
  EXPECT_LE(scroll->widget()->minimumSizeHint().width(), scroll->viewport()->width());
}

}  // namespace
}  // namespace locus::workbench
