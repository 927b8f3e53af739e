#include "app/workbench/input/patch_picture.h"

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "app/views/shared/plots/patch_grid.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "models/image/image.h"

namespace locus::workbench {

namespace {

constexpr int kLeastHeight = 48;
constexpr int kHeight = 120;
constexpr int kRoomPx = 8;         // beside what is said
constexpr double kLeastPatch = 4;  // closer lines would hide the image

}  // namespace

PatchPicture::PatchPicture(QWidget* parent) : QWidget(parent) {
  give_name(this, "picture", QStringLiteral("Input image"));
}

void PatchPicture::set_file(const QString& path) {
  if (path == file_ && error_.isEmpty()) {
    return;
  }
  file_ = path;
  trace_.reset();
  error_.clear();
  const auto picture = image::load_picture(path.toStdString());
  if (picture.ok()) {
    image_ = QImage(picture->rgba.data(), static_cast<int>(picture->width), static_cast<int>(picture->height),
                    static_cast<int>(4 * picture->width), QImage::Format_RGBA8888)
                 .copy();
  } else {
    image_ = {};
    error_ = qt(picture.error().describe());
  }
  update();
}

void PatchPicture::set_trace(std::shared_ptr<const models::Trace> trace) {
  if (trace == trace_ || !trace || trace->image_grid().rows < 1) {
    return;
  }
  trace_ = std::move(trace);
  if (const models::Picture seen = trace_->picture(); seen.rgba && seen.width > 0 && seen.height > 0) {
    image_ = QImage(seen.rgba->data(), static_cast<int>(seen.width), static_cast<int>(seen.height),
                    static_cast<int>(4 * seen.width), QImage::Format_RGBA8888)
                 .copy();
  }
  update();
}

void PatchPicture::set_pinned(std::int64_t token) {
  if (token != pinned_) {
    pinned_ = token;
    update();
  }
}

QSize PatchPicture::sizeHint() const {
  return {kHeight, kHeight};
}

QSize PatchPicture::minimumSizeHint() const {
  return {kLeastHeight, kLeastHeight};
}

QRectF PatchPicture::place() const {
  const QSizeF size = QSizeF(image_.size()).scaled(QSizeF(this->size()), Qt::KeepAspectRatio);
  return {(width() - size.width()) / 2, (height() - size.height()) / 2, size.width(), size.height()};
}

void PatchPicture::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  if (image_.isNull()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(kRoomPx, 0, -kRoomPx, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     error_.isEmpty() ? QStringLiteral("no image") : error_);
    return;
  }
  painter.setRenderHint(QPainter::SmoothPixmapTransform);
  const QRectF at = place();
  painter.drawImage(at, image_);
  if (!trace_) {
    return;
  }
  const models::ImageGrid& grid = trace_->image_grid();
  const double wide = at.width() / static_cast<double>(grid.columns);
  const double high = at.height() / static_cast<double>(grid.rows);
  if (std::min(wide, high) >= kLeastPatch) {
    painter.setPen(QPen(QColor(255, 255, 255, 110), 0));
    for (std::int64_t c = 0; c <= grid.columns; ++c) {
      const double x = at.x() + static_cast<double>(c) * wide;
      painter.drawLine(QPointF(x, at.top()), QPointF(x, at.bottom()));
    }
    for (std::int64_t r = 0; r <= grid.rows; ++r) {
      const double y = at.y() + static_cast<double>(r) * high;
      painter.drawLine(QPointF(at.left(), y), QPointF(at.right(), y));
    }
  }
  if (const auto patch = views::patch_place(views::cells_of(grid), pinned_)) {
    painter.setPen(QPen(QColor(0xFF, 0x9D, 0x2E), 2));
    painter.drawRect(QRectF(at.x() + patch->x.low * wide, at.y() + patch->y.low * high, wide, high));
  }
}

std::optional<std::int64_t> PatchPicture::token_at(const QPointF& point) const {
  const QRectF at = place();
  if (!trace_ || at.isEmpty()) {
    return std::nullopt;
  }
  const models::ImageGrid& grid = trace_->image_grid();
  views::Hit hit;
  hit.x = (point.x() - at.x()) / at.width() * static_cast<double>(grid.columns);
  hit.y = (point.y() - at.y()) / at.height() * static_cast<double>(grid.rows);
  return views::patch_at(views::cells_of(grid), hit);
}

void PatchPicture::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) {
    pressed_ = event->position();
    dragged_ = false;
    turns_ = event->modifiers().testFlag(Qt::ShiftModifier);
  }
}

void PatchPicture::mouseMoveEvent(QMouseEvent* event) {
  const QRectF at = place();
  if (!pressed_ || !trace_ || at.isEmpty()) {
    return;
  }
  const QPointF by = event->position() - *pressed_;
  if (!dragged_ && by.manhattanLength() < QApplication::startDragDistance()) {
    return;
  }
  if (!std::exchange(dragged_, true)) {
    Q_EMIT drag_begun();
  }
  if (turns_) {
    const auto angle = [&](const QPointF& point) {
      return std::atan2(point.y() - at.center().y(), point.x() - at.center().x());
    };
    const double turn = angle(event->position()) - angle(*pressed_);
    Q_EMIT turned(std::remainder(turn, 2 * std::numbers::pi) * 180 / std::numbers::pi);
    return;
  }
  const models::ImageGrid& grid = trace_->image_grid();
  Q_EMIT moved(by.x() / at.width() * static_cast<double>(grid.columns),
               by.y() / at.height() * static_cast<double>(grid.rows));
}

void PatchPicture::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_) {
    return;
  }
  pressed_.reset();
  if (std::exchange(dragged_, false)) {
    Q_EMIT drag_ended();
  } else if (const auto token = token_at(event->position())) {
    Q_EMIT clicked(*token);
  }
}

void PatchPicture::wheelEvent(QWheelEvent* event) {
  if (!event->modifiers().testFlag(Qt::ControlModifier) || event->angleDelta().y() == 0) {
    QWidget::wheelEvent(event);
    return;
  }
  constexpr double kNotch = 120;
  constexpr double kFactor = 1.1;  // of a notch
  Q_EMIT scaled(std::pow(kFactor, event->angleDelta().y() / kNotch));
  event->accept();
}

bool PatchPicture::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const auto token = token_at(help->pos());
    QToolTip::showText(help->globalPos(), token ? qt(views::patch_label(trace_->image_grid(), *token)) : error_, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace locus::workbench
