// LiveInput: what the models run on, and when: a text that is being typed runs at once where its figure is there before
// the next keystroke, and otherwise once its typist pauses.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/api/model.h"

namespace locus::workbench {

class LiveInput : public QObject {
  Q_OBJECT

 public:
  // What shows faster than this, from the run to the figure, needs no pause: nobody types ten characters a second.
  static constexpr double kQuickMs = 100;

  // `debounce_ms`: the pause, while a figure takes longer or it is not known yet how long.
  explicit LiveInput(int debounce_ms);

  const models::Input& value() const { return value_; }
  bool empty() const;
  // A text typed: due() follows in the next turn of the event loop or, where figures are slow, when nothing more is
  // typed for a while. The same text does nothing.
  void type(const std::string& text);
  // The same of any input whose parts are typed.
  void type(const models::Input& input);
  // Another input: due() follows at once.
  void set(const models::Input& input);
  // Another input that something else will run.
  void put(const models::Input& input);
  // What was typed runs now, or never.
  void flush();
  void forget() { debounce_.stop(); }
  bool waiting() const { return debounce_.isActive(); }

  // The time since the input changed, once for each change: call it when a figure is there. Empty while the input waits
  // to run: that figure is of another.
  std::optional<double> take_elapsed_ms();

 Q_SIGNALS:
  void changed();
  void due();

 private:
  void start_watch();

  models::Input value_;
  std::vector<std::filesystem::path> removed_;  // pictures whose marks were deleted, the latest last
  QTimer debounce_;
  const int pause_ms_;
  QElapsedTimer since_;
  bool measuring_ = false;
  int waited_ms_ = 0;          // of what is being measured
  double took_ms_ = kQuickMs;  // the latest figure of an input, without the pause before it
};

}  // namespace locus::workbench
