// Stored pictures of the instruments on the canvas (tests/app/golden/instrument-NAME.png), each cut out of the window
// around where it stands. LOCUS_UPDATE_GOLDEN=1 stores them again.
#include "tests/support/window.h"

#include <QDockWidget>
#include <QMouseEvent>
#include <cmath>

#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/instruments/frame_times.h"
#include "tests/support/golden_image.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowPictures : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = models::open;
    WindowTest::SetUp();
    const std::filesystem::path bundled = std::filesystem::path(test::source_dir()) / "assets/checkpoints";
    open((bundled / "text-rope").c_str());
    open((bundled / "text-alibi").c_str());
    type("one two three");
    ASSERT_TRUE(settle());
    for (auto* dock : window_->findChildren<QDockWidget*>()) {
      dock->hide();
    }
    ASSERT_TRUE(wait([this] {  // hidden docks give their room up in a later turn of the event loop
      const QSize missing = kSize - window_->canvas()->size();
      window_->resize(window_->size() + missing);
      return missing.isNull();
    }));
    ASSERT_TRUE(wait([this] { return measured(); }));
  }

  InstrumentSet& instruments() { return window_->findChild<CanvasLink*>()->instruments(); }
  figure::Rect area(const char* name) {
    const auto areas = instruments().areas_of(name);
    return areas.empty() ? figure::Rect() : areas.front();
  }
  // All heads of all columns, so that nothing of the picture is still to come.
  bool measured() {
    const auto input = window_->studio().view_input();
    return std::ranges::all_of(input.columns, [this](const views::Column& column) {
      const HeadSurvey& survey = window_->studio().fingerprints().survey(column);
      return survey.done || survey.error;
    });
  }
  void show(const session::ViewState& state) {
    window_->studio().change(state);
    ASSERT_TRUE(settle());
    place();
    wait([] { return false; }, 200);
  }
  void point(double x, double y) {
    const QPointF at(x, y);
    QMouseEvent event(QEvent::MouseMove, at, window_->canvas()->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(window_->canvas(), &event);
    wait([] { return false; }, 150);
  }
  void point_at_cell(double x, double y) {
    const figure::PanelLayout there = place();
    point(there.x.place(x + 0.5), there.y.place(y + 0.5));
  }
  void key(int pressed, Qt::KeyboardModifiers modifiers = {}) {
    press(window_->canvas(), pressed, {}, modifiers);
    wait([] { return false; }, 150);
  }

  // Until the canvas stays as it is: what is read in the background is drawn when it is there.
  void still() {
    constexpr int kAlike = 3;
    QImage last;
    for (int alike = 0, tries = 0; alike < kAlike && tries < 50; ++tries) {
      wait([] { return false; }, 100);
      const QImage next = grab();
      alike = next == last ? alike + 1 : 0;
      last = next;
    }
  }

  // The canvas there, with a little around it, is as stored.
  void expect_picture(const char* name, const figure::Rect& rect) {
    const QRect part =
        QRect(static_cast<int>(std::floor(rect.x)) - kAround, static_cast<int>(std::floor(rect.y)) - kAround,
              static_cast<int>(std::ceil(rect.width)) + 2 * kAround,
              static_cast<int>(std::ceil(rect.height)) + 2 * kAround)
            .intersected(QRect(QPoint(), kSize));
    const bool update = qEnvironmentVariableIsSet("LOCUS_UPDATE_GOLDEN");
    Status same = bad_input("nothing was drawn");
    still();
    wait(
        [&] {
          const QImage seen = grab().copy(part).convertToFormat(QImage::Format_RGBA8888);
          vulkan::PixelImage image;
          image.width = static_cast<std::uint32_t>(seen.width());
          image.height = static_cast<std::uint32_t>(seen.height());
          for (int row = 0; row < seen.height(); ++row) {  // rows of a QImage have pads
            image.rgba.insert(image.rgba.end(), seen.constScanLine(row),
                              seen.constScanLine(row) + std::ptrdiff_t{4} * seen.width());
          }
          same = golden::check_image(image, "app", std::string("instrument-") + name, update);
          return same.ok();
        },
        60'000);
    EXPECT_TRUE(same.ok()) << name << ": " << (same.ok() ? "" : same.error().describe());
  }

  static constexpr QSize kSize{760, 480};
  static constexpr int kAround = 6;
};

TEST_F(WindowPictures, OfMaps) {
  expect_picture("statement", area("statement"));
  session::ViewState state = window_->studio().state();
  state.navigator.fold = session::NavigatorChoice::Fold::kOpen;
  show(state);
  expect_picture("heads", area("heads"));
  state.navigator.fold = session::NavigatorChoice::Fold::kFolded;
  state.scale.high = 0.5F;
  show(state);
  const figure::Rect bar = area("colour-bar");
  point(bar.center_x(), bar.center_y());
  expect_picture("colour-bar", bar);
  state.scale.high.reset();
  state.marks.measures = {{0, {1, 5}, {4, 10}}};
  show(state);
  point(2, 2);
  expect_picture("measure", place().plot);
  state.marks = {};
  state.marks.profiles = {{1, 6}};
  show(state);
  key(Qt::Key_P);
  point_at_cell(3, 9);
  figure::Rect beside = place().plot;
  beside = {beside.x, beside.y - 45, beside.width + 45, beside.height + 45};
  expect_picture("profiles", beside);
  key(Qt::Key_P);
  state.marks = {};
  state.camera = views::Camera{{0, 6}, {6, 0}};
  show(state);
  point(2, 2);
  expect_picture("minimap", area("minimap"));
}

// A text that is long enough for it, of several words.
TEST_F(WindowPictures, OfTheLens) {
  std::string text;
  for (int n = 0; n < 60; ++n) {
    text += n % 3 == 0 ? "my name, " : n % 3 == 1 ? "is Romeo; " : "and yours? ";
  }
  window_->studio().inputs().set_text(text);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([this] { return measured(); }));
  session::ViewState state = window_->studio().state();
  state.navigator.fold = session::NavigatorChoice::Fold::kFolded;
  show(state);
  key(Qt::Key_L);
  point_at_cell(400, 410);
  expect_picture("lens", {0, 0, kSize.width(), kSize.height()});
  EXPECT_FALSE(window_->canvas()->content().tooltip.empty());
  EXPECT_TRUE(window_->canvas()->box().empty());  // the lens says it
  key(Qt::Key_L);
  EXPECT_FALSE(window_->canvas()->box().empty());
}

TEST_F(WindowPictures, OfFrameTimes) {
  session::ViewState state = window_->studio().state();
  state.navigator.fold = session::NavigatorChoice::Fold::kFolded;
  show(state);
  point(2, 2);
  key(Qt::Key_F12);
  viewport::FrameCost cost;
  cost.overlay_ms = 0.31;
  cost.draws = 7;
  cost.uploaded_mb = 1.5;
  cost.gpu = "a device (of some version)";
  cost.gpu_mb = 12;
  cost.gpu_total_mb = 8192;
  for (std::size_t n = 0; n < FrameTimes::kMost; ++n) {
    cost.cpu_ms = 4 + 3 * static_cast<double>(n % 10) / 10 + (n % 40 == 20 ? 9 : 0);
    instruments().measured(cost);
  }
  key(Qt::Key_F12, Qt::ShiftModifier);
  expect_picture("hud", area("hud"));
}

TEST_F(WindowPictures, OfPlots) {
  session::ViewState state = window_->studio().state();
  session::show_view(state, "distance-profile");
  state.plots.hidden = {"text-alibi"};
  state.navigator.fold = session::NavigatorChoice::Fold::kFolded;
  show(state);
  point(2, 2);
  figure::Rect legend = area("legend");
  legend.width = place().plot.width;
  expect_picture("legend", legend);
  const figure::Rect axis = area("axes");
  point(axis.center_x(), axis.center_y());
  expect_picture("axes", {axis.x, axis.y - 60, axis.width, axis.height + 60});
  point(place().plot.center_x(), place().plot.center_y());
  expect_picture("series", place().plot);
  const figure::Rect ranges = area("ranges");
  if (!ranges.empty()) {
    point(ranges.center_x(), ranges.center_y());
    expect_picture("ranges", area("ranges"));
  }
}

}  // namespace
}  // namespace locus::workbench
