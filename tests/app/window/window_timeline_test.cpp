// The timeline below the figure: layers and steps by a slider, by keys and by playing; the wipe between two columns.
#include "tests/support/window.h"

#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QSlider>
#include <QToolButton>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "app/views/shared/plots/map_lines.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/timeline_bar.h"
#include "tests/support/pictured_text.h"

namespace locus::workbench {
namespace {

class WindowTimeline : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    window_->resize(1200, 900);
    open("gentle");
    type("one two three");
    ASSERT_TRUE(settle());
  }
  TimelineBar& bar() { return *window_->findChild<TimelineBar*>(QStringLiteral("timeline")); }
  QSlider& slider() { return *window_->findChild<QSlider*>(QStringLiteral("timeline-slider")); }
  QString label() { return window_->findChild<QLabel*>(QStringLiteral("timeline-label"))->text(); }
  QAction& action(const char* name) { return *window_->findChild<QAction*>(QLatin1String(name)); }
  std::int64_t layer() { return window_->studio().state().layer; }
  void show(const char* view) {
    session::ViewState state = window_->studio().state();
    session::show_view(state, view);
    window_->studio().change(state);
    ASSERT_TRUE(settle());
  }
  std::vector<int> shown() { return window_->studio().checkpoints().shown_ids(); }
};

TEST_F(WindowTimeline, TheSliderGoesThroughTheLayersWithoutARun) {
  ASSERT_TRUE(bar().isVisible());
  EXPECT_EQ(label(), QStringLiteral("layer 0 of 3"));
  const auto trace = window_->studio().view_input().columns.front().trace;
  press(&slider(), Qt::Key_End);
  EXPECT_EQ(layer(), 2);
  EXPECT_EQ(label(), QStringLiteral("layer 2 of 3"));
  press(&slider(), Qt::Key_Left);
  EXPECT_EQ(layer(), 1);
  press(&slider(), Qt::Key_Home);
  press(&slider(), Qt::Key_Right);
  ASSERT_TRUE(settle());
  EXPECT_EQ(layer(), 1);
  EXPECT_EQ(window_->studio().scheduler().figure_state().layer, 1);
  EXPECT_EQ(window_->studio().view_input().columns.front().trace, trace);
  // One gesture is one step.
  window_->studio().undo();
  EXPECT_EQ(layer(), 0);
  // It follows what is chosen elsewhere.
  press(window_->canvas(), Qt::Key_Down);
  EXPECT_EQ(slider().value(), 1);
  ASSERT_TRUE(settle());
}

TEST_F(WindowTimeline, PlayingEndsAtTheLastLayerAndStartsAnew) {
  action("play").trigger();
  EXPECT_TRUE(bar().is_playing());
  ASSERT_TRUE(wait([this] { return layer() == 2; }));
  ASSERT_TRUE(wait([this] { return !bar().is_playing(); }));
  action("play").trigger();
  EXPECT_EQ(layer(), 0);
  press(&bar(), Qt::Key_Space);
  EXPECT_FALSE(bar().is_playing());
  ASSERT_TRUE(settle());
}

TEST_F(WindowTimeline, ItGoesWhereThereIsNothingToGoThrough) {
  show("attention-grid");
  EXPECT_FALSE(bar().isVisible());
  show("attention");
  EXPECT_TRUE(bar().isVisible());
  action("timeline-shown").trigger();
  EXPECT_FALSE(bar().isVisible());
  action("timeline-shown").trigger();
  EXPECT_TRUE(bar().isVisible());
}

// Two groups of frames: all of them first, then one at a time; layers are in the list.
TEST_F(WindowTimeline, FramesOfAVideoAreShownOneAtATime) {
  opener_ = models::open;
  make_window();
  window_->resize(1200, 900);
  const std::string clip = config_.path().toStdString() + "/clip.gif";
  std::ofstream(clip, std::ios::binary) << test::grey_gif(4, 16, 16, 50);
  open(test::pictured_folder("qwen2_vl").c_str());
  models::Input input;
  input.ids = std::vector<std::int64_t>{1, 73, 2};
  input.videos = {clip};
  window_->studio().inputs().set_input(input);
  ASSERT_TRUE(settle());
  EXPECT_EQ(label(), QStringLiteral("layer 0 of 2"));
  show("attention-image");
  auto* axis = window_->findChild<QComboBox*>(QStringLiteral("timeline-axis"));
  EXPECT_EQ(axis->currentText(), QStringLiteral("frames"));
  EXPECT_EQ(label(), QStringLiteral("all 2 frames"));
  const auto frame = [this] { return *window_->studio().state().options.at("attention-image").integer("frame", -1); };
  press(&slider(), Qt::Key_Right);
  ASSERT_TRUE(settle());
  EXPECT_EQ(frame(), 0);
  EXPECT_EQ(label(), QStringLiteral("frame 0 of 2"));
  press(&slider(), Qt::Key_Home);
  EXPECT_EQ(frame(), -1);
  action("play").trigger();
  ASSERT_TRUE(wait([&] { return frame() == 1; }));
  ASSERT_TRUE(wait([this] { return !bar().is_playing(); }));
  EXPECT_EQ(layer(), 0);
  axis->setCurrentIndex(axis->findText(QStringLiteral("layers")));
  Q_EMIT axis->activated(axis->currentIndex());
  press(&slider(), Qt::Key_End);
  EXPECT_EQ(layer(), 1);
  EXPECT_EQ(frame(), 1);
  ASSERT_TRUE(settle());
}

// Until one has asked for it.
TEST_F(WindowTimeline, ASmallWindowGivesItsLineToTheFigure) {
  window_->resize(1200, 780);
  EXPECT_TRUE(wait([this] { return !bar().isVisible(); }));
  window_->resize(1200, 900);
  EXPECT_TRUE(wait([this] { return bar().isVisible(); }));
  window_->resize(1200, 780);
  EXPECT_TRUE(wait([this] { return !bar().isVisible(); }));
  action("timeline-shown").trigger();
  EXPECT_TRUE(bar().isVisible());
}

TEST_F(WindowTimeline, StepsOfATrainingAreShownOneAtATime) {
  // Folders of one training; the opener of these tests looks at their names alone.
  QTemporaryDir folder;
  const std::filesystem::path root = folder.path().toStdString();
  for (const char* name : {"step200", "step50", "step100"}) {
    std::filesystem::create_directory(root / name);
    open((root / name).c_str());
  }
  ASSERT_TRUE(settle());
  const auto series = series_of(window_->studio().checkpoints());
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0].step, 50);
  EXPECT_EQ(series[2].step, 200);
  show("attention-grid");  // without layers
  ASSERT_TRUE(bar().isVisible());
  press(&slider(), Qt::Key_End);
  ASSERT_TRUE(settle());
  EXPECT_EQ(label(), QStringLiteral("step 200, 3 of 3"));
  EXPECT_EQ(shown().size(), 2U);  // and the one that is of no series
  EXPECT_EQ(shown().back(), series[2].id);
  const auto trace = window_->studio().checkpoints().find(series[2].id)->trace;
  press(&slider(), Qt::Key_Left);
  ASSERT_TRUE(settle());
  EXPECT_EQ(label(), QStringLiteral("step 100, 2 of 3"));
  EXPECT_EQ(shown().back(), series[1].id);
  press(&slider(), Qt::Key_Right);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().find(series[2].id)->trace, trace);  // nothing ran again
}

// ---- the wipe

TEST_F(WindowTimeline, TheWipeShowsTheColumnAndTheReferenceOnTheSameAxes) {
  EXPECT_FALSE(action("wipe").isEnabled());
  open("steep");
  const auto link = window_->findChild<CanvasLink*>();
  ASSERT_TRUE(wait([&] { return window_->canvas()->figure()->panels.size() == 2; }));
  const auto map = [&](std::size_t panel) -> const Field& {
    return *views::map_of(window_->canvas()->content().figure->panels[panel])->field;
  };
  const Field left = map(0);
  const Field right = map(1);
  press(window_->canvas(), Qt::Key_W);
  ASSERT_TRUE(wait([&] { return !link->instruments().areas_of("wipe").empty(); }));
  ASSERT_EQ(link->instruments().areas_of("wipe").size(), 1U);  // the reference's own panel has none
  const auto is_joined = [&](std::int64_t from) {
    const Field& both = map(0);
    for (std::int64_t row = 0; row < both.rows; ++row) {
      for (std::int64_t column = 0; column < both.columns; ++column) {
        const float wanted = column < from ? left.at(row, column) : right.at(row, column);
        if (both.at(row, column) != wanted && !(std::isnan(wanted) && std::isnan(both.at(row, column)))) {
          return false;
        }
      }
    }
    return true;
  };
  EXPECT_TRUE(is_joined(7));  // of 13 tokens: in the middle
  EXPECT_EQ(map(1).values.size(), right.values.size());
  EXPECT_NE(window_->canvas()->content().figure->panels[0].title.find(" | "), std::string::npos);

  // Beyond the line the pointer is on the reference.
  figure::Hit hit;
  hit.x = 2.5;
  hit.y = 10.5;
  Q_EMIT window_->canvas()->hovered(hit);
  ASSERT_TRUE(settle());
  const auto says_reference = [&] {
    return window_->canvas()->content().tooltip.text().find("reference: steep") != std::string::npos;
  };
  EXPECT_FALSE(says_reference());
  hit.x = 9.5;
  Q_EMIT window_->canvas()->hovered(hit);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait(says_reference));

  // It is moved with the mouse.
  const figure::PanelLayout panel = place();
  const figure::Rect area = link->instruments().areas_of("wipe").front();
  const double ratio = window_->canvas()->devicePixelRatio();
  const QPointF from(area.center_x() / ratio, (area.y + area.height * 0.75) / ratio);
  const QPointF to(panel.x.place(3) / ratio, from.y());
  const auto mouse = [&](QEvent::Type type, const QPointF& at, Qt::MouseButton button, Qt::MouseButtons buttons) {
    QMouseEvent event(type, at, window_->canvas()->mapToGlobal(at), button, buttons, {});
    QCoreApplication::sendEvent(window_->canvas(), &event);
    wait([] { return false; }, 60);
  };
  mouse(QEvent::MouseMove, from, Qt::NoButton, Qt::NoButton);
  mouse(QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
  mouse(QEvent::MouseMove, to, Qt::NoButton, Qt::LeftButton);
  mouse(QEvent::MouseButtonRelease, to, Qt::LeftButton, Qt::NoButton);
  EXPECT_TRUE(wait([&] { return is_joined(3); }));
  press(window_->canvas(), Qt::Key_W);
  EXPECT_TRUE(wait([&] { return is_joined(13); }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowTimeline, ColumnsOfOtherTokensHaveNoWipe) {
  open("pairs");
  press(window_->canvas(), Qt::Key_W);
  ASSERT_TRUE(settle());
  wait([] { return false; }, 200);
  EXPECT_TRUE(window_->findChild<CanvasLink*>()->instruments().areas_of("wipe").empty());
}

}  // namespace
}  // namespace locus::workbench
