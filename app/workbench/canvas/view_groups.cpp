#include "app/workbench/canvas/view_groups.h"

#include <QActionGroup>
#include <QEvent>
#include <QHBoxLayout>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <QToolButton>
#include <array>
#include <cmath>
#include <numbers>

#include "app/workbench/state/change_state.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kSide = 16;  // of an icon
constexpr std::array kGroups = {views::Group::kLook, views::Group::kPosition, views::Group::kFrequency,
                                views::Group::kChange, views::Group::kMeasure};

// The lower triangle of a map.
void draw_look(QPainter& painter) {
  painter.drawRect(QRectF(2, 2, 12, 12));
  QPainterPath map(QPointF(2, 2));
  map.lineTo(14, 14);
  map.lineTo(2, 14);
  map.closeSubpath();
  painter.fillPath(map, painter.pen().color());
}

// A ruler.
void draw_position(QPainter& painter) {
  painter.drawRect(QRectF(1, 5, 14, 7));
  for (int n = 1; n <= 4; ++n) {
    painter.drawLine(QPointF(1 + 2.8 * n, 5), QPointF(1 + 2.8 * n, n % 2 == 0 ? 9 : 7.5));
  }
}

// A wave.
void draw_frequency(QPainter& painter) {
  QPainterPath wave(QPointF(1, 8));
  for (int n = 1; n <= 28; ++n) {
    wave.lineTo(1 + n / 2.0, 8 - 5 * std::sin(n / 28.0 * 3 * std::numbers::pi));
  }
  painter.drawPath(wave);
}

// One of two places taken by the other's token.
void draw_change(QPainter& painter) {
  painter.drawRect(QRectF(1.5, 9, 4, 4));
  painter.fillRect(QRectF(10, 9, 5, 5), painter.pen().color());
  QPainterPath arc(QPointF(3.5, 7));
  arc.cubicTo(4, 1, 12, 1, 12.5, 6);
  painter.drawPath(arc);
  painter.drawLine(QPointF(12.5, 6.5), QPointF(10, 4));
  painter.drawLine(QPointF(12.5, 6.5), QPointF(14.6, 3.6));
}

// Bars.
void draw_measure(QPainter& painter) {
  for (const auto& [x, height] : {std::pair(2, 5), std::pair(6, 11), std::pair(10, 8)}) {
    painter.fillRect(QRectF(x, 14 - height, 3, height), painter.pen().color());
  }
  painter.drawLine(QPointF(1, 14.5), QPointF(15, 14.5));
}

QIcon icon_of(views::Group group, const QColor& color, double ratio) {
  QPixmap picture(QSize(kSide, kSide) * ratio);
  picture.setDevicePixelRatio(ratio);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(color, 1.4));
  switch (group) {
    case views::Group::kLook:
      draw_look(painter);
      break;
    case views::Group::kPosition:
      draw_position(painter);
      break;
    case views::Group::kFrequency:
      draw_frequency(painter);
      break;
    case views::Group::kChange:
      draw_change(painter);
      break;
    case views::Group::kMeasure:
      draw_measure(painter);
      break;
  }
  return QIcon(picture);
}

}  // namespace

ViewGroups::ViewGroups(Studio& studio, QWidget* parent) : QWidget(parent), studio_(studio) {
  give_name(this, "view-groups");
  auto* line = make_layout<QHBoxLayout>(this, 0);
  line->setSpacing(1);
  for (const views::Group group : kGroups) {
    const QString title = qt(views::title_of(group));
    auto* button = make_button<QToolButton>(this, "", QString(), title);
    button->setObjectName(QStringLiteral("views-") + title.toLower());
    button->setAccessibleName(QStringLiteral("Views: ") + title);
    button->setIconSize(QSize(kSide, kSide));
    button->setCheckable(true);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    auto* menu = new QMenu(title, button);
    menu->setObjectName(QStringLiteral("menu-") + button->objectName());
    menu->setToolTipsVisible(true);
    connect(button, &QToolButton::clicked, this, [this, group, button, menu] {
      refresh();  // a click presses the button
      fill(group, *menu);
      menu->popup(button->mapToGlobal(button->rect().bottomLeft()));
    });
    line->addWidget(button);
    buttons_.push_back(button);
  }
  connect(&studio_, &Studio::state_changed, this, &ViewGroups::refresh);
  draw_icons();
  refresh();
}

void ViewGroups::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    draw_icons();
  }
}

void ViewGroups::draw_icons() {
  for (std::size_t n = 0; n < buttons_.size(); ++n) {
    buttons_[n]->setIcon(icon_of(kGroups[n], palette().color(QPalette::ButtonText), devicePixelRatioF()));
  }
}

void ViewGroups::refresh() {
  for (std::size_t n = 0; n < buttons_.size(); ++n) {
    buttons_[n]->setChecked(studio_.view().info().group == kGroups[n]);
  }
}

// Views that the columns cannot have are listed too, with the reason.
void ViewGroups::fill(views::Group group, QMenu& menu) {
  menu.clear();
  auto* one = new QActionGroup(&menu);  // of the present view
  const auto columns = studio_.view_input().columns;
  for (const views::View* view : views::views()) {
    const views::ViewInfo& info = view->info();
    if (info.group != group) {
      continue;
    }
    const Status available = columns.empty() ? Status() : view->available(columns.front());
    QAction* action = menu.addAction(qt(info.title), this, [this, name = info.name] {
      change_state(studio_, [&](session::ViewState& state) { session::show_view(state, name); });
    });
    action->setCheckable(true);
    one->addAction(action);
    action->setChecked(view == &studio_.view());
    action->setEnabled(available.ok());
    action->setToolTip(qt(available.ok() ? info.shows : available.error().message));
  }
}

}  // namespace locus::workbench
