#include "app/workbench/input/token_strip.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "app/workbench/input/strip_spacing.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

QImage image_of(const models::Picture& picture) {
  if (picture.rgba == nullptr || picture.width < 1 || picture.height < 1) {
    return {};
  }
  const auto width = static_cast<int>(picture.width);
  return QImage(picture.rgba->data(), width, static_cast<int>(picture.height), 4 * width, QImage::Format_RGBA8888)
      .copy();
}

}  // namespace

TokenStrip::TokenStrip(QWidget* parent) : QAbstractScrollArea(parent) {
  give_name(this, "token-strip", QStringLiteral("Tokens of the input; arrow keys choose the query"));
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  lay_out();
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
    pictures_.clear();
    for (const models::Picture& picture : trace_ ? trace_->pictures() : std::vector<models::Picture>()) {
      pictures_.push_back(image_of(picture));
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
    if (chips_.of(token) != nullptr && !viewport()->underMouse()) {
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
  if (chips_.of(query_) != nullptr && !viewport()->underMouse()) {
    show_token(query_);
  }
  viewport()->update();
}

void TokenStrip::set_show_ids(bool show) {
  show_ids_ = show;
  lay_out();
}

void TokenStrip::lay_out() {
  chips_.clear();
  if (trace_) {
    chips_.lay_out(
        *trace_, open_, [this](const TokenChip& chip) { return width_of(chip); }, kStripMargin,
        viewport()->width() - kStripMargin, kChipGap);
  }
  const int step = row_height() + kChipGap;
  const int content = chips_.rows() * step - kChipGap + 2 * kStripMargin;
  verticalScrollBar()->setRange(0, std::max(0, content - viewport()->height()));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(step);
  // One row is whole, also with positions below.
  setMinimumHeight(row_height() + 2 * kStripMargin + 2 * frameWidth());
  viewport()->update();
}

void TokenStrip::toggle_picture(int picture) {
  if (open_.erase(picture) == 0) {
    open_.insert(picture);
  }
  lay_out();
}

void TokenStrip::toggle_by_key() {
  const int own = pinned_ >= 0 && pinned_ < trace_->length() ? picture_of(pinned_) : -1;
  if (own >= 0) {
    toggle_picture(own);
    return;
  }
  const bool open = open_.empty();
  open_.clear();
  for (int n = 0; open && n < static_cast<int>(trace_->images().size()); ++n) {
    open_.insert(n);
  }
  lay_out();
}

void TokenStrip::resizeEvent(QResizeEvent* /*event*/) {
  lay_out();
}

const TokenChip* TokenStrip::chip_at(const QPoint& point) const {
  return chips_.at((point.y() + verticalScrollBar()->value() - kStripMargin) / (row_height() + kChipGap), point.x());
}

std::int64_t TokenStrip::token_at(const QPoint& point) const {
  const TokenChip* const chip = chip_at(point);
  return chip == nullptr || chip->picture >= 0 ? -1 : chip->token;
}

void TokenStrip::mousePressEvent(QMouseEvent* event) {
  const TokenChip* const chip = chip_at(event->pos());
  if (chip != nullptr && chip->picture >= 0) {
    toggle_picture(chip->picture);
  } else if (chip != nullptr) {
    Q_EMIT clicked(chip->token);
  }
}

void TokenStrip::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hovered(token_at(event->pos()));
}

void TokenStrip::leaveEvent(QEvent* event) {
  QAbstractScrollArea::leaveEvent(event);
  Q_EMIT hovered(-1);
}

void TokenStrip::show_token(std::int64_t token) {
  const TokenChip* const chip = chips_.of(token);
  const int top = kStripMargin + (chip == nullptr ? 0 : chip->row) * (row_height() + kChipGap);
  QScrollBar& bar = *verticalScrollBar();
  const int bottom = top + row_height() + kStripMargin;
  bar.setValue(std::min(std::max(bar.value(), bottom - viewport()->height()), top - kStripMargin));
}

void TokenStrip::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && pinned_ >= 0) {
    Q_EMIT chosen(-1);
    return;
  }
  if (chips_.all().empty()) {
    QAbstractScrollArea::keyPressEvent(event);
    return;
  }
  const TokenChip* const pinned = chips_.of(pinned_);
  const std::int64_t from = pinned == nullptr ? -1 : pinned_;
  std::int64_t next = chips_.beside(-1, 1);  // the first
  switch (event->key()) {
    case Qt::Key_Left:
      next = chips_.beside(from, -1);
      break;
    case Qt::Key_Right:
      next = chips_.beside(from, 1);
      break;
    case Qt::Key_Up:
      next = pinned == nullptr ? next : chips_.in_row(pinned->row - 1, pinned->x);
      break;
    case Qt::Key_Down:
      next = pinned == nullptr ? next : chips_.in_row(pinned->row + 1, pinned->x);
      break;
    case Qt::Key_Home:
      break;
    case Qt::Key_End:
      next = chips_.beside(-1, -1);
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      toggle_by_key();
      return;
    default:
      QAbstractScrollArea::keyPressEvent(event);
      return;
  }
  if (next >= 0) {
    show_token(next);
    Q_EMIT chosen(next);
  }
}

// By keys, of the pinned token.
void TokenStrip::contextMenuEvent(QContextMenuEvent* event) {
  const bool keys = event->reason() == QContextMenuEvent::Keyboard;
  const std::int64_t token = keys ? pinned_ : token_at(viewport()->mapFromGlobal(event->globalPos()));
  if (chips_.of(token) != nullptr) {
    Q_EMIT menu_requested(token, event->globalPos());
  }
}

void TokenStrip::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) {
    lay_out();
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
    const TokenChip* const chip = chip_at(help->pos());
    if (chip != nullptr && chip->picture >= 0) {
      QToolTip::showText(help->globalPos(), thumbnail_help(chip->picture), viewport());
      return true;
    }
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
