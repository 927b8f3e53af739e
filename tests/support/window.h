// The real window on an X display of its own (Xvfb), driven by events. Tests are skipped only where there is neither
// Xvfb nor a display. Waits are as long as a slow machine may need; they end as soon as what they wait for is there.
#pragma once

#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include "app/workbench/window/main_window.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QKeyEvent>
#include <QLocale>
#include <QPixmap>
#include <QPlainTextEdit>
#include <QScreen>
#include <QTemporaryDir>
#include <QVulkanInstance>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/viewport/canvas.h"
#include "core/base/numbers.h"
#include "tests/support/display.h"
#include "tests/support/fake_model.h"
#include "tests/support/waits.h"

namespace locus::workbench {

using test::kLimitMs;
using test::kSlower;

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
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++ended;
    return cancelled();
  }

  static inline std::atomic<int> started = 0;
  static inline std::atomic<int> ended = 0;

 private:
  test::FakeModel model_{{}};
};

inline Result<std::shared_ptr<const models::Model>> open_fake(const std::filesystem::path& path,
                                                              const models::OpenOptions&, const StopToken&,
                                                              const Progress&) {
  const std::string name = path.filename().string();
  if (name == "broken") {
    return bad_input("expected a header of 120 bytes, found 8", path.string());
  }
  if (name == "endless") {
    return std::shared_ptr<const models::Model>(std::make_shared<EndlessModel>());
  }
  // Names alone open anywhere; whole paths must be there.
  if (path.has_parent_path() && !std::filesystem::exists(path)) {
    return bad_input("there is no such file or folder", path.string());
  }
  test::FakeShape shape;
  shape.name = name;
  shape.slope = name == "steep" ? 0.8 : 0.2;
  shape.bytes_per_token = name == "pairs" ? 2 : 1;  // another tokenizer
  shape.rows = name.starts_with("eyes") ? 3 : 0;
  shape.columns = name.starts_with("eyes") ? 5 : 0;
  return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
}

class WindowTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { start(QStringLiteral("1600x1000x24"), {}); }
  // A screen of that size, and device pixels a pixel of Qt's (empty: one).
  static void start(const QString& screen, const QByteArray& scale_factor) {
    display_ = test::start_display(screen);
    if (qEnvironmentVariableIsEmpty("DISPLAY")) {
      return;
    }
    qputenv("QT_QPA_PLATFORM", "xcb");
    qunsetenv("QT_SCALE_FACTOR");
    if (!scale_factor.isEmpty()) {
      qputenv("QT_SCALE_FACTOR", scale_factor);
    }
    qputenv("QT_FONT_DPI", "96");
    static int count = 1;
    static char name[] = "tests";
    static char* arguments[] = {name, nullptr};
    application_ = new QApplication(count, arguments);
    use_plain_numbers();
    QLocale::setDefault(QLocale::c());
    vulkan_ = new QVulkanInstance;
    has_vulkan_ = vulkan_->create();
  }
  static void TearDownTestSuite() {
    delete vulkan_;
    delete application_;
    display_.reset();
  }

  void SetUp() override {
    if (application_ == nullptr) {
      GTEST_SKIP() << "there is no X display and no Xvfb (Debian: xvfb)";
    }
    ASSERT_TRUE(has_vulkan_) << "no Vulkan driver: install mesa-vulkan-drivers";
    options_.config_dir = config_.path().toStdString();
    options_.ask = [this](const std::string& question, bool can_save) {
      questions_.push_back(question);
      return can_save ? answer_ : Answer::kDiscard;
    };
    make_window();
  }
  void TearDown() override { window_.reset(); }

  void make_window() {
    StudioOptions studio;
    studio.debounce_ms = 10;
    studio.step_ms = 1e-9;  // a picture a band
    studio.opener = opener_;
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
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
    session::CheckpointEntry entry;
    entry.path = name;
    window_->studio().column_actions().open(entry);
    ASSERT_TRUE(settle());
  }
  std::string title() {
    const auto& figure = window_->studio().scheduler().figure();
    return figure && !figure->panels.empty() ? figure->panels.front().title : "";
  }
  // Where a panel of the present figure is, once a frame has shown it.
  figure::PanelLayout place(std::size_t panel = 0) {
    const viewport::Canvas* const canvas = window_->canvas();
    const bool drawn = wait([&] { return canvas->layout_is_current() && canvas->layout()->panels.size() > panel; });
    EXPECT_TRUE(drawn) << "panel " << panel << " is not drawn";
    return drawn ? canvas->layout()->panels[panel] : figure::PanelLayout();
  }
  QImage grab() {
    wait([] { return false; }, 300);  // what was asked for is drawn
    // What the display shows: QVulkanWindow::grab() swaps red and blue on some drivers.
    const viewport::Canvas* canvas = window_->canvas();
    const QPixmap seen = canvas->screen()->grabWindow(canvas->winId(), 0, 0, canvas->width(), canvas->height());
    return seen.toImage().convertToFormat(QImage::Format_RGBA8888);
  }

  static inline std::unique_ptr<test::Display> display_;
  static inline QApplication* application_ = nullptr;
  static inline QVulkanInstance* vulkan_ = nullptr;
  static inline bool has_vulkan_ = false;
  QTemporaryDir config_;
  WorkbenchOptions options_;
  decltype(StudioOptions::opener) opener_ = open_fake;
  Answer answer_ = Answer::kDiscard;
  std::vector<std::string> questions_;  // that were answered
  std::unique_ptr<MainWindow> window_;
};

}  // namespace locus::workbench
