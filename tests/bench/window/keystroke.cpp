#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QTextCursor>
#include <QThread>
#include <QVulkanDeviceFunctions>
#include <QVulkanInstance>
#include <QVulkanWindow>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/viewport/canvas.h"
#include "app/workbench/window/main_window.h"
#include "app/workbench/window/run_workbench.h"
#include "core/base/atomic_file.h"
#include "tests/bench/groups.h"
#include "tests/support/paths.h"

namespace locus::bench {
namespace {

constexpr int kKeystrokes = 24;
constexpr int kPatienceMs = 30'000;  // for any one figure
constexpr int kRestMs = 120;         // between keystrokes: a typist's, and the frames of the one before

// Of the tree: the program's own are found from where the program lies.
std::filesystem::path assets() {
  return std::filesystem::path(test::source_dir()) / "assets";
}

// The window with a checkpoint, and a text of so many tokens.
class KeystrokeRig {
 public:
  // A bundled session where no checkpoint is named.
  KeystrokeRig(QVulkanInstance& vulkan, const std::string& model) {
    workbench::WorkbenchOptions options;
    options.config_dir = config_.path().toStdString();
    window_ = std::make_unique<workbench::MainWindow>(options, &vulkan, workbench::StudioOptions{});
    window_->resize(1280, 800);
    window_->show();
    QObject::connect(window_->canvas(), &viewport::Canvas::frame_drawn, &receiver_, [this] {
      const auto columns = window_->studio().checkpoints().shown();  // none while they run
      if (awaited_ && !columns.empty() && columns.front()->trace != trace_ &&
          window_->studio().scheduler().figure() != before_) {
        const viewport::Canvas& canvas = *window_->canvas();
        canvas.vulkanInstance()->deviceFunctions(canvas.device())->vkDeviceWaitIdle(canvas.device());
        shown_ms_ = static_cast<double>(timer_.nsecsElapsed()) / 1e6;
        awaited_ = false;
      }
    });
    if (model.empty()) {
      window_->open_session(assets() / "sessions/first-light.locus.json");
    } else {
      window_->studio().inputs().set_text("a");
      window_->open_path(model);
    }
    settle();
  }
  bool opened() const { return !window_->studio().checkpoints().shown().empty(); }

  // False: the samples are too short.
  bool set_tokens(std::size_t wanted) {
    const auto model = window_->studio().checkpoints().shown().front()->model;
    const auto sample = read_file(assets() / "samples/held-out.txt", 1 << 20);
    if (!sample) {
      return false;
    }
    std::string text = *sample;
    const auto count = [&](std::size_t bytes) {
      models::Input input;
      input.text = text.substr(0, bytes);
      const auto tokens = model->tokenize(input);
      return tokens ? tokens->size() : std::size_t{0};
    };
    while (count(text.size()) < wanted) {
      text += text;
    }
    std::size_t low = 0;
    std::size_t high = text.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      count(middle) < wanted ? low = middle + 1 : high = middle;
    }
    window_->studio().inputs().set_text(text.substr(0, low));
    settle();
    return tokens() == wanted;
  }
  std::size_t tokens() const {
    return static_cast<std::size_t>(window_->studio().checkpoints().shown().front()->trace->length());
  }

  // Milliseconds from the key to the frame that shows its map, drawn to the end; the letters go `behind` characters
  // from the text's end, and are taken away again.
  std::vector<double> type(int behind) {
    auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"));
    QTextCursor cursor = editor->textCursor();
    cursor.movePosition(QTextCursor::End);
    cursor.movePosition(QTextCursor::Left, QTextCursor::MoveAnchor, behind);
    editor->setTextCursor(cursor);
    std::vector<double> times;
    for (int n = 0; n < kKeystrokes; ++n) {
      const bool back = n % 2 == 1;
      before_ = window_->studio().scheduler().figure();
      trace_ = window_->studio().checkpoints().shown().front()->trace;
      awaited_ = true;
      timer_.start();
      QKeyEvent down(QEvent::KeyPress, back ? Qt::Key_Backspace : Qt::Key_A, {},
                     back ? QString() : QStringLiteral("a"));
      QCoreApplication::sendEvent(editor, &down);
      while (awaited_ && timer_.elapsed() < kPatienceMs) {
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
      }
      times.push_back(awaited_ ? kPatienceMs : shown_ms_);
      run_ms_ = window_->studio().checkpoints().shown().front()->trace->time_ms();
      settle();
    }
    times.erase(times.begin(), times.begin() + 2);  // the pause before the first is what is not known yet
    return times;
  }
  double run_ms() const { return run_ms_; }

 private:
  void settle() {
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < kPatienceMs && (!window_->studio().settled() || timer.elapsed() < kRestMs)) {
      QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
      QThread::msleep(1);  // leaves the core to what is measured
    }
  }

  QTemporaryDir config_;
  std::unique_ptr<workbench::MainWindow> window_;
  std::shared_ptr<const figure::Figure> before_;
  std::shared_ptr<const models::Trace> trace_;
  bool awaited_ = false;
  double shown_ms_ = 0;
  double run_ms_ = 0;
  QElapsedTimer timer_;
  QObject receiver_;
};

Status bench_length(KeystrokeRig& rig, std::size_t tokens, double target_ms, const std::string& model, Rig& rows) {
  if (!rig.set_tokens(tokens)) {
    return internal("expected a text of " + std::to_string(tokens) + " tokens, found " + std::to_string(rig.tokens()));
  }
  const std::vector<double> end = rig.type(0);
  const double run_ms = rig.run_ms();
  char note[200];
  std::snprintf(note, sizeof note, "run %.1f ms, slowest of %zu %.0f ms; 60 characters before the end %.1f ms", run_ms,
                end.size(), *std::max_element(end.begin(), end.end()), median(rig.type(60)));
  rows.add(
      {.name = "a keystroke shown, at " + std::to_string(tokens) + " tokens" + (model.empty() ? "" : " of " + model),
       .value = median(end),
       .unit = "ms",
       .bounds = Target::kValueAtMost,
       .target = target_ms,
       .note = note});
  return {};
}

}  // namespace

Status bench_keystrokes(Rig& rows) {
  QVulkanInstance vulkan;
  if (!vulkan.create()) {
    return unsupported("no Vulkan driver (Debian: mesa-vulkan-drivers)");
  }
  {
    KeystrokeRig rig(vulkan, "");
    LOCUS_CHECK(bench_length(rig, 214, 16, "", rows));
    LOCUS_CHECK(bench_length(rig, 1024, 33, "", rows));
  }
  const std::filesystem::path model = rows.options().model;
  if (model.empty()) {
    return {};
  }
  KeystrokeRig rig(vulkan, model.string());
  if (!rig.opened()) {
    return bad_input("--model: " + model.string() + " was not opened");
  }
  return bench_length(rig, 800, 250, model.filename().string(), rows);
}

}  // namespace locus::bench
