// An image as an input: what cannot be read says so.
#include "tests/support/window.h"

#include <fstream>

#include "app/workbench/input/patch_picture.h"

namespace locus::workbench {
namespace {

class WindowImage : public WindowTest {
 protected:
  std::string file(const char* name) const { return config_.path().toStdString() + "/" + name; }
  PatchPicture& picture() { return *window_->findChild<PatchPicture*>(); }
};

TEST_F(WindowImage, ABrokenImageSaysSo) {
  QImage green(20, 12, QImage::Format_RGB32);
  green.fill(Qt::green);
  ASSERT_TRUE(green.save(QString::fromStdString(file("whole.png"))));
  window_->open_path(file("whole.png"));
  EXPECT_TRUE(picture().error().isEmpty()) << picture().error().toStdString();
  std::ifstream whole(file("whole.png"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  std::ofstream(file("half.png"), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  std::ofstream(file("text.png")) << "no image at all";
  for (const char* name : {"half.png", "text.png"}) {
    window_->open_path(file(name));
    EXPECT_NE(picture().error().indexOf(QLatin1String(name)), -1) << picture().error().toStdString();
    EXPECT_NE(window_->last_message().indexOf(QLatin1String(name)), -1) << window_->last_message().toStdString();
  }
  window_->open_path(file("whole.png"));
  EXPECT_TRUE(picture().error().isEmpty());
}

}  // namespace
}  // namespace locus::workbench
