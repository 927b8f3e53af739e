#include "app/workbench/input/token_strip.h"

#include <QContextMenuEvent>
#include <QHash>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "app/workbench/studio/token_words.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kPadding = 3;
constexpr int kGap = 2;
constexpr int kMargin = 4;
constexpr int kPositionDigits = 7;

}  // namespace

TokenStrip::TokenStrip(QWidget* parent) : QAbstractScrollArea(parent) {
  give_name(this, "token-strip", QStringLiteral("Tokens of the input; arrow keys choose the query"));
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  setMinimumHeight(row_height() + 2 * kMargin + 4);
  viewport()->setBackgroundRole(QPalette::Base);
}

void TokenStrip::set_trace(std::shared_ptr<const models::Trace> trace) {
  if (trace != trace_) {
    trace_ = std::move(trace);
    show_positions_ = false;
    const models::ImageGrid grid = trace_ ? trace_->image_grid() : models::ImageGrid();
    const auto before = grid.cls + grid.registers;  // a patch's position is its own number
    for (std::size_t n = 0; trace_ && n < trace_->tokens().size(); ++n) {
      const auto counted = std::max<std::int64_t>(static_cast<std::int64_t>(n) - before, 0);
      show_positions_ = show_positions_ || trace_->tokens()[n].position != static_cast<double>(counted);
    }
    beyond_ = trace_ ? views::beyond_trained(*trace_) : views::BeyondTrained();
    lay_out();
  }
}

bool TokenStrip::is_beyond(std::size_t token) const {
  return beyond_.trained > 0 && trace_->tokens()[token].position >= static_cast<double>(beyond_.trained);
}

void TokenStrip::set_pinned(std::int64_t token) {
  if (token != pinned_) {
    pinned_ = token;
    if (token >= 0 && token < static_cast<std::int64_t>(chips_.size()) && !viewport()->underMouse()) {
      show_token(token);
    }
    viewport()->update();
  }
}

void TokenStrip::set_pointed(std::int64_t query, std::int64_t key) {
  if (query == query_ && key == key_) {
    return;
  }
  query_ = query;
  key_ = key;
  if (query_ >= 0 && query_ < static_cast<std::int64_t>(chips_.size()) && !viewport()->underMouse()) {
    show_token(query_);
  }
  viewport()->update();
}

void TokenStrip::set_show_ids(bool show) {
  show_ids_ = show;
  lay_out();
}

int TokenStrip::row_height() const {
  return (show_positions_ ? 2 : 1) * fontMetrics().height() + 2 * kPadding;
}

QString TokenStrip::position_of(std::size_t token) const {
  return show_positions_ ? qt(general_text(trace_->tokens()[token].position, kPositionDigits)) : QString();
}

QString TokenStrip::text_of(std::size_t token) const {
  const models::TokenInfo& info = trace_->tokens()[token];
  const bool cell = std::ranges::any_of(trace_->images(), [token](const models::ImageSpan& image) {
    return image.holds(static_cast<std::int64_t>(token));
  });
  if (cell && !show_ids_) {
    return QStringLiteral("▦");  // its tooltip says which
  }
  // With ids, the bytes as they are.
  const std::string shown = show_ids_ ? info.label : shown_token(*trace_, static_cast<std::int64_t>(token));
  const QString label = shown.empty() ? QStringLiteral("∅") : qt(shown);
  return show_ids_ ? QStringLiteral("%1 %2").arg(label).arg(info.id) : label;
}

void TokenStrip::lay_out() {
  chips_.clear();
  rows_ = 0;
  if (trace_) {
    QHash<QString, int> widths;  // tokens repeat
    const int right = viewport()->width() - kMargin;
    int x = kMargin;
    int row = 0;
    for (std::size_t n = 0; n < trace_->tokens().size(); ++n) {
      const QString text = text_of(n);
      auto width = widths.find(text);
      if (width == widths.end()) {
        width = widths.insert(text, fontMetrics().horizontalAdvance(text) + 2 * kPadding);
      }
      const int below = fontMetrics().horizontalAdvance(position_of(n)) + 2 * kPadding;
      const int wide = std::max(*width, below);
      if (x + wide > right && x > kMargin) {
        x = kMargin;
        ++row;
      }
      chips_.push_back({row, x, wide});
      x += wide + kGap;
    }
    rows_ = row + 1;
  }
  const int content = rows_ * (row_height() + kGap) + 2 * kMargin;
  verticalScrollBar()->setRange(0, std::max(0, content - viewport()->height()));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(row_height());
  viewport()->update();
}

void TokenStrip::resizeEvent(QResizeEvent* /*event*/) {
  lay_out();
}

void TokenStrip::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  if (!trace_) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect(), Qt::AlignCenter, QStringLiteral("no tokens yet"));
    return;
  }
  const int offset = verticalScrollBar()->value();
  const int step = row_height() + kGap;
  const int first_row = std::max(0, (offset - kMargin) / step);
  const int last_row = (offset + viewport()->height()) / step;
  const auto begin = std::lower_bound(chips_.begin(), chips_.end(), first_row,
                                      [](const Chip& chip, int row) { return chip.row < row; });
  for (auto chip = begin; chip != chips_.end() && chip->row <= last_row; ++chip) {
    const auto n = static_cast<std::size_t>(chip - chips_.begin());
    const QRect box(chip->x, kMargin + chip->row * step - offset, chip->width, row_height());
    const bool special = trace_->tokens()[n].bytes.empty();
    const bool pinned = pinned_ == static_cast<std::int64_t>(n);
    QColor fill = palette().color(n % 2 == 0 ? QPalette::Button : QPalette::AlternateBase);
    if (pinned) {
      fill = palette().color(QPalette::Highlight);
    }
    painter.fillRect(box, fill);
    if (special) {
      painter.setPen(palette().color(QPalette::Link));
      painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
    if (is_beyond(n)) {  // underlined, and a bar where it begins
      QColor color = palette().color(QPalette::Link);
      painter.fillRect(QRect(box.left(), box.bottom() - 1, box.width() + kGap, 2), color);
      if (n == 0 || !is_beyond(n - 1)) {
        painter.fillRect(QRect(box.left() - kGap, box.top(), 2, box.height()), color);
      }
    }
    const auto token = static_cast<std::int64_t>(n);
    if (token == query_ || token == key_) {
      painter.setPen(QPen(palette().color(token == query_ ? QPalette::Highlight : QPalette::Link), 2));
      painter.drawRect(box.adjusted(1, 1, -1, -1));
    }
    painter.setPen(palette().color(pinned ? QPalette::HighlightedText : QPalette::Text));
    const QRect line(box.left() + kPadding, box.top() + kPadding, box.width() - kPadding, fontMetrics().height());
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, text_of(n));
    if (show_positions_) {
      painter.setPen(palette().color(pinned ? QPalette::HighlightedText : QPalette::PlaceholderText));
      painter.drawText(line.translated(0, line.height()), Qt::AlignLeft | Qt::AlignVCenter, position_of(n));
    }
  }
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
  }
}

std::int64_t TokenStrip::token_at(const QPoint& point) const {
  const int row = (point.y() + verticalScrollBar()->value() - kMargin) / (row_height() + kGap);
  const auto begin = std::lower_bound(chips_.begin(), chips_.end(), row,
                                      [](const Chip& chip, int wanted) { return chip.row < wanted; });
  for (auto chip = begin; chip != chips_.end() && chip->row == row; ++chip) {
    if (point.x() >= chip->x && point.x() < chip->x + chip->width) {
      return chip - chips_.begin();
    }
  }
  return -1;
}

void TokenStrip::mousePressEvent(QMouseEvent* event) {
  if (const std::int64_t token = token_at(event->pos()); token >= 0) {
    Q_EMIT clicked(token);
  }
}

void TokenStrip::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hovered(token_at(event->pos()));
}

void TokenStrip::leaveEvent(QEvent* event) {
  QAbstractScrollArea::leaveEvent(event);
  Q_EMIT hovered(-1);
}

std::int64_t TokenStrip::in_row(int row, int x) const {
  const auto begin = std::lower_bound(chips_.begin(), chips_.end(), std::clamp(row, 0, std::max(0, rows_ - 1)),
                                      [](const Chip& chip, int wanted) { return chip.row < wanted; });
  auto nearest = begin;
  for (auto chip = begin; chip != chips_.end() && chip->row == begin->row && chip->x <= x; ++chip) {
    nearest = chip;
  }
  return nearest - chips_.begin();
}

void TokenStrip::show_token(std::int64_t token) {
  const int top = kMargin + chips_[static_cast<std::size_t>(token)].row * (row_height() + kGap);
  QScrollBar& bar = *verticalScrollBar();
  const int bottom = top + row_height() + kMargin;
  bar.setValue(std::min(std::max(bar.value(), bottom - viewport()->height()), top - kMargin));
}

void TokenStrip::keyPressEvent(QKeyEvent* event) {
  const auto count = static_cast<std::int64_t>(chips_.size());
  if (event->key() == Qt::Key_Escape && pinned_ >= 0) {
    Q_EMIT chosen(-1);
    return;
  }
  if (count == 0) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  const bool any = pinned_ >= 0 && pinned_ < count;
  const Chip at = any ? chips_[static_cast<std::size_t>(pinned_)] : Chip{};
  std::int64_t next = 0;
  switch (event->key()) {
    case Qt::Key_Left:
      next = any ? std::max<std::int64_t>(0, pinned_ - 1) : count - 1;
      break;
    case Qt::Key_Right:
      next = any ? std::min(count - 1, pinned_ + 1) : 0;
      break;
    case Qt::Key_Up:
      next = in_row(at.row - 1, at.x);
      break;
    case Qt::Key_Down:
      next = in_row(at.row + 1, at.x);
      break;
    case Qt::Key_Home:
      break;
    case Qt::Key_End:
      next = count - 1;
      break;
    default:
      QAbstractScrollArea::keyPressEvent(event);
      return;
  }
  show_token(next);
  Q_EMIT chosen(next);
}

// By keys, of the pinned token.
void TokenStrip::contextMenuEvent(QContextMenuEvent* event) {
  const bool keys = event->reason() == QContextMenuEvent::Keyboard;
  const std::int64_t token = keys ? pinned_ : token_at(viewport()->mapFromGlobal(event->globalPos()));
  if (token >= 0 && token < static_cast<std::int64_t>(chips_.size())) {
    Q_EMIT menu_requested(token, event->globalPos());
  }
}

void TokenStrip::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void TokenStrip::focusOutEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusOutEvent(event);
  viewport()->update();
}

bool TokenStrip::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const std::int64_t token = token_at(help->pos());
    if (token < 0) {
      QToolTip::hideText();
      return true;
    }
    const models::TokenInfo& info = trace_->tokens()[static_cast<std::size_t>(token)];
    QString text = QStringLiteral("token %1: %2\nid %3, position %4")
                       .arg(token)
                       .arg(qt(info.label))
                       .arg(info.id)
                       .arg(info.position);
    text += info.bytes.empty() ? QStringLiteral("\nspecial: stands for no text")
                               : QStringLiteral("\nbytes %1 to %2").arg(info.bytes.begin).arg(info.bytes.end);
    if (is_beyond(static_cast<std::size_t>(token))) {
      text += QStringLiteral("\nbeyond the trained length of %1").arg(beyond_.trained);
    }
    QToolTip::showText(help->globalPos(), text, viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace locus::workbench
