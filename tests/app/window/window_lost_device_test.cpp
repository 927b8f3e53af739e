// The graphics device is lost (a driver that was reset, a suspended machine) while the window shows a figure.
#include <dlfcn.h>

#include <QLabel>

#include "app/workbench/window/message_bar.h"
#include "tests/support/paths.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

class WindowLostDevice : public WindowTest {
 protected:
  static void SetUpTestSuite() {
    qputenv("VK_LAYER_PATH", folder());
    qputenv("VK_INSTANCE_LAYERS", "VK_LAYER_LOCUS_lose_device");
    WindowTest::SetUpTestSuite();
    qunsetenv("VK_LAYER_PATH");
    qunsetenv("VK_INSTANCE_LAYERS");
  }
  static QByteArray folder() { return QByteArray::fromStdString(test::build_dir() + "/tests"); }
  // The next frame of any window fails as of a lost device.
  static void lose_device() {
    void* const layer = dlopen((folder() + "/liblose_device.so").constData(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(layer, nullptr) << "the layer is not between the window and its driver";
    const auto lose = reinterpret_cast<void (*)()>(dlsym(layer, "lose_device"));
    ASSERT_NE(lose, nullptr);
    lose();
    dlclose(layer);
  }
};

TEST_F(WindowLostDevice, TheFigureIsDrawnAgainAndNothingIsLost) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  const QImage before = grab();
  for (int n = 0; n < 3; ++n) {
    int reports = 0;
    const auto connection = QObject::connect(
        window_->canvas(), &viewport::Canvas::gpu_failed, window_.get(),
        [&](const QString& message) { reports += message.contains(QStringLiteral("was lost")) ? 1 : 0; });
    lose_device();
    window_->canvas()->requestUpdate();
    ASSERT_TRUE(wait([&] { return reports > 0; })) << "the window does not say that the device was lost";
    EXPECT_TRUE(wait([&] { return grab() == before; })) << "the figure is not drawn again, loss " << n;
    EXPECT_EQ(reports, 1);
    QObject::disconnect(connection);
  }
  press(window_->canvas(), Qt::Key_Down);  // and it is a window as before
  ASSERT_TRUE(settle());
  EXPECT_EQ(title(), "gentle · layer 1, head 0");
  EXPECT_TRUE(wait([&] { return grab() != before; }));
}

}  // namespace
}  // namespace locus::workbench
