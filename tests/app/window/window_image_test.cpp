// An image as an input: what cannot be read says so; it is moved by hand and by numbers.
#include "tests/support/window.h"

#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QMouseEvent>
#include <QToolButton>
#include <QWheelEvent>
#include <algorithm>
#include <fstream>

#include "app/session/shared_options.h"
#include "app/workbench/input/patch_picture.h"
#include "app/workbench/widgets/exact_editor.h"
#include "tests/support/pictured_text.h"

namespace locus::workbench {
namespace {

class WindowImage : public WindowTest {
 protected:
  std::string file(const char* name) const { return config_.path().toStdString() + "/" + name; }
  PatchPicture& picture() { return *window_->findChild<PatchPicture*>(); }
  std::string changes() const { return models::to_text(window_->studio().input().picture); }
  template <class Widget>
  Widget& named(const char* name) {
    return *window_->findChild<Widget*>(QLatin1String(name));
  }
  void mouse(QEvent::Type type, const QPointF& at, Qt::KeyboardModifiers modifiers = {}) {
    const bool moves = type == QEvent::MouseMove;
    QMouseEvent event(type, at, picture().mapToGlobal(at), moves ? Qt::NoButton : Qt::LeftButton,
                      type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, modifiers);
    QApplication::sendEvent(&picture(), &event);
  }
  // A run of an image of 3 × 5 patches.
  void open_picture() {
    open("eyes");
    QImage green(50, 30, QImage::Format_RGB32);
    green.fill(Qt::green);
    ASSERT_TRUE(green.save(QString::fromStdString(file("whole.png"))));
    window_->open_path(file("whole.png"));
    ASSERT_TRUE(settle());
  }
};

// A model that reads videos, and no texts.
TEST_F(WindowImage, AVideoStandsAtTheCaretOfIds) {
  opener_ = models::open;
  make_window();
  const std::string clip = file("clip.gif");
  std::ofstream(clip, std::ios::binary) << test::grey_gif(4, 16, 16, 50);  // two groups of 2 × 2 cells
  open(test::pictured_folder("qwen2_vl").c_str());
  Studio& studio = window_->studio();
  studio.inputs().set_ids({1, 2, 3});
  ASSERT_TRUE(settle());
  auto* editor = window_->findChild<ExactEditor*>(QStringLiteral("ids-editor"));
  ASSERT_EQ(editor->bytes(), "1, 2, 3");
  editor->set_caret(2);
  window_->open_path(clip);
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio.input().ids, (std::vector<std::int64_t>{1, 73, 2, 3}));
  EXPECT_EQ(studio.input().videos, std::vector<std::filesystem::path>{clip});
  const auto shown = studio.checkpoints().shown();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown.front()->trace->length(), 13);  // 8 cells between their first and last id
  EXPECT_EQ(shown.front()->trace->images().size(), 2U);
  studio.inputs().set_ids({1, 73, 2, 3, 4});
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio.input().videos.size(), 1U);
  studio.inputs().set_ids({1, 2, 3, 4});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(studio.input().videos.empty());
}

TEST_F(WindowImage, AVideoBesideIdsNeedsAModelThatReadsVideos) {
  open("a");
  window_->studio().inputs().set_ids({1, 2, 3});
  ASSERT_TRUE(settle());
  std::ofstream(file("clip.gif"), std::ios::binary) << test::grey_gif(4, 16, 16, 50);
  window_->open_path(file("clip.gif"));
  EXPECT_NE(window_->last_message().indexOf(QLatin1String("reads videos")), -1)
      << window_->last_message().toStdString();
  EXPECT_TRUE(window_->studio().input().videos.empty());
}

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

TEST_F(WindowImage, DraggingMovesItInOneStepOfUndo) {
  open_picture();
  EXPECT_TRUE(named<QWidget>("picture-line").isVisibleTo(window_.get()));
  const QSizeF shown = QSizeF(50, 30).scaled(QSizeF(picture().size()), Qt::KeepAspectRatio);
  const QPointF middle(picture().width() / 2.0, picture().height() / 2.0);
  const auto patches = [&](double right, double down) {
    return middle + QPointF(right * shown.width() / 5, down * shown.height() / 3);
  };
  mouse(QEvent::MouseButtonPress, middle);
  for (const double part : {0.3, 0.6, 1.0}) {
    mouse(QEvent::MouseMove, patches(part * 1.25, part * -0.5));
  }
  mouse(QEvent::MouseButtonRelease, patches(1.25, -0.5));
  ASSERT_TRUE(settle());
  EXPECT_EQ(changes(), "shift 1.25p -0.5p");
  EXPECT_EQ(named<QLineEdit>("picture-line").text(), QStringLiteral("shift 1.25p -0.5p"));
  EXPECT_DOUBLE_EQ(named<QDoubleSpinBox>("picture-x").value(), 1.25);
  mouse(QEvent::MouseButtonPress, middle);  // on from there
  mouse(QEvent::MouseMove, patches(-0.25, 0));
  mouse(QEvent::MouseButtonRelease, patches(-0.25, 0));
  ASSERT_TRUE(settle());
  EXPECT_EQ(changes(), "shift 1p -0.5p");
  window_->studio().undo();
  EXPECT_EQ(changes(), "shift 1.25p -0.5p");
  window_->studio().undo();
  EXPECT_EQ(changes(), "");
  window_->studio().redo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(changes(), "shift 1.25p -0.5p");
}

TEST_F(WindowImage, AClickPinsAndADragWithShiftTurns) {
  open_picture();
  const QPointF middle(picture().width() / 2.0, picture().height() / 2.0);
  mouse(QEvent::MouseButtonPress, middle);
  mouse(QEvent::MouseButtonRelease, middle);
  EXPECT_EQ(window_->studio().state().query.index, 1 + 7);  // behind the class token
  const QPointF right = middle + QPointF(40, 0);
  const QPointF below = middle + QPointF(0, 40);
  mouse(QEvent::MouseButtonPress, right, Qt::ShiftModifier);
  mouse(QEvent::MouseMove, below, Qt::ShiftModifier);
  mouse(QEvent::MouseButtonRelease, below, Qt::ShiftModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(changes(), "rotate 90");
  EXPECT_EQ(window_->studio().state().query.index, 1 + 7);
  QWheelEvent wheel(middle, picture().mapToGlobal(middle), {}, QPoint(0, 120), Qt::NoButton, Qt::ControlModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(&picture(), &wheel);
  ASSERT_TRUE(settle());
  EXPECT_EQ(changes(), "rotate 90; scale 1.1");
}

TEST_F(WindowImage, NumbersAndTheLineChangeIt) {
  open_picture();
  named<QDoubleSpinBox>("picture-y").setValue(-0.125);
  named<QDoubleSpinBox>("picture-degrees").setValue(15);
  EXPECT_EQ(changes(), "rotate 15; shift 0 -0.125p");
  named<QToolButton>("picture-mirror").click();
  EXPECT_EQ(changes(), "rotate 15; mirror; shift 0 -0.125p");
  named<QDoubleSpinBox>("picture-degrees").setValue(0);
  EXPECT_EQ(changes(), "mirror; shift 0 -0.125p");
  auto& line = named<QLineEdit>("picture-line");
  line.setText(QStringLiteral("blur 2;shift 3 0"));
  Q_EMIT line.editingFinished();
  EXPECT_EQ(changes(), "blur 2; shift 3 0");
  EXPECT_EQ(named<QDoubleSpinBox>("picture-x").suffix(), QStringLiteral(" px"));
  EXPECT_FALSE(named<QToolButton>("picture-mirror").isChecked());
  line.setText(QStringLiteral("blur sideways"));
  Q_EMIT line.editingFinished();
  EXPECT_EQ(changes(), "blur 2; shift 3 0");
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("found sideways")), -1);
  named<QToolButton>("picture-reset").click();
  EXPECT_EQ(changes(), "");
  ASSERT_TRUE(settle());
  type("a text");
  EXPECT_FALSE(named<QWidget>("picture-line").isVisibleTo(window_.get()));
}

// A row is the heads of one checkpoint then: its panels are marked by none, and have no reference beside them.
TEST_F(WindowImage, HeadsOfARowAreNoColumns) {
  open_picture();
  open("eyes-2");
  open("eyes-3");
  const auto marked = [this] {
    const auto& shown = window_->canvas()->content().figure;
    return shown ? std::ranges::count_if(shown->panels,
                                         [](const figure::Panel& each) { return each.title.starts_with("▸ "); })
                 : -1;
  };
  session::ViewState state = window_->studio().state();
  state.view = "attention-image";
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return marked() == 1; }));
  session::set_option(state, "attention-image", "all-heads", true);
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([this] { return window_->canvas()->content().figure->panels.size() >= 12; }));
  EXPECT_EQ(marked(), 0);
}

}  // namespace
}  // namespace locus::workbench
