// Whether everything in a window has its room: nothing outside it, nothing cut.
#pragma once

#include <QAbstractButton>
#include <QComboBox>
#include <QLabel>
#include <QScrollArea>
#include <QStringList>
#include <QWidget>

namespace locus::test {

// Controls that stand outside their window, or have less room than their words need; what scrolls may.
inline QStringList cramped(const QWidget& window) {
  QStringList list;
  for (const QWidget* each : window.findChildren<QWidget*>()) {
    const bool words =
        qobject_cast<const QAbstractButton*>(each) != nullptr || qobject_cast<const QComboBox*>(each) != nullptr;
    if (!words || !each->isVisible() || each->window() != &window ||
        each->objectName().startsWith(QLatin1String("qt_"))) {
      continue;
    }
    bool scrolls = false;
    for (const QWidget* parent = each->parentWidget(); parent != nullptr; parent = parent->parentWidget()) {
      scrolls = scrolls || qobject_cast<const QAbstractScrollArea*>(parent) != nullptr;
    }
    const QRect place(each->mapTo(&window, QPoint(0, 0)), each->size());
    if (!scrolls && !window.rect().contains(place)) {
      list << each->objectName() + QStringLiteral(" is outside");
    }
    if (each->width() < each->minimumSizeHint().width() || each->height() < each->minimumSizeHint().height()) {
      list << each->objectName() + QStringLiteral(" is cut");
    }
  }
  return list;
}

}  // namespace locus::test
