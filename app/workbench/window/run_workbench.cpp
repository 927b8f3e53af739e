#include <fcntl.h>
#include <unistd.h>

#include <QApplication>
#include <QIcon>
#include <QLocale>
#include <QLoggingCategory>
#include <QSocketNotifier>
#include <QTimer>
#include <QVulkanFunctions>
#include <QVulkanInstance>
#include <csignal>
#include <cstdint>
#include <optional>

#include "app/viewport/canvas.h"
#include "app/viewport/draw_promptly.h"
#include "app/workbench/window/main_window.h"
#include "app/workbench/window/run_workbench.h"
#include "core/base/numbers.h"
#include "core/base/version.h"
#include "models/api/machine.h"
#include "renderers/paper/qt_start.h"

namespace locus::workbench {

namespace {

Q_LOGGING_CATEGORY(kStart, "locus.start", QtWarningMsg)

// For who measures the start (QT_LOGGING_RULES="locus.start.debug=true"): when the window is shown, and when the
// first figure is on the canvas.
void report_first_figure(viewport::Canvas* canvas) {
  if (canvas == nullptr || !kStart().isDebugEnabled()) {
    return;
  }
  auto* once = new QObject(canvas);
  QObject::connect(canvas, &viewport::Canvas::frame_drawn, once, [canvas, once] {
    if (canvas->figure() != nullptr) {
      qCDebug(kStart, "first figure drawn");
      once->deleteLater();
    }
  });
}

// The initial paths are opened after the first frame: that loads LibTorch, and while it is loaded no driver
// can be.
void open_after_first_frame(MainWindow& window, bool drawn) {
  constexpr int kWaitMs = 500;  // a window that nobody sees has no frame
  auto* timer = new QTimer(&window);
  timer->setSingleShot(true);
  QObject::connect(timer, &QTimer::timeout, &window, [&window, timer] {
    timer->deleteLater();
    window.open_first();
  });
  if (drawn && window.canvas() != nullptr) {
    QObject::connect(window.canvas(), &viewport::Canvas::frame_drawn, timer, [timer] {
      if (timer->isActive()) {  // and not fired yet
        timer->start(0);
      }
    });
  }
  timer->start(drawn ? kWaitMs : 0);
}

// Without Qt's two lines of numbers where there is no driver, of which the program tells in one of its own.
bool create_quietly(QVulkanInstance& vulkan) {
  const QtMessageHandler before = qInstallMessageHandler(
      [](QtMsgType /*type*/, const QMessageLogContext& /*context*/, const QString& /*message*/) {});
  const bool created = vulkan.create();
  qInstallMessageHandler(before);
  return created;
}

// A driver may be installed for a device that the machine does not have.
bool has_device(QVulkanInstance& vulkan) {
  std::uint32_t count = 0;
  return vulkan.functions()->vkEnumeratePhysicalDevices(vulkan.vkInstance(), &count, nullptr) == VK_SUCCESS &&
         count > 0;
}

// SIGTERM, SIGINT and SIGHUP close the window without a question: the end of a desktop's session is no crash. A handler
// may do little more than write to a pipe.
int signal_pipe[2] = {-1, -1};

void handle_signal(int /*signal*/) {
  const char byte = 'e';
  [[maybe_unused]] const auto written = write(signal_pipe[1], &byte, 1);
}

void end_on_signals(MainWindow& window) {
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
    return;  // no descriptors left: signals keep their usual meaning
  }
  auto* notifier = new QSocketNotifier(signal_pipe[0], QSocketNotifier::Read, &window);
  QObject::connect(notifier, &QSocketNotifier::activated, &window, [&window, notifier] {
    notifier->setEnabled(false);
    for (QWidget* dialog : QApplication::topLevelWidgets()) {
      if (dialog != &window) {
        dialog->close();  // one that blocks the window too
      }
    }
    window.end();
    QCoreApplication::quit();
  });
  struct sigaction action {};
  action.sa_handler = handle_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the program at once
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace

int run_workbench(int& argc, char** argv, const WorkbenchOptions& options) {
  std::optional<paper::QtStart> start;
  start.emplace(
      "no window can be opened",
      "without one, locus info, run, figure, verify, train, evaluate and bench work, and locus --figures FOLDER "
      "draws a session (locus --help)",
      options.fail);
  viewport::draw_promptly();
  QApplication application(argc, argv);
  start.reset();
  use_plain_numbers();
  QLocale::setDefault(QLocale::c());  // what is typed and shown in fields has a decimal point
  QApplication::setApplicationName(QStringLiteral("Locus"));
  QApplication::setApplicationVersion(QString::fromUtf8(program_version()));
  QApplication::setWindowIcon(QIcon(QStringLiteral(":/desktop/locus-128.png")));
  QGuiApplication::setDesktopFileName(QStringLiteral("locus"));  // of the installed desktop file
  QVulkanInstance vulkan;
  const bool drawn = create_quietly(vulkan) && has_device(vulkan);
  if (!drawn) {
    options.warn(
        "no Vulkan driver was found, so the window draws no figures (Debian: mesa-vulkan-drivers is a software one); "
        "the command line works without one");
  }
  StudioOptions studio;
  studio.device = options.device;
  studio.memory_limit_mb = options.memory_limit_mb;
  MainWindow window(options, drawn ? &vulkan : nullptr, studio);
  report_first_figure(window.canvas());
  window.show();
  qCDebug(kStart, "window shown");
  open_after_first_frame(window, drawn);
  end_on_signals(window);
  models::never_wait_on_this_thread();
  return QApplication::exec();
}

}  // namespace locus::workbench
