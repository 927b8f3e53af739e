// Large screens: the window at 1280 × 800, 1920 × 1080 and 2560 × 1440, light and dark, with one column and with four.
// LOCUS_PICTURES=FOLDER keeps what is seen there.
#include "tests/support/window.h"

#include <QAction>

#include "tests/support/window_fit.h"

namespace locus::workbench {
namespace {

class WindowScreens : public WindowTest {
 protected:
  static void SetUpTestSuite() { start(QStringLiteral("2560x1440x24"), {}); }

  // Of the maps on the canvas.
  double least_map() {
    place();
    double least = 1e9;
    for (const figure::PanelLayout& panel : window_->canvas()->layout()->panels) {
      least = std::min({least, panel.plot.width, panel.plot.height});
    }
    return least;
  }
  void keep(const QString& name) {
    const QString folder = qEnvironmentVariable("LOCUS_PICTURES");
    if (!folder.isEmpty()) {
      wait([] { return false; }, 500);
      window_->screen()->grabWindow(window_->winId()).save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
    }
  }
};

TEST_F(WindowScreens, EverythingHasItsRoomAndTheMapTheRest) {
  for (const char* name : {"gentle", "steep", "gentle-trained-on-long-texts", "steep-trained-on-long-texts"}) {
    open(name);
  }
  type("one two three, four five six");
  ASSERT_TRUE(settle());
  const std::vector<int> ids = [this] {
    std::vector<int> list;
    for (const Checkpoint& each : window_->studio().checkpoints().all()) {
      list.push_back(each.id);
    }
    return list;
  }();
  QAction* dark = nullptr;
  for (QAction* action : window_->findChildren<QAction*>()) {
    dark = action->text().contains(QStringLiteral("Dark")) ? action : dark;
  }
  ASSERT_NE(dark, nullptr);
  struct Screen {
    int width;
    int height;
    double one;   // the least side of a single map
    double four;  // of four
  };
  for (const Screen& screen :
       {Screen{1280, 800, 480, 200}, Screen{1920, 1080, 540, 300}, Screen{2560, 1440, 850, 440}}) {
    for (const bool four : {true, false}) {
      for (std::size_t n = 1; n < ids.size(); ++n) {
        window_->studio().columns().set_shown(ids[n], four);
      }
      ASSERT_TRUE(settle());
      window_->findChild<QAction*>(QStringLiteral("reset-layout"))->trigger();
      window_->move(0, 0);
      window_->resize(screen.width, screen.height);
      const double wanted = four ? screen.four : screen.one;
      const std::size_t panels = four ? 4 : 1;
      EXPECT_TRUE(wait([&] {
        const auto* layout = window_->canvas()->layout();
        return window_->size() == QSize(screen.width, screen.height) && layout != nullptr &&
               layout->panels.size() == panels && least_map() >= wanted;
      })) << screen.width
          << " × " << screen.height << ", " << panels << " columns: " << least_map();
      EXPECT_EQ(test::cramped(*window_).join(QStringLiteral(", ")).toStdString(), "") << screen.width;
      const QString place = QString::number(screen.width) + (four ? QStringLiteral("-four") : QStringLiteral("-one"));
      keep(place + QStringLiteral("-light"));
      dark->trigger();
      ASSERT_TRUE(settle());
      EXPECT_EQ(test::cramped(*window_).join(QStringLiteral(", ")).toStdString(), "") << screen.width;
      keep(place + QStringLiteral("-dark"));
      dark->trigger();
    }
  }
}

}  // namespace
}  // namespace locus::workbench
