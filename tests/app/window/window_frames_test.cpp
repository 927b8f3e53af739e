// When the canvas draws a frame.
#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowFrames : public WindowTest {};

// Says of its first frames that another figure is due.
class DueFigure : public viewport::ContentSource {
 public:
  explicit DueFigure(int times) : times_(times) {}
  viewport::CanvasContent content() override { return {}; }
  int wait_ms() override {
    ++asked_;
    return asked_ > times_ ? 0 : 1;
  }
  int asked() const { return asked_; }

 private:
  int times_;
  int asked_ = 0;
};

TEST_F(WindowFrames, AFrameIsPutOffWhileAFigureIsDue) {
  open("gentle");
  type("one");
  ASSERT_TRUE(settle());
  viewport::Canvas canvas;  // its own window, with a source of its own
  canvas.setVulkanInstance(window_->canvas()->vulkanInstance());
  constexpr int kTimes = 5;
  DueFigure source(kTimes);
  canvas.set_source(&source);
  int asked = 0;  // before the first frame
  QObject::connect(&canvas, &viewport::Canvas::frame_drawn, &canvas,
                   [&] { asked = asked == 0 ? source.asked() : asked; });
  canvas.resize(200, 100);
  canvas.show();
  EXPECT_TRUE(wait([&] { return asked > 0; })) << "no frame is drawn";
  EXPECT_EQ(asked, kTimes + 1);
  canvas.set_source(nullptr);
}

}  // namespace
}  // namespace locus::workbench
