#include "app/workbench/canvas/instruments/gesture.h"

#include <QTimer>
#include <utility>

namespace locus::workbench {

namespace {

constexpr qint64 kRestMs = 700;  // without a change: the next one is another step

}  // namespace

void Gesture::change(const session::ViewState& state) {
  if (state == this->state()) {
    return;
  }
  if (!wanted_) {
    QTimer::singleShot(0, this, &Gesture::apply);
  }
  wanted_ = state;
}

void Gesture::hold(bool held) {
  if (held && !held_) {
    ended_ = true;  // another drag
  }
  held_ = held;
}

void Gesture::click_head() {
  QTimer::singleShot(0, this, &Gesture::head_clicked);
}

void Gesture::apply() {
  const session::ViewState next = *std::exchange(wanted_, std::nullopt);
  const bool recent = held_ || (since_.isValid() && since_.elapsed() < kRestMs);
  if (!ended_ && recent && left_ && *left_ == studio_.state()) {
    studio_.amend(next);
  } else {
    studio_.change(next);
  }
  ended_ = false;
  left_ = studio_.state();
  since_.start();
}

}  // namespace locus::workbench
