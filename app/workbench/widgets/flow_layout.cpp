#include "app/workbench/widgets/flow_layout.h"

#include <QWidget>
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace locus::workbench {

namespace {

constexpr int kGapY = 4;

}  // namespace

FlowLayout::FlowLayout(QWidget* parent, int gap_px) : QLayout(parent), gap_px_(gap_px) {}

FlowLayout::~FlowLayout() {
  qDeleteAll(items_);
}

QLayoutItem* FlowLayout::takeAt(int index) {
  return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    size = size.expandedTo(item->minimumSize());
  }
  const QMargins margins = contentsMargins();
  return (size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())).expandedTo({0, height_});
}

void FlowLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  if (const int height = flow(rect, true); height != height_) {
    height_ = height;
    parentWidget()->updateGeometry();
  }
}

std::size_t FlowLayout::most_of_line(int width) const {
  if (!even_) {
    return std::numeric_limits<std::size_t>::max();
  }
  int shown = 0;
  int widest = 1;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) {
      ++shown;
      widest = std::max(widest, item->sizeHint().width());
    }
  }
  const int fit = std::max(1, (width + gap_px_) / (widest + gap_px_));
  const int lines = std::max(1, (shown + fit - 1) / fit);
  return static_cast<std::size_t>(std::max(1, (shown + lines - 1) / lines));
}

int FlowLayout::flow(const QRect& rect, bool place) const {
  const QMargins margins = contentsMargins();
  const QRect room = rect.marginsRemoved(margins);
  int x = room.x();
  int y = room.y();
  int line = 0;
  const std::size_t most = most_of_line(room.width());
  std::vector<std::pair<QLayoutItem*, QRect>> of_line;
  const auto end_line = [&] {
    for (auto& [item, at] : of_line) {
      if (place) {
        item->setGeometry(at.translated(0, (line - at.height()) / 2));
      }
    }
    of_line.clear();
  };
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) {
      continue;  // hidden
    }
    const QSize size = item->sizeHint();
    if (x > room.x() && (x + size.width() > room.right() + 1 || of_line.size() == most)) {
      end_line();
      x = room.x();
      y += line + kGapY;
      line = 0;
    }
    of_line.emplace_back(item, QRect(x, y, std::min(size.width(), std::max(room.width(), 1)), size.height()));
    x += size.width() + gap_px_;
    line = std::max(line, size.height());
  }
  end_line();
  return y + line - rect.y() + margins.bottom();
}

}  // namespace locus::workbench
