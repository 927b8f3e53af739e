#include "app/workbench/input/token_strip.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"
#include "renderers/figure/style.h"

namespace locus::workbench {

namespace {

constexpr int kChipPadding = 3;  // within a chip, in pixels
constexpr int kChipGap = 3;      // between chips
constexpr int kStripMargin = 3;  // around all chips; no more than a gap, so that no other row shows in it

QImage image_of(const models::Picture& picture) {
  if (picture.rgba == nullptr || picture.width < 1 || picture.height < 1) {
    return {};
  }
  const auto width = static_cast<int>(picture.width);
  const qsizetype row = qsizetype{4} * width;
  return QImage(picture.rgba->data(), width, static_cast<int>(picture.height), row, QImage::Format_RGBA8888).copy();
}

constexpr int kPositionDigits = 7;

}  // namespace

TokenStrip::TokenStrip(QWidget* parent) : QAbstractScrollArea(parent) {
  give_name(this, "token-strip", QStringLiteral("Tokens of the input; arrow keys choose the query"));
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  lay_out();
  viewport()->setBackgroundRole(QPalette::Base);
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this] {
    choose_arcs();
    Q_EMIT scrolled();
  });
}

void TokenStrip::set_trace(std::shared_ptr<const models::Trace> trace) {
  if (trace != trace_) {
    trace_ = std::move(trace);
    show_positions_ = false;
    const models::ImageGrid grid = trace_ ? trace_->image_grid() : models::ImageGrid();
    const auto before = grid.prefix();  // a patch's position is its own number
    const auto behind = grid.rows > 0 ? grid.patches().end : std::numeric_limits<std::int64_t>::max();
    for (std::size_t n = 0; trace_ && n < trace_->tokens().size(); ++n) {
      const auto token = static_cast<std::int64_t>(n);
      const auto counted = token < behind ? std::max<std::int64_t>(token - before, 0) : 0;
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

void TokenStrip::set_old(bool old) {
  if (old != old_) {
    old_ = old;
    viewport()->update();
  }
}

void TokenStrip::lay_out() {
  // A strip of one row has no room for arcs, and asks for none.
  const int line = fontMetrics().height();
  const bool has_room = viewport()->height() >= line + row_height() + 2 * kStripMargin;
  arc_room_ = wants_arcs_ && has_room ? line : 0;
  chips_.clear();
  if (trace_) {
    chips_.lay_out(
        *trace_, open_, [this](const TokenChip& chip) { return width_of(chip); }, kStripMargin,
        viewport()->width() - kStripMargin, kChipGap);
  }
  const int step = row_step();
  const int content = chips_.rows() * step - kChipGap + 2 * kStripMargin;
  verticalScrollBar()->setRange(0, std::max(0, content - viewport()->height()));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(step);
  // One row is whole, also with positions below.
  setMinimumHeight(row_height() + 2 * kStripMargin + 2 * frameWidth());
  choose_arcs();
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
  return chips_.at((point.y() + verticalScrollBar()->value() - kStripMargin) / row_step(), point.x());
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
  const int top = row_top(chip == nullptr ? 0 : chip->row) - arc_room_;
  QScrollBar& bar = *verticalScrollBar();
  const int bottom = top + arc_room_ + row_height() + kStripMargin;
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
    text += info.bytes.empty() ? QStringLiteral("\nspecial token without text")
                               : QStringLiteral("\nbytes %1 to %2").arg(info.bytes.begin).arg(info.bytes.end);
    if (is_beyond(static_cast<std::size_t>(token))) {
      text += QStringLiteral("\nbeyond the trained length of %1").arg(beyond_.trained);
    }
    QToolTip::showText(help->globalPos(), text, viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

// ---- painting

int TokenStrip::row_height() const {
  return (show_positions_ ? 2 : 1) * fontMetrics().height() + 2 * kChipPadding;
}

int TokenStrip::row_step() const {
  return arc_room_ + row_height() + kChipGap;
}

int TokenStrip::row_top(int row) const {
  return kStripMargin + row * row_step() + arc_room_;
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
  return QStringLiteral("%1, %2 cells: a click %3")
      .arg(qt(models::picture_name(trace_->images(), static_cast<std::size_t>(picture))))
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
  const std::int64_t cell = std::max<std::int64_t>(image.cell(token), 0);
  const std::int64_t row = cell / image.columns;
  const std::int64_t column = cell % image.columns;
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
  constexpr double kOld = 0.4;  // opacity
  painter.setOpacity(old_ ? kOld : 1);
  const int offset = verticalScrollBar()->value();
  const int step = row_step();
  const int first_row = std::max(0, (offset - kStripMargin) / step);
  const int last_row = (offset + viewport()->height()) / step;
  for (auto chip = chips_.from_row(first_row); chip != chips_.all().end() && chip->row <= last_row; ++chip) {
    const QRect box(chip->x, row_top(chip->row) - offset, chip->width, row_height());
    if (chip->picture >= 0) {
      paint_thumbnail(painter, *chip, box);
    } else {
      paint_chip(painter, *chip, box);
    }
  }
  paint_arcs(painter);
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
  }
}

// ---- arcs

void TokenStrip::set_arc_room(bool room) {
  wants_arcs_ = room;
  lay_out();
}

void TokenStrip::set_arcs(std::int64_t token, std::vector<ArcRow> rows) {
  if (token < 0 && arcs_of_ < 0) {
    return;
  }
  arcs_of_ = token;
  arc_rows_ = std::move(rows);
  choose_arcs();
}

Range TokenStrip::seen() const {
  const int offset = verticalScrollBar()->value();
  const auto first = chips_.from_row(std::max(0, (offset - kStripMargin) / row_step()));
  const auto behind = chips_.from_row((offset + viewport()->height()) / row_step() + 1);
  return first == chips_.all().end() || behind == first ? Range{} : Range{first->token, std::prev(behind)->token + 1};
}

// Anew where the strip has been scrolled: only tokens that are seen have arcs.
void TokenStrip::choose_arcs() {
  constexpr std::size_t kMaxArcs = 12;  // per column
  arcs_.clear();
  const Range there = seen();
  const auto is_seen = [&](std::int64_t token) {
    return token >= there.begin && token < there.end && chips_.of(token) != nullptr;
  };
  const bool any = arcs_of_ >= there.begin && arcs_of_ < there.end && chips_.of(arcs_of_) != nullptr;
  for (const ArcRow& row : arc_rows_) {
    arcs_.push_back(any ? chosen_arcs(row, kMaxArcs, is_seen) : ChosenArcs());
  }
  arcs_said_ = any ? qt(arcs_text(arc_rows_, arcs_)) : QString();
  viewport()->update();
}

std::size_t TokenStrip::arcs_drawn() const {
  std::size_t count = 0;
  for (const ChosenArcs& each : arcs_) {
    count += each.arcs.size();
  }
  return count;
}

void TokenStrip::paint_arcs(QPainter& painter) const {
  constexpr double kWidest = 4.5;
  constexpr double kThinnest = 0.6;
  if (arcs_.empty() || arcs_said_.isEmpty() || arc_room_ == 0) {
    return;
  }
  const bool dark = palette().color(QPalette::Base).lightness() < palette().color(QPalette::Text).lightness();
  const figure::Style style = dark ? figure::Style::dark() : figure::Style::light();
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  for (std::size_t n = 0; n < arcs_.size(); ++n) {
    const std::uint32_t rgba = style.palette[arc_rows_[n].column % style.palette.size()];
    QColor color = arc_rows_[n].reads ? QColor::fromRgb(rgba >> 8) : palette().color(QPalette::PlaceholderText);
    color.setAlpha(arc_rows_[n].reads ? 220 : 150);
    for (const Arc& arc : arcs_[n].arcs) {
      paint_arc(painter, arc.token, kThinnest + (kWidest - kThinnest) * arc.weight, color);
    }
  }
  painter.restore();
  const int wide = fontMetrics().horizontalAdvance(arcs_said_) + 2 * kChipPadding;
  const QRect place(std::max(0, viewport()->width() - wide), 0, std::min(wide, viewport()->width()),
                    fontMetrics().height());
  QColor ground = palette().color(QPalette::Base);
  ground.setAlpha(215);
  painter.fillRect(place, ground);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(place.adjusted(kChipPadding, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(arcs_said_, Qt::ElideRight, place.width() - 2 * kChipPadding));
}

// From the middle of a chip's upper edge to that of another: within a row a bow in the room above it, the higher the
// farther; to another row over both.
void TokenStrip::paint_arc(QPainter& painter, std::int64_t other, double width, const QColor& color) const {
  const TokenChip* const from = chips_.of(arcs_of_);
  const TokenChip* const to = chips_.of(other);
  if (from == nullptr || to == nullptr) {
    return;
  }
  const double offset = verticalScrollBar()->value();
  const auto top = [&](const TokenChip& chip) {
    return QPointF(chip.x + chip.width / 2.0, row_top(chip.row) - offset + 1);
  };
  const QPointF a = top(*from);
  const QPointF b = top(*to);
  const double room = arc_room_ * 4.0 / 3;  // a cubic reaches three quarters of its handles
  const double rise = std::min(room, 5 + std::abs(a.x() - b.x()) / 8);
  QPainterPath path(a);
  if (from == to) {
    const double half = std::min(from->width / 2.0, 6.0);
    path.cubicTo(a + QPointF(-2 * half, -room), a + QPointF(2 * half, -room), a);
  } else {
    path.cubicTo(a - QPointF(0, rise), b - QPointF(0, rise), b);
  }
  painter.setPen(QPen(color, width, Qt::SolidLine, Qt::RoundCap));
  painter.drawPath(path);
}

// ---- chips

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
