#include "app/workbench/input/position_ruler.h"

#include <QPainter>
#include <QScrollBar>
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
  before_ = grid.rows > 0 ? grid.cls + grid.registers : 0;
  places_.clear();
  for (auto n = static_cast<std::size_t>(before_); trace_ && n < trace_->tokens().size(); ++n) {
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

}  // namespace locus::workbench
