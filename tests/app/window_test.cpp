// The real window on an X display of its own (Xvfb), driven by events. Skipped only where there is neither Xvfb nor a
// display. Waits are as long as a slow machine may need; they end as soon as what they wait for is there.
#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include "app/workbench/main_window.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QKeyEvent>
#include <QPixmap>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QScreen>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QVulkanInstance>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/viewport/canvas.h"
#include "app/workbench/export.h"
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
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(1ms);
    }
    return cancelled();
  }

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
  return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
}

class Window : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    start_display();
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

  // Xvfb chooses a free number and writes it to its standard output.
  static void start_display() {
    const QString server = QStandardPaths::findExecutable(QStringLiteral("Xvfb"));
    if (server.isEmpty()) {
      return;
    }
    display_ = std::make_unique<QProcess>();
    display_->start(server,
                    {QStringLiteral("-displayfd"), QStringLiteral("1"), QStringLiteral("-screen"), QStringLiteral("0"),
                     QStringLiteral("1600x1000x24"), QStringLiteral("-nolisten"), QStringLiteral("tcp")});
    QByteArray number;
    while (!number.endsWith('\n') && display_->waitForReadyRead(kLimitMs)) {
      number += display_->readAllStandardOutput();
    }
    if (number.endsWith('\n')) {
      qputenv("DISPLAY", ":" + number.trimmed());
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
  const Status written = write_figure(window_->studio(), file, 84, 300, false);
  ASSERT_TRUE(written.ok()) << written.error().describe();
  EXPECT_GT(std::filesystem::file_size(file), 1000U);
}

}  // namespace
}  // namespace locus::workbench
