// Gesture: combines related changes of the view's state, such as a drag or turns of the wheel, into one step for
// undo().
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

  // The state including changes that have not been applied yet.
  const session::ViewState& state() const { return wanted_ ? *wanted_ : studio_.state(); }
  // Applies a change in the next turn of the event loop, since it may be called during a frame. While a button is held,
  // and shortly after the last change, it extends the same step.
  void change(const session::ViewState& state);
  // Sets whether a button is held down on an instrument.
  void hold(bool held);
  // A head was clicked: head_clicked() follows once the changes are applied.
  void click_head();

 Q_SIGNALS:
  void head_clicked();

 private:
  void apply();

  Studio& studio_;
  std::optional<session::ViewState> wanted_;
  std::optional<session::ViewState> left_;  // state after the latest change
  QElapsedTimer since_;                     // since the latest change
  bool held_ = false;
  bool ended_ = true;
};

}  // namespace locus::workbench
