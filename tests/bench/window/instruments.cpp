#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QTemporaryDir>
#include <QVulkanInstance>
#include <functional>
#include <string>
#include <vector>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/window/main_window.h"
#include "app/workbench/window/run_workbench.h"
#include "tests/bench/groups.h"
#include "tests/support/paths.h"

namespace locus::bench {
namespace {

constexpr double kFigureMs = 6;       // above an empty frame, as of frames without instruments
constexpr double kInstrumentsMs = 1;  // beyond that
constexpr int kFrameCount = 120;
constexpr int kWaitMs = 30'000;  // of any one wait

void wait(const std::function<bool()>& done, int limit_ms) {
  QElapsedTimer timer;
  timer.start();
  while (!done() && timer.elapsed() < limit_ms) {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
  }
}

// The median of the window's next frames, the pointer moving on the map.
double frame_ms(workbench::MainWindow& window) {
  viewport::Canvas* canvas = window.canvas();
  std::vector<double> frames;
  const auto listening =
      QObject::connect(canvas, &viewport::Canvas::frame_drawn, canvas, [&](double ms) { frames.push_back(ms); });
  for (int n = 0; n < kFrameCount; ++n) {
    const QPointF at(canvas->width() * (0.35 + 0.002 * n), canvas->height() * (0.4 + 0.002 * n));
    QMouseEvent move(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QCoreApplication::sendEvent(canvas, &move);
    const std::size_t before = frames.size();
    canvas->request_frames(1);
    wait([&] { return frames.size() > before; }, 1000);
  }
  QObject::disconnect(listening);
  return frames.empty() ? -1 : median(frames);
}

void press(QObject* receiver, int key) {
  QKeyEvent down(QEvent::KeyPress, key, Qt::NoModifier);
  QCoreApplication::sendEvent(receiver, &down);
}

}  // namespace

Status bench_instruments(Rig& rows) {
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
  auto* link = window.findChild<workbench::CanvasLink*>();
  link->instruments().set_hidden(true);
  wait([&] { return window.canvas()->isExposed(); }, kWaitMs);
  const double empty = frame_ms(window);

  window.open_path(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope");
  window.studio().inputs().set_text("ROMEO:\nMy name is Romeo; my name, my name is hateful to myself.\n");
  wait([&] { return window.studio().settled() && window.canvas()->figure() != nullptr; }, kWaitMs);
  const double plain = frame_ms(window);

  link->instruments().set_hidden(false);
  session::ViewState state = window.studio().state();
  state.camera = views::Camera{{0, 40}, {40, 0}};  // the minimap is there
  state.marks = {{{3, 9}, {5, 30}}, {{0, {2, 9}, {7, 20}}}};
  window.studio().change(state);
  for (const int key : {Qt::Key_P, Qt::Key_L, Qt::Key_F12, Qt::Key_H}) {
    press(window.canvas(), key);
  }
  wait([&] { return window.studio().settled(); }, kWaitMs);
  wait([] { return false; }, 1000);
  const double open = frame_ms(window);
  if (empty < 0 || open < 0) {
    return internal("the window drew no frame");
  }

  char note[160];
  std::snprintf(note, sizeof note, "without instruments %.2f ms; instruments alone %.2f ms", plain,
                link->instruments().cost().overlay_ms);
  rows.add({.name = "frame of the window, all instruments open",
            .value = open,
            .unit = "ms",
            .reference_name = "an empty frame of the window; target: that and 7 ms",
            .reference = empty,
            .bounds = Target::kValueAtMost,
            .target = empty + kFigureMs + kInstrumentsMs,
            .note = note});
  return {};
}

}  // namespace locus::bench
