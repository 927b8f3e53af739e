#include "app/workbench/input/position_ruler.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/shared/plots/trained_length.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kRulerPadding = 3;
constexpr int kRulerMargin = 6;
constexpr int kRulerLines = 3;  // moved tokens, the others, ids
constexpr double kRulerLeast = 1.0 / 16;
constexpr double kRulerMost = 96;
constexpr double kRulerUsualLeast = 14;  // pixels an id, before the user chooses
constexpr double kRulerUsualMost = 44;

// 1, 2, 5, 10 …: the least that is at least `step`.
double round_step(double step) {
  double unit = 1;
  while (unit < step) {
    for (const double times : {2.0, 5.0, 10.0}) {
      if (unit * times >= step) {
        return unit * times;
      }
    }
    unit *= 10;
  }
  return unit;
}

constexpr double kRulerWheelStep = 1.2;

}  // namespace

PositionRuler::PositionRuler(QWidget* parent) : QAbstractScrollArea(parent) {
  give_name(this, "position-ruler",
            QStringLiteral("Tokens along their positions; Ctrl and arrow keys move the chosen one"));
  setFocusPolicy(Qt::StrongFocus);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  viewport()->setMouseTracking(true);
  viewport()->setBackgroundRole(QPalette::Base);
}

QSize PositionRuler::sizeHint() const {
  return {20 * fontMetrics().averageCharWidth(),
          kRulerLines * line() + 2 * kRulerPadding + horizontalScrollBar()->sizeHint().height()};
}

int PositionRuler::line() const {
  return fontMetrics().height() + kRulerPadding;
}

void PositionRuler::set_trace(std::shared_ptr<const models::Trace> trace, std::int64_t start) {
  if (pull_from_ || (trace == trace_ && start == start_)) {
    return;  // what is being pulled is ahead of the runs
  }
  trace_ = std::move(trace);
  const models::ImageGrid grid = trace_ ? trace_->image_grid() : models::ImageGrid();
  start_ = grid.rows > 0 ? 0 : start;
  before_ = grid.prefix();
  places_.clear();
  const std::int64_t end = grid.rows > 0 ? grid.patches().end : trace_ ? trace_->length() : 0;
  for (auto n = static_cast<std::size_t>(before_); n < static_cast<std::size_t>(end); ++n) {
    places_.push_back(trace_->tokens()[n].position);
  }
  marked_ = marked_.clamped({0, static_cast<std::int64_t>(places_.size())});
  measure();
}

void PositionRuler::set_editable(bool editable, const QString& why) {
  editable_ = editable;
  setToolTip(why);
}

void PositionRuler::measure() {
  const auto [least, largest] = std::minmax_element(places_.begin(), places_.end());
  const bool any = !places_.empty();
  low_ = any ? std::min(std::floor(*least), static_cast<double>(start_)) : 0;
  high_ = any ? std::ceil(*largest) : 1;
  if (!scaled_ && any) {
    double widths = 0;
    const std::size_t sample = std::min<std::size_t>(places_.size(), 64);
    for (std::size_t n = 0; n < sample; ++n) {
      widths += fontMetrics().horizontalAdvance(text_of(n)) + 2 * kRulerPadding;
    }
    const double whole = (viewport()->width() - 2 * kRulerMargin) / (high_ - low_ + 1);
    scale_ = std::clamp(std::max(widths / static_cast<double>(sample), whole), kRulerUsualLeast, kRulerUsualMost);
  }
  const int content = static_cast<int>((high_ - low_ + 1) * scale_) + 2 * kRulerMargin;
  horizontalScrollBar()->setRange(0, std::max(0, content - viewport()->width()));
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setSingleStep(std::max(1, static_cast<int>(scale_)));
  viewport()->update();
}

void PositionRuler::set_scale(double scale, int around) {
  const double fixed = position_at(around);
  scale_ = std::clamp(scale, kRulerLeast, kRulerMost);
  scaled_ = true;
  measure();
  horizontalScrollBar()->setValue(kRulerMargin + static_cast<int>((fixed - low_) * scale_) - around);
}

// ---- places

int PositionRuler::x_of(double position) const {
  return kRulerMargin + static_cast<int>(std::lround((position - low_) * scale_)) - horizontalScrollBar()->value();
}

double PositionRuler::position_at(int x) const {
  return low_ + (x + horizontalScrollBar()->value() - kRulerMargin) / scale_;
}

double PositionRuler::place(std::size_t token) const {
  return places_[token] + (pull_from_ && pulled_.contains(static_cast<std::int64_t>(token)) ? by_ : 0);
}

// Ids below 0 are nobody's; an image has no patches beyond its last.
double PositionRuler::step_within(double by) const {
  const auto first = places_.begin() + pulled_.begin;
  const auto [least, largest] = std::minmax_element(first, places_.begin() + pulled_.end);
  const double most = trace_ && trace_->image_grid().rows > 0 ? static_cast<double>(places_.size()) - 1 - *largest
                                                              : std::numeric_limits<double>::infinity();
  return std::clamp(by, std::min(-std::floor(*least), 0.0), std::max(most, 0.0));
}

bool PositionRuler::is_moved(std::size_t token) const {
  return place(token) != static_cast<double>(start_) + static_cast<double>(token);
}

QString PositionRuler::text_of(std::size_t token) const {
  const std::string shown = shown_token(*trace_, before_ + static_cast<std::int64_t>(token));
  return shown.empty() ? QStringLiteral("∅") : qt(shown);
}

QRect PositionRuler::box_of(std::size_t token) const {
  const int width = std::max(2, static_cast<int>(scale_) - 1);
  const int top = kRulerPadding + (is_moved(token) ? 0 : line());
  return {x_of(place(token)), top, width, line() - 1};
}

QPoint PositionRuler::place_of(std::int64_t token) const {
  return box_of(static_cast<std::size_t>(token)).center();
}

std::int64_t PositionRuler::token_at(const QPoint& point) const {
  for (std::size_t n = places_.size(); n-- > 0;) {  // what is drawn last is hit first
    if (box_of(n).contains(point)) {
      return static_cast<std::int64_t>(n);
    }
  }
  return -1;
}

Range PositionRuler::with_rest(std::int64_t token) const {
  return {token, static_cast<std::int64_t>(places_.size())};
}

// ---- drawing

void PositionRuler::resizeEvent(QResizeEvent* /*event*/) {
  measure();
}

void PositionRuler::paint_ids(QPainter& painter) const {
  const QString widest = qt(general_text(high_, 6));
  const double step = round_step((fontMetrics().horizontalAdvance(widest) + 2 * kRulerPadding) / scale_);
  const int top = kRulerPadding + 2 * line();
  const double first = std::max(std::ceil(low_ / step), std::floor(position_at(0) / step)) * step;
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawLine(0, top, viewport()->width(), top);
  for (double id = first; x_of(id) < viewport()->width(); id += step) {
    const int middle = x_of(id) + static_cast<int>(scale_ / 2);
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawLine(middle, top, middle, top + kRulerPadding);
    painter.setPen(palette().color(QPalette::Text));
    const int half = fontMetrics().horizontalAdvance(widest) / 2 + kRulerPadding;
    painter.drawText(QRect(middle - half, top + kRulerPadding, 2 * half, fontMetrics().height()), Qt::AlignCenter,
                     qt(general_text(id, 6)));
  }
}

// A line before the first id that was not seen in training.
void PositionRuler::paint_trained(QPainter& painter) const {
  const std::int64_t trained = trace_ ? views::beyond_trained(*trace_).trained : 0;
  if (trained <= 0 || static_cast<double>(trained) < low_ || static_cast<double>(trained) > high_) {
    return;
  }
  const int x = x_of(static_cast<double>(trained)) - 1;
  painter.setPen(QPen(palette().color(QPalette::Link), 2));
  painter.drawLine(x, 0, x, kRulerLines * line());
  const QString text = QStringLiteral("trained length %1").arg(trained);
  const int width = fontMetrics().horizontalAdvance(text);
  const bool before = x - width - 2 * kRulerPadding > 0;
  painter.drawText(QRect(before ? x - width - kRulerPadding : x + 2 * kRulerPadding, kRulerPadding, width + 1,
                         fontMetrics().height()),
                   Qt::AlignLeft | Qt::AlignVCenter, text);
}

void PositionRuler::paint_token(QPainter& painter, std::size_t token) const {
  const QRect box = box_of(token);
  if (box.right() < 0 || box.left() > viewport()->width()) {
    return;
  }
  const auto n = static_cast<std::int64_t>(token);
  const bool chosen = marked_.contains(n) || (pull_from_ && pulled_.contains(n));
  const QColor fill = palette().color(chosen            ? QPalette::Highlight
                                      : is_moved(token) ? QPalette::Link
                                      : token % 2 == 0  ? QPalette::Button
                                                        : QPalette::AlternateBase);
  painter.fillRect(box, fill);
  if (is_moved(token)) {  // where it came from
    const int home = x_of(static_cast<double>(start_) + static_cast<double>(token)) + box.width() / 2;
    painter.setPen(QPen(palette().color(QPalette::Mid), 1, Qt::DotLine));
    painter.drawLine(box.center().x(), box.bottom(), home, kRulerPadding + 2 * line() - 1);
  }
  const QString text = text_of(token);
  if (fontMetrics().horizontalAdvance(text) <= box.width() || box.width() > 2 * fontMetrics().averageCharWidth()) {
    painter.setPen(palette().color(chosen || is_moved(token) ? QPalette::HighlightedText : QPalette::Text));
    painter.drawText(box, Qt::AlignCenter, fontMetrics().elidedText(text, Qt::ElideRight, box.width()));
  }
}

void PositionRuler::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  if (places_.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect(), Qt::AlignCenter, QStringLiteral("no tokens yet"));
    return;
  }
  paint_ids(painter);
  for (std::size_t n = 0; n < places_.size(); ++n) {
    paint_token(painter, n);
  }
  paint_trained(painter);
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
  }
}

// ---- events

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
    text += editable_ ? QStringLiteral("\nDrag to move it; with Shift also all later tokens") : "\n" + toolTip();
  }
  QToolTip::showText(help->globalPos(), text, viewport());
  return true;
}

}  // namespace locus::workbench
