// TokenStrip: how chips look.
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "app/workbench/input/strip_spacing.h"
#include "app/workbench/input/token_strip.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kPositionDigits = 7;

}  // namespace

int TokenStrip::row_height() const {
  return (show_positions_ ? 2 : 1) * fontMetrics().height() + 2 * kChipPadding;
}

QString TokenStrip::position_of(std::size_t token) const {
  return show_positions_ ? qt(general_text(trace_->tokens()[token].position, kPositionDigits)) : QString();
}

int TokenStrip::picture_of(std::int64_t token) const {
  const std::vector<models::ImageSpan>& images = trace_->images();
  const auto found = std::ranges::find_if(images, [token](const auto& image) { return image.holds(token); });
  return found == images.end() ? -1 : static_cast<int>(found - images.begin());
}

QString TokenStrip::thumbnail_text(int picture) const {
  const models::ImageSpan& image = trace_->images()[static_cast<std::size_t>(picture)];
  const QString cells =
      image.rows > 0 ? QStringLiteral("%1 × %2").arg(image.rows).arg(image.columns) : QString::number(image.count);
  return (open_.contains(picture) ? QStringLiteral("▾ ") : QStringLiteral("▸ ")) + cells;
}

QString TokenStrip::thumbnail_help(int picture) const {
  return QStringLiteral("image %1, %2 cells: a click %3")
      .arg(picture + 1)
      .arg(trace_->images()[static_cast<std::size_t>(picture)].count)
      .arg(open_.contains(picture) ? QStringLiteral("folds them") : QStringLiteral("shows them"));
}

QImage TokenStrip::cell_picture(std::int64_t token) const {
  const int picture = picture_of(token);
  if (picture < 0 || picture >= static_cast<int>(pictures_.size())) {
    return {};
  }
  const QImage& whole = pictures_[static_cast<std::size_t>(picture)];
  const models::ImageSpan& image = trace_->images()[static_cast<std::size_t>(picture)];
  if (whole.isNull() || image.rows < 1) {
    return {};
  }
  const std::int64_t row = (token - image.first) / image.pitch;
  const std::int64_t column = (token - image.first) % image.pitch;
  const auto edge = [](std::int64_t n, std::int64_t cells, int pixels) { return static_cast<int>(n * pixels / cells); };
  const int left = edge(column, image.columns, whole.width());
  const int top = edge(row, image.rows, whole.height());
  return whole.copy(left, top, std::max(1, edge(column + 1, image.columns, whole.width()) - left),
                    std::max(1, edge(row + 1, image.rows, whole.height()) - top));
}

QString TokenStrip::text_of(std::size_t token) const {
  const models::TokenInfo& info = trace_->tokens()[token];
  const auto index = static_cast<std::int64_t>(token);
  if (picture_of(index) >= 0 && !show_ids_) {
    return QStringLiteral("▦");  // its tooltip says which
  }
  // With ids, the bytes as they are.
  const std::string shown = show_ids_ ? info.label : shown_token(*trace_, index);
  const QString label = shown.empty() ? QStringLiteral("∅") : qt(shown);
  return show_ids_ ? QStringLiteral("%1 %2").arg(label).arg(info.id) : label;
}

int TokenStrip::width_of(const TokenChip& chip) const {
  if (chip.picture >= 0) {
    const auto picture = static_cast<std::size_t>(chip.picture);
    const QImage image = picture < pictures_.size() ? pictures_[picture] : QImage();
    const int high = row_height() - 2;
    const int wide = image.isNull() ? 0 : std::clamp(high * image.width() / image.height(), high / 3, 3 * high);
    return wide + fontMetrics().horizontalAdvance(thumbnail_text(chip.picture)) + 3 * kChipPadding;
  }
  const auto token = static_cast<std::size_t>(chip.token);
  const int text = fontMetrics().horizontalAdvance(text_of(token));
  return std::max(text, fontMetrics().horizontalAdvance(position_of(token))) + 2 * kChipPadding;
}

void TokenStrip::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  if (!trace_) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(viewport()->rect(), Qt::AlignCenter, QStringLiteral("no tokens yet"));
    return;
  }
  const int offset = verticalScrollBar()->value();
  const int step = row_height() + kChipGap;
  const int first_row = std::max(0, (offset - kStripMargin) / step);
  const int last_row = (offset + viewport()->height()) / step;
  for (auto chip = chips_.from_row(first_row); chip != chips_.all().end() && chip->row <= last_row; ++chip) {
    const QRect box(chip->x, kStripMargin + chip->row * step - offset, chip->width, row_height());
    if (chip->picture >= 0) {
      paint_thumbnail(painter, *chip, box);
    } else {
      paint_chip(painter, *chip, box);
    }
  }
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
  }
}

void TokenStrip::paint_chip(QPainter& painter, const TokenChip& chip, const QRect& box) const {
  const auto n = static_cast<std::size_t>(chip.token);
  const bool pinned = pinned_ == chip.token;
  const QColor plain = palette().color(n % 2 == 0 ? QPalette::Button : QPalette::AlternateBase);
  painter.fillRect(box, pinned ? palette().color(QPalette::Highlight) : plain);
  if (trace_->tokens()[n].bytes.empty()) {  // it stands for no text
    painter.setPen(palette().color(QPalette::Link));
    painter.drawRect(box.adjusted(0, 0, -1, -1));
  }
  if (is_beyond(n)) {  // underlined, and a bar where it begins
    const QColor color = palette().color(QPalette::Link);
    painter.fillRect(QRect(box.left(), box.bottom() - 1, box.width() + kChipGap, 2), color);
    if (n == 0 || !is_beyond(n - 1)) {
      painter.fillRect(QRect(box.left() - kChipGap, box.top(), 2, box.height()), color);
    }
  }
  if (chip.token == query_ || chip.token == key_) {
    painter.setPen(QPen(palette().color(chip.token == query_ ? QPalette::Highlight : QPalette::Link), 2));
    painter.drawRect(box.adjusted(1, 1, -1, -1));
  }
  painter.setPen(palette().color(pinned ? QPalette::HighlightedText : QPalette::Text));
  const QRect line(box.left() + kChipPadding, box.top() + kChipPadding, box.width() - kChipPadding,
                   fontMetrics().height());
  const QImage cell = show_ids_ ? QImage() : cell_picture(chip.token);
  if (cell.isNull()) {
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, text_of(n));
  } else {
    painter.drawImage(QRect(line.left(), line.top(), box.width() - 2 * kChipPadding, line.height()), cell);
  }
  if (show_positions_) {
    painter.setPen(palette().color(pinned ? QPalette::HighlightedText : QPalette::PlaceholderText));
    painter.drawText(line.translated(0, line.height()), Qt::AlignLeft | Qt::AlignVCenter, position_of(n));
  }
}

void TokenStrip::paint_thumbnail(QPainter& painter, const TokenChip& chip, const QRect& box) const {
  const auto folded_in = [&](std::int64_t token) { return token >= 0 && chips_.of(token) == &chip; };
  const bool pinned = folded_in(pinned_);
  painter.fillRect(box, palette().color(pinned ? QPalette::Highlight : QPalette::Button));
  const QString words = thumbnail_text(chip.picture);
  const int wide = box.width() - fontMetrics().horizontalAdvance(words) - 3 * kChipPadding;
  const auto picture = static_cast<std::size_t>(chip.picture);
  if (wide > 0 && picture < pictures_.size()) {
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(QRect(box.left() + 1, box.top() + 1, wide, box.height() - 2), pictures_[picture]);
  }
  painter.setPen(palette().color(pinned ? QPalette::HighlightedText : QPalette::Text));
  painter.drawText(box.adjusted(std::max(wide, 0) + 2 * kChipPadding, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   words);
  const bool query = folded_in(query_);
  if (query || folded_in(key_)) {
    painter.setPen(QPen(palette().color(query ? QPalette::Highlight : QPalette::Link), 2));
    painter.drawRect(box.adjusted(1, 1, -1, -1));
  }
}

}  // namespace locus::workbench
