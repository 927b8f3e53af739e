#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>
#include <QVulkanInstance>
#include <QWheelEvent>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "app/viewport/canvas.h"
#include "app/workbench/window/main_window.h"
#include "app/workbench/window/run_workbench.h"
#include "tests/bench/groups.h"
#include "tests/support/paths.h"

namespace locus::bench {
namespace {

constexpr double kStartMs = 1500;
constexpr double kAfterWindowMs = 500;  // after the window
constexpr double kWindowBlockedMs = 50;
constexpr int kLimitMs = 30'000;  // of any one wait
constexpr int kPulseMs = 2;

struct StartTimes {
  double window_ms = 0;  // the window is shown
  double figure_ms = 0;  // its first figure is on the canvas
};

// From starting the program with a checkpoint and a text. Without them, the page to start from is before the canvas.
Result<StartTimes> start_times() {
  QTemporaryDir config;
  QProcess program;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("QT_LOGGING_RULES"), QStringLiteral("locus.start.debug=true"));
  environment.insert(QStringLiteral("QT_MESSAGE_PATTERN"), QStringLiteral("%{message}"));
  program.setProcessEnvironment(environment);
  program.setProcessChannelMode(QProcess::MergedChannels);
  QElapsedTimer timer;
  timer.start();
  program.start(QString::fromStdString(test::binary()),
                {QStringLiteral("--config-dir"), config.path(),
                 QString::fromStdString(test::source_dir() + "/assets/checkpoints/text-rope"),
                 QString::fromStdString(test::source_dir() + "/assets/samples/repetition.txt")});
  StartTimes found;
  QByteArray said;
  const auto note = [&](double& time, const char* line) {
    if (time == 0 && said.contains(line)) {
      time = static_cast<double>(timer.nsecsElapsed()) / 1e6;
    }
  };
  while (found.figure_ms == 0 && timer.elapsed() < kLimitMs && program.waitForReadyRead(kLimitMs)) {
    said += program.readAll();
    note(found.window_ms, "window shown");
    note(found.figure_ms, "first figure drawn");
  }
  program.terminate();
  program.waitForFinished(kLimitMs);
  if (found.figure_ms == 0) {
    return internal("the program drew no figure: " + said.toStdString());
  }
  return found;
}

Status bench_start(Rig& rows) {
  LOCUS_CHECK(start_times());  // its files are in memory from here on
  std::vector<double> from_start;
  std::vector<double> from_window;
  for (int n = 0; n < 5; ++n) {
    LOCUS_TRY(const StartTimes times, start_times());
    from_start.push_back(times.figure_ms);
    from_window.push_back(times.figure_ms - times.window_ms);
  }
  const std::string note = "a bundled checkpoint and a text, an empty settings folder";
  rows.add({.name = "first figure on the canvas after the program's start",
            .value = median(from_start),
            .unit = "ms",
            .bounds = Target::kValueAtMost,
            .target = kStartMs,
            .note = note});
  rows.add({.name = "first figure on the canvas after the window",
            .value = median(from_window),
            .unit = "ms",
            .bounds = Target::kValueAtMost,
            .target = kAfterWindowMs,
            .note = note});
  return {};
}

// Watches the event loop: how long apart its turns are.
class Pulse : public QObject {
 public:
  Pulse() {
    timer_.setTimerType(Qt::PreciseTimer);
    timer_.setInterval(kPulseMs);
    connect(&timer_, &QTimer::timeout, this, [this] {
      const double gap = static_cast<double>(since_.nsecsElapsed()) / 1e6;
      since_.restart();
      gaps_.push_back(gap);
      if (gap > worst_) {
        worst_ = gap;
        worst_step_ = step_;
      }
    });
    since_.start();
    timer_.start();
  }
  void set_step(std::string step) { step_ = std::move(step); }

  // The gap that 99 % of all moments are below: a gap counts as long as it lasts.
  double percentile(double share) const {
    std::vector<double> sorted = gaps_;
    std::sort(sorted.begin(), sorted.end());
    double all = 0;
    for (const double gap : sorted) {
      all += gap;
    }
    double sum = 0;
    for (const double gap : sorted) {
      sum += gap;
      if (sum >= share * all) {
        return gap;
      }
    }
    return 0;
  }
  double worst() const { return worst_; }
  const std::string& worst_step() const { return worst_step_; }

 private:
  QTimer timer_;
  QElapsedTimer since_;
  std::vector<double> gaps_;
  double worst_ = 0;
  std::string step_;
  std::string worst_step_;
};

// What a user does in a minute, as fast as the window lets it.
class Journey {
 public:
  Journey(workbench::MainWindow& window, Pulse& pulse) : window_(window), pulse_(pulse) {}

  void run() {
    step("open the session", [&] {
      window_.open_session(std::filesystem::path(test::source_dir()) / "assets/sessions/first-light.locus.json");
    });
    for (const char letter : std::string("Once upon a time")) {
      auto* editor = window_.findChild<QPlainTextEdit*>(QStringLiteral("editor"));
      pulse_.set_step("type");
      press(editor, Qt::Key_unknown, QString(QLatin1Char(letter)));
      wait(30);
    }
    step("typed", [] {});
    for (int n = 0; n < 6; ++n) {
      step("another head", [&] { press(window_.canvas(), n % 2 == 0 ? Qt::Key_Right : Qt::Key_Down); });
    }
    wheel();
    for (const session::Bookmark& bookmark : window_.studio().sessions().document().figures()) {
      step("bookmark " + bookmark.name, [&] { window_.studio().sessions().show(bookmark); });
    }
    for (const views::View* view : views::views()) {
      step("view " + view->info().name, [&] {
        session::ViewState state = window_.studio().state();
        state.view = view->info().name;
        window_.studio().change(state);
      });
    }
  }

 private:
  static void press(QObject* receiver, int key, const QString& text = {}) {
    QKeyEvent down(QEvent::KeyPress, key, {}, text);
    QCoreApplication::sendEvent(receiver, &down);
    QKeyEvent up(QEvent::KeyRelease, key, {}, text);
    QCoreApplication::sendEvent(receiver, &up);
  }
  static void wait(int ms) {
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < ms) {
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
  }
  void step(const std::string& name, const std::function<void()>& act) {
    pulse_.set_step(name);
    act();
    QElapsedTimer timer;
    timer.start();
    while (!window_.studio().settled() && timer.elapsed() < kLimitMs) {
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    wait(60);  // its frames
  }
  void wheel() {
    viewport::Canvas* canvas = window_.canvas();
    pulse_.set_step("zoom");
    for (int n = 0; n < 30; ++n) {
      const QPointF at(canvas->width() * 0.45, canvas->height() * 0.4);
      QWheelEvent event(at, canvas->mapToGlobal(at), {}, QPoint(0, n < 20 ? 120 : -120), Qt::NoButton, Qt::NoModifier,
                        Qt::NoScrollPhase, false);
      QCoreApplication::sendEvent(canvas, &event);
      wait(16);
    }
  }

  workbench::MainWindow& window_;
  Pulse& pulse_;
};

Status bench_blocked(Rig& rows) {
  QVulkanInstance vulkan;
  if (!vulkan.create()) {
    return unsupported("no Vulkan driver (Debian: mesa-vulkan-drivers)");
  }
  QTemporaryDir config;
  workbench::WorkbenchOptions options;
  options.config_dir = config.path().toStdString();
  workbench::MainWindow window(options, &vulkan, {});
  window.resize(1280, 800);
  window.show();
  Pulse pulse;
  std::vector<double> frames;
  QObject::connect(window.canvas(), &viewport::Canvas::frame_drawn, &pulse, [&](double ms) { frames.push_back(ms); });
  Journey(window, pulse).run();
  char note[200];
  std::snprintf(note, sizeof note,
                "p50 %.1f ms, longest %.0f ms (%s); %zu frames, median %.1f ms of the window's thread",
                pulse.percentile(0.5), pulse.worst(), pulse.worst_step().c_str(), frames.size(), median(frames));
  rows.add({.name = "the window does not answer, p99 of all moments of a journey",
            .value = pulse.percentile(0.99),
            .unit = "ms",
            .bounds = Target::kValueAtMost,
            .target = kWindowBlockedMs,
            .note = note});
  return {};
}

}  // namespace

Status bench_window(Rig& rows) {
  LOCUS_CHECK(bench_start(rows));
  return bench_blocked(rows);
}

}  // namespace locus::bench
