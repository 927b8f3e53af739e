// LiveInput: the input of the models and the time to run it: a typed text runs at once if figures are faster than
// keystrokes, and otherwise after a pause in typing.
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
  // Figures faster than this, from run to figure, need no pause: few people type ten characters per second.
  static constexpr double kQuickMs = 100;

  // `debounce_ms`: length of the pause, used while figures are slower or their time is unknown.
  explicit LiveInput(int debounce_ms);

  const models::Input& value() const { return value_; }
  bool empty() const;
  // Sets a typed text: due() follows in the next turn of the event loop or, if figures are slow, after a pause. The
  // same text does nothing.
  void type(const std::string& text);
  // The same for an input of which another part is typed.
  void type(const models::Input& input);
  // Sets another input; due() follows at once.
  void set(const models::Input& input);
  // Sets another input without due(): the caller runs it.
  void put(const models::Input& input);
  // Ends a pause: flush() runs the typed text now, forget() drops the run.
  void flush();
  void forget() { debounce_.stop(); }
  bool waiting() const { return debounce_.isActive(); }

  // Time since the input changed; call it when a figure is there. Empty on further calls for the same change, and while
  // the input waits to run.
  std::optional<double> take_elapsed_ms();

 Q_SIGNALS:
  void changed();
  void due();

 private:
  void start_watch();

  models::Input value_;
  std::vector<std::filesystem::path> removed_;  // pictures whose markers were deleted, newest last
  QTimer debounce_;
  const int pause_ms_;
  QElapsedTimer since_;
  bool measuring_ = false;
  int waited_ms_ = 0;          // length of the pause before the measured run
  double took_ms_ = kQuickMs;  // from run to figure, of the latest input
};

}  // namespace locus::workbench
