// The main journeys: typing, heads, columns, a broken checkpoint, Cancel, a dropped image.
#include "tests/support/window.h"

#include <QDropEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <QUrl>

#include "models/formats/tensor_source.h"
#include "tests/support/golden_image.h"

namespace locus::workbench {
namespace {

class Window : public WindowTest {};

// The stored picture of the canvas, within the tolerance of ImageTolerance.
Status check_canvas(const QImage& canvas, bool update) {
  vulkan::PixelImage image;
  image.width = static_cast<std::uint32_t>(canvas.width());
  image.height = static_cast<std::uint32_t>(canvas.height());
  image.rgba.assign(canvas.constBits(), canvas.constBits() + canvas.sizeInBytes());
  return golden::check_image(image, "app", "workbench-canvas", update);
}

TEST_F(Window, TypingShowsTheMapAndArrowsChooseTheHead) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  ASSERT_NE(window_->studio().scheduler().figure(), nullptr);
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->trace->length(), 13);
  EXPECT_EQ(title(), "gentle · layer 0, head 0");
  const QImage first = grab();

  press(window_->canvas(), Qt::Key_Down);
  press(window_->canvas(), Qt::Key_Right);
  ASSERT_TRUE(settle());
  EXPECT_EQ(title(), "gentle · layer 1, head 1");
  EXPECT_TRUE(wait([&] { return grab() != first; }));

  press(window_->canvas(), Qt::Key_B, {}, Qt::ControlModifier);  // only the figure
  ASSERT_TRUE(wait([this] {  // hidden docks give their room up in a later turn of the event loop
    window_->resize(640, 480);
    return window_->canvas()->size() == QSize(640, 480);
  }));
  const bool update = qEnvironmentVariableIsSet("LOCUS_UPDATE_GOLDEN");
  Status same = bad_input("nothing was drawn");
  wait([&] {  // a slow machine may take more than one frame to come to the figure asked for
    same = check_canvas(grab(), update);
    return same.ok();
  });
  EXPECT_TRUE(same.ok()) << (same.ok() ? "" : same.error().describe());
}

TEST_F(Window, ATextTooShortForTheZoomIsShownWhole) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  session::ViewState state = window_->studio().state();
  state.camera = views::Camera{{8, 12}, {12, 8}};
  window_->studio().change(state);
  window_->studio().inputs().set_text("one two thr");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window_->studio().state().camera.has_value());
  window_->studio().inputs().set_text("one");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window_->studio().state().camera.has_value());
}

TEST_F(Window, TwoCheckpointsAreColumnsAndTheirDifferenceAThird) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().scheduler().figure()->panels.size(), 2U);
  session::ViewState state = window_->studio().state();
  state.difference = true;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().scheduler().figure()->panels.size(), 3U);
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().scheduler().figure()->panels.size(), 2U);
}

TEST_F(Window, ABrokenCheckpointIsAMessageAndTheWindowLivesOn) {
  open("broken");
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("expected a header")), -1);
  EXPECT_NE(window_->canvas()->content().message.find("expected a header"), std::string::npos);
  open("gentle");
  type("still here");
  ASSERT_TRUE(settle());
  EXPECT_NE(window_->studio().scheduler().figure(), nullptr);
}

TEST_F(Window, ABrokenTraceSaysWhatIsWrongWithTheTrace) {
  const QTemporaryDir folder;
  const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "theirs.safetensors";
  const std::vector<float> weights(4, 0.5F);
  const Status written = formats::write_safetensors(
      path, {{"layers.0.attention", formats::DType::kF32, {1, 2, 2}, std::as_bytes(std::span(weights))}},
      {{"locus.format", "trace/1"}, {"tokens", R"(["a", "b"])"}, {"image_grid", R"({"rows": "two", "columns": 1})"}});
  ASSERT_TRUE(written.ok()) << written.error().describe();
  session::CheckpointEntry entry;
  entry.path = path;
  window_->studio().column_actions().open(entry);
  ASSERT_TRUE(wait([&] { return !window_->last_message().isEmpty(); }));
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("metadata image_grid: rows: expected a whole number")), -1)
      << window_->last_message().toStdString();
}

TEST_F(Window, CancelEndsALongRun) {
  session::CheckpointEntry entry;
  entry.path = "endless";
  window_->studio().column_actions().open(entry);
  type("x");
  auto* cancel = window_->findChild<QPushButton*>(QStringLiteral("cancel"));
  ASSERT_TRUE(wait([&] { return cancel->isVisible(); }));  // after half a second of work
  cancel->click();
  EXPECT_TRUE(settle());
  EXPECT_FALSE(window_->studio().checkpoints().all().front().running);
  EXPECT_NE(window_->canvas()->content().message.find("Press R"), std::string::npos);
  const int before = EndlessModel::started;
  auto* again = window_->findChild<QPushButton*>(QStringLiteral("help-with-it"));
  ASSERT_TRUE(again->isVisible());
  EXPECT_EQ(again->text(), QStringLiteral("Run again"));
  again->click();
  EXPECT_TRUE(wait([&] { return EndlessModel::started == before + 1; }));
  cancel->click();
  EXPECT_TRUE(settle());
  press(window_->canvas(), Qt::Key_R);
  EXPECT_TRUE(wait([&] { return EndlessModel::started == before + 2; }));
  window_->studio().cancel();
  EXPECT_TRUE(settle());
}

TEST_F(Window, TypingDuringARunCancelsIt) {
  session::CheckpointEntry entry;
  entry.path = "endless";
  window_->studio().column_actions().open(entry);
  EndlessModel::started = EndlessModel::ended = 0;
  type("x");
  ASSERT_TRUE(wait([] { return EndlessModel::started == 1; }));
  EXPECT_EQ(EndlessModel::ended, 0);
  type("y");
  ASSERT_TRUE(wait([] { return EndlessModel::started == 2; }));
  EXPECT_EQ(EndlessModel::ended, 1);
  window_->studio().cancel();
  EXPECT_TRUE(settle());
}

TEST_F(Window, ClosingEndsWhatRuns) {
  session::CheckpointEntry entry;
  entry.path = "endless";
  window_->studio().column_actions().open(entry);
  ASSERT_TRUE(wait([this] { return !window_->studio().checkpoints().all().front().opening; }));
  EndlessModel::started = EndlessModel::ended = 0;
  type("x");
  ASSERT_TRUE(wait([] { return EndlessModel::started == 1; }));
  window_.reset();
  EXPECT_EQ(EndlessModel::ended, 1);
}

TEST_F(Window, ATextTypedWhileACheckpointOpensRunsOnce) {
  std::atomic<bool> go = false;
  opener_ = [&](const std::filesystem::path& path, const models::OpenOptions& options, const StopToken& stop,
                const Progress& progress) {
    while (!go && !stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return open_fake(path, options, stop, progress);
  };
  make_window();
  session::CheckpointEntry entry;
  entry.path = "endless";
  window_->studio().column_actions().open(entry);
  EndlessModel::started = EndlessModel::ended = 0;
  type("x");
  go = true;
  // Opened before the pause after the last keystroke is over: no event is lost between.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(wait([] { return EndlessModel::started > 0; }));
  wait([] { return EndlessModel::started > 1; }, 300);
  EXPECT_EQ(EndlessModel::started, 1);
  window_->studio().cancel();
  EXPECT_TRUE(settle());
}

TEST_F(Window, GenerateAppendsToTheText) {
  open("gentle");
  type("one");
  ASSERT_TRUE(settle());
  window_->findChild<QSpinBox*>(QStringLiteral("generate-count"))->setValue(4);
  window_->findChild<QToolButton*>(QStringLiteral("generate"))->click();
  ASSERT_TRUE(wait([this] { return window_->studio().input().text == "one++++"; }));
  ASSERT_TRUE(settle());
  auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"));
  EXPECT_EQ(editor->toPlainText(), QStringLiteral("one++++"));
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->trace->length(), 7);
}

TEST_F(Window, AnImageDroppedOnTheCanvasIsRunAndAClickChoosesAPatch) {
  open("eyes");
  const QString file = config_.path() + QStringLiteral("/picture.png");
  QImage picture(20, 12, QImage::Format_RGB32);
  picture.fill(Qt::green);
  ASSERT_TRUE(picture.save(file));
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(file)});
  QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(window_->canvas(), &drop);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window_->studio().input().image.has_value());
  session::ViewState state = window_->studio().state();
  state.view = "attention-image";
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  ASSERT_NE(window_->studio().scheduler().figure(), nullptr) << window_->canvas()->content().message;
  EXPECT_TRUE(std::holds_alternative<figure::ImageLayer>(window_->studio().scheduler().figure()->panels[0].layers[0]));
  figure::Hit hit;
  hit.x = 2.5;
  hit.y = 1.5;
  Q_EMIT window_->canvas()->clicked(hit);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().state().query, 1 + 7);

  // The picture of the input has the same patches.
  auto* small = window_->findChild<QWidget*>(QStringLiteral("picture"));
  ASSERT_TRUE(small->isVisible());
  const QPointF middle(small->width() / 2.0, small->height() / 2.0);
  QMouseEvent down(QEvent::MouseButtonPress, middle, small->mapToGlobal(middle), Qt::LeftButton, Qt::LeftButton,
                   Qt::NoModifier);
  QCoreApplication::sendEvent(small, &down);
  QMouseEvent up(QEvent::MouseButtonRelease, middle, small->mapToGlobal(middle), Qt::LeftButton, Qt::NoButton,
                 Qt::NoModifier);
  QCoreApplication::sendEvent(small, &up);
  EXPECT_EQ(window_->studio().state().query, views::kNone);  // the same patch once more
  window_->findChild<QToolButton*>(QStringLiteral("type-text"))->click();
  type("one");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().input().text, "one");
  EXPECT_FALSE(small->isVisible());
}

}  // namespace
}  // namespace locus::workbench
