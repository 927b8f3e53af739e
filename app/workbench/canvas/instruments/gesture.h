// Gesture: changes of the view's state that belong together, a drag or turns of the wheel, as one step for undo().
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <optional>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

class Gesture : public QObject {
  Q_OBJECT

 public:
  explicit Gesture(Studio& studio) : studio_(studio) {}

  // The state that is to be shown: now, or as it was left by changes that wait.
  const session::ViewState& state() const { return wanted_ ? *wanted_ : studio_.state(); }
  // Shows another one in a turn of the event loop: frames are drawn of what there is. While something is held, and
  // shortly after the last change, it goes on with that.
  void change(const session::ViewState& state);
  // A button is held down on an instrument, or has been released.
  void hold(bool held);

 private:
  void apply();

  Studio& studio_;
  std::optional<session::ViewState> wanted_;
  std::optional<session::ViewState> left_;  // by the latest change
  QElapsedTimer since_;                     // that
  bool held_ = false;
  bool ended_ = true;
};

}  // namespace locus::workbench
