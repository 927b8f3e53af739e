// A loop pulled around the points of an atlas, as a hand pulls it.
#include <QMouseEvent>
#include <cmath>
#include <numbers>

#include "tests/support/paths.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowLasso : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    open((test::source_dir() + "/assets/atlases/text-rope-800.safetensors").c_str());
    session::ViewState other = window_->studio().state();
    session::show_view(other, "atlas");
    window_->studio().change(other);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(wait([this] { return !points().x.empty(); }));
  }

  const figure::Points& points() {
    static const figure::Points kNone{};
    const figure::Figure* const figure = window_->canvas()->figure();
    const bool there = figure != nullptr && !figure->panels.empty() && !figure->panels[0].layers.empty();
    const auto* const found = there ? std::get_if<figure::Points>(&figure->panels[0].layers[0]) : nullptr;
    return found == nullptr ? kNone : *found;
  }
  std::string named() {
    const auto& options = window_->studio().state().options;
    const auto found = options.find("atlas");
    return found == options.end() ? "" : found->second.text("heads", "").value();
  }

  // Where the point of head 0.3, which stands by itself, is seen.
  QPointF lone() {
    const figure::PanelLayout panel = place();
    return QPointF(panel.x.place(points().x[3]), panel.y.place(points().y[3])) / window_->canvas()->devicePixelRatio();
  }
  void mouse(QEvent::Type type, const QPointF& at, bool down, Qt::KeyboardModifiers modifiers) {
    const bool moves = type == QEvent::MouseMove;
    QMouseEvent event(type, at, window_->canvas()->mapToGlobal(at), moves ? Qt::NoButton : Qt::LeftButton,
                      down ? Qt::LeftButton : Qt::NoButton, modifiers);
    QCoreApplication::sendEvent(window_->canvas(), &event);
    wait([] { return false; }, 20);
  }
  // Three quarters of a ring; the button stays down.
  void pull(const QPointF& middle, double radius, Qt::KeyboardModifiers modifiers = {}) {
    const auto at = [&](int step) {
      const double angle = step * std::numbers::pi / 8;
      return middle + QPointF(std::cos(angle), std::sin(angle)) * radius;
    };
    mouse(QEvent::MouseMove, at(0), false, modifiers);
    mouse(QEvent::MouseButtonPress, at(0), true, modifiers);
    for (int step = 1; step <= 12; ++step) {
      mouse(QEvent::MouseMove, at(step), true, modifiers);
    }
  }
  void release(const QPointF& at, Qt::KeyboardModifiers modifiers = {}) {
    mouse(QEvent::MouseButtonRelease, at, false, modifiers);
    ASSERT_TRUE(settle());
  }
};

TEST_F(WindowLasso, NamesWhatIsInsideInOneStep) {
  const std::size_t before = window_->studio().history().depth();
  const QPointF middle = lone();
  pull(middle, 20);
  EXPECT_EQ(window_->studio().history().depth(), before);  // not before it is closed
  release(middle + QPointF(0, -20));
  EXPECT_EQ(named(), "0.3");
  EXPECT_EQ(window_->studio().history().depth(), before + 1);
  ASSERT_TRUE(wait([this] { return points().names.size() > 3 && points().names[3] == "0.3"; }));
  // The rest of the plot with Shift: that one stays.
  const figure::Rect plot = place().plot;
  const QPointF left = QPointF(plot.x + 0.25 * plot.width, plot.center_y()) / window_->canvas()->devicePixelRatio();
  pull(left, 0.24 * plot.width / window_->canvas()->devicePixelRatio(), Qt::ShiftModifier);
  release(left, Qt::ShiftModifier);
  EXPECT_TRUE(named().starts_with("0.")) << named();
  EXPECT_NE(named().find("0.3"), std::string::npos) << named();
  EXPECT_GT(named().size(), 3U);
  press(window_->canvas(), Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_EQ(named(), "");
  window_->studio().undo();
  EXPECT_NE(named(), "");
}

TEST_F(WindowLasso, EscapeDropsTheLoop) {
  const QPointF middle = lone();
  pull(middle, 20);
  press(window_->canvas(), Qt::Key_Escape);
  release(middle);
  EXPECT_EQ(named(), "");
  // A click still chooses the head.
  mouse(QEvent::MouseMove, middle, false, {});
  mouse(QEvent::MouseButtonPress, middle, true, {});
  release(middle);
  EXPECT_EQ(window_->studio().state().layer, 0);
  EXPECT_EQ(window_->studio().state().head, 3);
}

}  // namespace
}  // namespace locus::workbench
