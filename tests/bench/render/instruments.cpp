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
#include "tests/bench/render/groups.h"
#include "tests/bench/rows.h"
#include "tests/support/paths.h"

namespace locus::bench {
namespace {

using models::BenchRow;
using models::BenchTarget;

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

void bench_instruments(const Print& print) {
  QVulkanInstance vulkan;
  if (!vulkan.create()) {
    std::fprintf(stderr, "no Vulkan driver (Debian: mesa-vulkan-drivers)\n");
    return;
  }
  QTemporaryDir config;
  workbench::WorkbenchOptions options;
  options.config_dir = config.path().toStdString();
  workbench::MainWindow window(options, &vulkan, {});
  window.resize(1280, 800);
  window.show();
  auto* link = window.findChild<workbench::CanvasLink*>();
  link->set_instruments(false);
  wait([&] { return window.canvas()->isExposed(); }, kWaitMs);
  const double empty = frame_ms(window);

  window.open_path(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope");
  window.studio().set_text("ROMEO:\nMy name is Romeo; my name, my name is hateful to myself.\n");
  wait([&] { return window.studio().settled() && window.canvas()->figure() != nullptr; }, kWaitMs);
  const double plain = frame_ms(window);

  link->set_instruments(true);
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

  BenchRow row;
  row.name = "frame of the window, all instruments open";
  row.value = open;
  row.unit = "ms";
  row.reference_name = "an empty frame of the window; target: that and 7 ms";
  row.reference = empty;
  row.ratio = open / empty;
  row.bounds = BenchTarget::kValueAtMost;
  row.target = empty + kFigureMs + kInstrumentsMs;
  row.met = open > 0 && open <= row.target;
  char note[160];
  std::snprintf(note, sizeof note, "without instruments %.2f ms; instruments alone %.2f ms", plain,
                link->instruments().cost().overlay_ms);
  row.note = note;
  print(row);
}

}  // namespace locus::bench
