// A screen with two device pixels to each of the window's: what is drawn is as large, and what is pointed at is what is
// seen there. LOCUS_PICTURES=FOLDER keeps what is seen.
#include "tests/support/window.h"

#include <QAction>
#include <QMouseEvent>

#include "tests/support/window_fit.h"

namespace locus::workbench {
namespace {

class WindowDense : public WindowTest {
 protected:
  static void SetUpTestSuite() { start(QStringLiteral("2560x1600x24"), "2"); }
  static void TearDownTestSuite() {
    WindowTest::TearDownTestSuite();
    qunsetenv("QT_SCALE_FACTOR");
  }
};

TEST_F(WindowDense, MapsAreSharpAndTheCellUnderThePointerIsTheOneThatIsSeen) {
  window_->move(0, 0);
  window_->resize(1280, 800);
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  viewport::Canvas* canvas = window_->canvas();
  ASSERT_EQ(canvas->devicePixelRatio(), 2);
  ASSERT_TRUE(wait([&] {
    return window_->width() == 1280 && canvas->layout() != nullptr && canvas->layout()->panels.size() == 2 &&
           canvas->layout()->width == canvas->swapChainImageSize().width();
  }));
  EXPECT_EQ(canvas->swapChainImageSize(), canvas->size() * 2);
  wait([&] { return test::cramped(*window_).isEmpty(); });  // it may still be being laid out
  EXPECT_EQ(test::cramped(*window_).join(QStringLiteral(", ")).toStdString(), "");
  // Text has the size that it has on other screens: twice the pixels.
  const figure::PanelLayout& panel = canvas->layout()->panels[1];
  EXPECT_GE(panel.plot.width, 2 * 250);
  const QPointF at(panel.x.place(4.5) / 2, panel.y.place(6.5) / 2);
  QMouseEvent move(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
  QCoreApplication::sendEvent(canvas, &move);
  EXPECT_EQ(window_->studio().pointed().query, 6);
  EXPECT_EQ(window_->studio().pointed().key, 4);
  const QString folder = qEnvironmentVariable("LOCUS_PICTURES");
  if (!folder.isEmpty()) {
    wait([] { return false; }, 500);
    window_->screen()->grabWindow(window_->winId()).save(folder + QStringLiteral("/dense.png"));
  }
  ASSERT_TRUE(settle());
}

}  // namespace
}  // namespace locus::workbench
