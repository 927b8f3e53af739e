// What the user does to the PositionRuler: mouse, wheel and keyboard.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/workbench/input/position_ruler.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr double kRulerWheelStep = 1.2;

}  // namespace

void PositionRuler::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || places_.empty()) {
    return;
  }
  const std::int64_t token = token_at(event->pos());
  if (token < 0) {
    mark_from_ = event->pos().x();
    marked_ = {};
  } else {
    if (!marked_.contains(token)) {
      marked_ = {token, token + 1};
    }
    if (editable_) {
      pulled_ = event->modifiers().testFlag(Qt::ShiftModifier) ? with_rest(marked_.begin) : marked_;
      pull_from_ = event->pos().x();
      by_ = 0;
      Q_EMIT begun();
    }
  }
  viewport()->update();
}

void PositionRuler::mouseMoveEvent(QMouseEvent* event) {
  const int x = event->pos().x();
  if (pull_from_) {
    const double by = step_within(std::round((x - *pull_from_) / scale_));
    if (by != by_) {
      by_ = by;
      Q_EMIT moved(pulled_, by_);
      viewport()->update();
    }
  } else if (mark_from_) {
    const double from = position_at(std::min(x, *mark_from_));
    const double to = position_at(std::max(x, *mark_from_));
    marked_ = {};
    for (std::size_t n = 0; n < places_.size(); ++n) {
      if (places_[n] + 1 > from && places_[n] < to) {
        const auto token = static_cast<std::int64_t>(n);
        marked_ = marked_.empty() ? Range{token, token + 1} : Range{marked_.begin, token + 1};
      }
    }
    viewport()->update();
  }
}

void PositionRuler::mouseReleaseEvent(QMouseEvent* event) {
  mark_from_.reset();
  if (event->button() != Qt::LeftButton || !pull_from_) {
    return;
  }
  for (std::int64_t n = pulled_.begin; n < pulled_.end; ++n) {
    places_[static_cast<std::size_t>(n)] += by_;
  }
  pull_from_.reset();
  measure();
  Q_EMIT ended();
}

void PositionRuler::wheelEvent(QWheelEvent* event) {
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    set_scale(scale_ * std::pow(kRulerWheelStep, event->angleDelta().y() / 120.0),
              static_cast<int>(event->position().x()));
  } else {
    QScrollBar& bar = *horizontalScrollBar();
    bar.setValue(bar.value() - event->angleDelta().y() - event->angleDelta().x());
  }
}

void PositionRuler::move_by_key(int by, bool with_rest_too) {
  pulled_ = marked_.empty() || !with_rest_too ? marked_ : with_rest(marked_.begin);
  if (!editable_ || pulled_.empty() || step_within(by) != by) {
    return;
  }
  const Range tokens = pulled_;
  Q_EMIT begun();
  for (std::int64_t n = tokens.begin; n < tokens.end; ++n) {
    places_[static_cast<std::size_t>(n)] += by;
  }
  Q_EMIT moved(tokens, by);
  Q_EMIT ended();
  measure();
}

void PositionRuler::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  const auto count = static_cast<std::int64_t>(places_.size());
  if (by == 0 || count == 0) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    move_by_key(by, event->modifiers().testFlag(Qt::ShiftModifier));
    return;
  }
  const std::int64_t next = marked_.empty() ? 0 : std::clamp<std::int64_t>(marked_.begin + by, 0, count - 1);
  marked_ = {next, next + 1};
  const int x = x_of(places_[static_cast<std::size_t>(next)]);
  if (x < 0 || x + static_cast<int>(scale_) > viewport()->width()) {
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + x - viewport()->width() / 2);
  }
  viewport()->update();
}

void PositionRuler::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void PositionRuler::focusOutEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusOutEvent(event);
  viewport()->update();
}

bool PositionRuler::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) {
    return QAbstractScrollArea::viewportEvent(event);
  }
  const auto* help = static_cast<QHelpEvent*>(event);
  const std::int64_t token = token_at(help->pos());
  QString text = toolTip();
  if (token >= 0) {
    const auto n = static_cast<std::size_t>(token);
    text = QStringLiteral("token %1 “%2” at position %3").arg(token).arg(text_of(n), qt(general_text(place(n), 9)));
    text += editable_ ? QStringLiteral("\nPull it elsewhere; with Shift, it and all after it") : "\n" + toolTip();
  }
  QToolTip::showText(help->globalPos(), text, viewport());
  return true;
}

}  // namespace locus::workbench
