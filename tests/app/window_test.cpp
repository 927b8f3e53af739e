// The real window on an X display of its own (Xvfb), driven by events. Skipped only where there is neither Xvfb nor a
// display. Waits are as long as a slow machine may need; they end as soon as what they wait for is there.
#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include "app/workbench/main_window.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QImage>
#include <QKeyEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QPixmap>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QScreen>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QToolButton>
#include <QUrl>
#include <QVulkanInstance>
#include <QWheelEvent>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "app/viewport/canvas.h"
#include "app/workbench/export.h"
#include "renderers/paper/paper.h"
#include "tests/support/display.h"
#include "tests/support/fake_model.h"
#include "tests/support/golden_image.h"

namespace locus::workbench {
namespace {

using namespace std::chrono_literals;

constexpr int kLimitMs = 60'000;  // of any one wait

// A model that runs until it is told to stop.
class EndlessModel final : public models::Model {
 public:
  const models::ModelInfo& info() const override { return model_.info(); }
  double macs(std::int64_t length) const override { return static_cast<double>(length); }
  Result<std::vector<models::TokenInfo>> tokenize(const models::Input& input) const override {
    return model_.tokenize(input);
  }
  Result<std::shared_ptr<const models::Trace>> run(const models::Input& /*input*/,
                                                   const models::RunOptions& /*options*/, StopToken stop,
                                                   const Progress& progress) const override {
    report(progress, 0.25, "layer 1 of 4");
    ++started;
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(1ms);
    }
    ++ended;
    return cancelled();
  }

  static inline std::atomic<int> started = 0;
  static inline std::atomic<int> ended = 0;

 private:
  test::FakeModel model_{{}};
};

Result<std::shared_ptr<const models::Model>> open_fake(const std::filesystem::path& path, const models::OpenOptions&,
                                                       const StopToken&, const Progress&) {
  const std::string name = path.filename().string();
  if (name == "broken") {
    return bad_input("expected a header of 120 bytes, found 8", path.string());
  }
  if (name == "endless") {
    return std::shared_ptr<const models::Model>(std::make_shared<EndlessModel>());
  }
  test::FakeShape shape;
  shape.name = name;
  shape.slope = name == "steep" ? 0.8 : 0.2;
  shape.rows = name == "eyes" ? 3 : 0;
  shape.columns = name == "eyes" ? 5 : 0;
  return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
}

class Window : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    display_ = test::start_display();
    if (qEnvironmentVariableIsEmpty("DISPLAY")) {
      return;
    }
    qputenv("QT_QPA_PLATFORM", "xcb");
    qunsetenv("QT_SCALE_FACTOR");
    qputenv("QT_FONT_DPI", "96");
    static int count = 1;
    static char name[] = "tests";
    static char* arguments[] = {name, nullptr};
    application_ = new QApplication(count, arguments);
    vulkan_ = new QVulkanInstance;
    has_vulkan_ = vulkan_->create();
  }
  static void TearDownTestSuite() {
    delete vulkan_;
    delete application_;
    if (display_) {
      display_->terminate();
      display_->waitForFinished();
      display_.reset();
    }
  }

  void SetUp() override {
    if (application_ == nullptr) {
      GTEST_SKIP() << "there is no X display and no Xvfb (Debian: xvfb)";
    }
    ASSERT_TRUE(has_vulkan_) << "no Vulkan driver: install mesa-vulkan-drivers";
    options_.config_dir = config_.path().toStdString();
    make_window();
  }
  void TearDown() override { window_.reset(); }

  void make_window() {
    StudioOptions studio;
    studio.debounce_ms = 10;
    studio.opener = open_fake;
    window_ = std::make_unique<MainWindow>(options_, vulkan_, studio);
    window_->resize(1200, 800);
    window_->show();
    ASSERT_TRUE(wait([this] { return window_->canvas()->isExposed() && window_->canvas()->layout() != nullptr; }));
  }

  static bool wait(const std::function<bool()>& done, int limit_ms = kLimitMs) {
    QElapsedTimer timer;
    timer.start();
    while (!done()) {
      if (timer.elapsed() > limit_ms) {
        return false;
      }
      QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
  bool settle() {
    return wait([this] { return window_->studio().settled(); });
  }

  static void press(QObject* receiver, int key, const QString& text = {}, Qt::KeyboardModifiers modifiers = {}) {
    QKeyEvent down(QEvent::KeyPress, key, modifiers, text);
    QCoreApplication::sendEvent(receiver, &down);
    QKeyEvent up(QEvent::KeyRelease, key, modifiers, text);
    QCoreApplication::sendEvent(receiver, &up);
  }
  void type(const std::string& text) {
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"));
    for (const char c : text) {
      press(editor, Qt::Key_unknown, QString(QLatin1Char(c)));
    }
  }
  void open(const char* name) {
    CheckpointEntry entry;
    entry.path = name;
    window_->studio().open(entry);
    ASSERT_TRUE(settle());
  }
  std::string title() {
    const auto& figure = window_->studio().figure();
    return figure && !figure->panels.empty() ? figure->panels.front().title : "";
  }
  QImage grab() {
    wait([] { return false; }, 300);  // what was asked for is drawn
    // What the display shows: QVulkanWindow::grab() swaps red and blue on some drivers.
    const viewport::Canvas* canvas = window_->canvas();
    const QPixmap seen = canvas->screen()->grabWindow(canvas->winId(), 0, 0, canvas->width(), canvas->height());
    return seen.toImage().convertToFormat(QImage::Format_RGBA8888);
  }

  // The stored picture of the canvas, within the tolerance of ImageTolerance.
  static Status check_canvas(const QImage& canvas, bool update) {
    vulkan::PixelImage image;
    image.width = static_cast<std::uint32_t>(canvas.width());
    image.height = static_cast<std::uint32_t>(canvas.height());
    image.rgba.assign(canvas.constBits(), canvas.constBits() + canvas.sizeInBytes());
    return golden::check_image(image, "app", "workbench-canvas", update);
  }

  static inline std::unique_ptr<QProcess> display_;
  static inline QApplication* application_ = nullptr;
  static inline QVulkanInstance* vulkan_ = nullptr;
  static inline bool has_vulkan_ = false;
  QTemporaryDir config_;
  WorkbenchOptions options_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(Window, TypingShowsTheMapAndArrowsChooseTheHead) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  ASSERT_NE(window_->studio().figure(), nullptr);
  EXPECT_EQ(window_->studio().columns().front()->trace->length(), 13);
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
  ViewState state = window_->studio().state();
  state.camera = views::Camera{{8, 12}, {12, 8}};
  window_->studio().change(state);
  window_->studio().set_text("one two thr");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window_->studio().state().camera.has_value());
  window_->studio().set_text("one");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window_->studio().state().camera.has_value());
}

TEST_F(Window, TwoCheckpointsAreColumnsAndTheirDifferenceAThird) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().figure()->panels.size(), 2U);
  ViewState state = window_->studio().state();
  state.difference = true;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().figure()->panels.size(), 3U);
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().figure()->panels.size(), 2U);
}

TEST_F(Window, ABrokenCheckpointIsAMessageAndTheWindowLivesOn) {
  open("broken");
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("expected a header")), -1);
  EXPECT_NE(window_->canvas()->content().message.find("expected a header"), std::string::npos);
  open("gentle");
  type("still here");
  ASSERT_TRUE(settle());
  EXPECT_NE(window_->studio().figure(), nullptr);
}

TEST_F(Window, CancelEndsALongRun) {
  CheckpointEntry entry;
  entry.path = "endless";
  window_->studio().open(entry);
  type("x");
  auto* cancel = window_->findChild<QPushButton*>(QStringLiteral("cancel"));
  ASSERT_TRUE(wait([&] { return cancel->isVisible(); }));  // after half a second of work
  cancel->click();
  EXPECT_TRUE(settle());
  EXPECT_FALSE(window_->studio().checkpoints().front().running);
}

TEST_F(Window, TypingDuringARunCancelsIt) {
  CheckpointEntry entry;
  entry.path = "endless";
  window_->studio().open(entry);
  // Opened while the text waits to be run, it would run twice.
  ASSERT_TRUE(wait([this] { return !window_->studio().checkpoints().front().opening; }));
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
  EXPECT_EQ(window_->studio().columns().front()->trace->length(), 7);
}

TEST_F(Window, ClosingAndOpeningAgainRestoresTheView) {
  const auto folder = std::filesystem::path(config_.path().toStdString()) / "steep";
  std::filesystem::create_directory(folder);
  open(folder.c_str());
  type("abc abc");
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_Down);
  ASSERT_TRUE(settle());
  window_->close();
  make_window();
  window_->open_first();
  ASSERT_TRUE(settle());
  EXPECT_EQ(title(), "steep · layer 1, head 0");
  EXPECT_EQ(window_->studio().input().text, "abc abc");
}

TEST_F(Window, TheFigureIsExportedWithItsRecipe) {
  open("gentle");
  type("one two");
  ASSERT_TRUE(settle());
  const auto file = std::filesystem::path(config_.path().toStdString()) / "figure.svg";
  auto job = export_job(window_->studio(), file);
  ASSERT_TRUE(job.ok()) << job.error().describe();
  job->recipe.paper = {84, 300, false};
  job->all_heads = true;
  std::vector<std::filesystem::path> files;
  submit_export(window_->studio(), *std::move(job), [&](const auto& written) {
    ASSERT_TRUE(written.ok()) << written.error().describe();
    files = *written;
  });
  ASSERT_TRUE(settle());
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[3].filename(), "figure-l0-h3.svg");
  const auto recipe = paper::read_recipe(files[3]);
  ASSERT_TRUE(recipe.ok()) << recipe.error().describe();
  const auto parsed = parse_recipe(*recipe, files[3].string());
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  EXPECT_EQ(parsed->session.state.head, 3);
  EXPECT_EQ(parsed->session.input.text, "one two");
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
  ViewState state = window_->studio().state();
  state.view = "attention-image";
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  ASSERT_NE(window_->studio().figure(), nullptr) << window_->canvas()->content().message;
  EXPECT_TRUE(std::holds_alternative<figure::ImageLayer>(window_->studio().figure()->panels[0].layers[0]));
  figure::Hit hit;
  hit.x = 2.5;
  hit.y = 1.5;
  Q_EMIT window_->canvas()->clicked(hit);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().state().query, 1 + 7);
}

TEST_F(Window, ASavedSessionOpensAgain) {
  const auto folder = std::filesystem::path(config_.path().toStdString());
  std::filesystem::create_directory(folder / "steep");
  open((folder / "steep").c_str());
  type("one two");
  ViewState state = window_->studio().state();
  state.view = "attention-text";
  state.head = 2;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  const auto file = folder / "kept.locus.json";
  ASSERT_TRUE(save_session(window_->studio().session(), file).ok());
  window_.reset();
  make_window();
  window_->open_path(file);
  ASSERT_TRUE(settle());
  EXPECT_EQ(title(), "steep · layer 0, head 2");
  EXPECT_EQ(window_->studio().state().view, "attention-text");
  EXPECT_EQ(window_->studio().input().text, "one two");
}

// Two seconds of seeded clicks, wheels, drags, keys, typing and changes of view; LOCUS_RANDOM_SECONDS makes it longer.
TEST_F(Window, LivesThroughRandomEvents) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  std::mt19937 random(7);
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  static constexpr int kKeys[] = {Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down,   Qt::Key_F,
                                  Qt::Key_N,    Qt::Key_R,     Qt::Key_1,  Qt::Key_Escape, Qt::Key_Shift};
  const int seconds =
      qEnvironmentVariableIsSet("LOCUS_RANDOM_SECONDS") ? qEnvironmentVariableIntValue("LOCUS_RANDOM_SECONDS") : 2;
  QElapsedTimer timer;
  timer.start();
  int events = 0;
  QWindow* canvas = window_->canvas();
  while (timer.elapsed() < 1000 * seconds) {
    const QPointF at(below(canvas->width()), below(canvas->height()));
    const auto mouse = [&](QEvent::Type type, Qt::MouseButton button, Qt::MouseButtons buttons) {
      QMouseEvent event(type, at, canvas->mapToGlobal(at), button, buttons, Qt::NoModifier);
      QCoreApplication::sendEvent(canvas, &event);
    };
    switch (below(8)) {
      case 0:
        mouse(QEvent::MouseButtonPress, Qt::LeftButton, Qt::LeftButton);
        mouse(QEvent::MouseButtonRelease, Qt::LeftButton, Qt::NoButton);
        break;
      case 1:
      case 2:
        mouse(QEvent::MouseMove, Qt::NoButton, below(2) == 0 ? Qt::NoButton : Qt::LeftButton);
        break;
      case 3: {
        QWheelEvent wheel(at, canvas->mapToGlobal(at), {}, QPoint(0, below(2) == 0 ? 120 : -120), Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(canvas, &wheel);
        break;
      }
      case 4:
      case 5:
        press(canvas, kKeys[below(static_cast<int>(std::size(kKeys)))]);
        break;
      case 6:
        window_->studio().set_text(
            std::string(static_cast<std::size_t>(below(40)), static_cast<char>('a' + below(26))));
        break;
      default: {
        ViewState state = window_->studio().state();
        const auto& list = views::views();
        state.view = list[static_cast<std::size_t>(below(static_cast<int>(list.size())))]->info().name;
        state.difference = below(2) == 0;
        below(4) == 0 ? window_->studio().undo() : window_->studio().change(state);
      }
    }
    ++events;
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
  }
  EXPECT_GT(events, 20 * seconds);
  ASSERT_TRUE(settle());
  window_->studio().set_text("still here");
  ViewState state;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_NE(window_->studio().figure(), nullptr);
}

}  // namespace
}  // namespace locus::workbench
