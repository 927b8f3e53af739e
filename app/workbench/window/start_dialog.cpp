#include "app/workbench/window/start_dialog.h"

#include <QDialog>
#include <QGuiApplication>
#include <QTimer>
#include <QWindow>

namespace locus::workbench {

namespace {

constexpr int kBesideFigure = 24;  // pixels from the edges of the window
constexpr int kFocusMs = 500;      // in which a window has the keyboard, if it is given it

}  // namespace

void show_at_start(QDialog& dialog, const QWidget& window) {
  dialog.adjustSize();
  const QRect room = window.geometry();
  dialog.move(room.right() - dialog.width() - kBesideFigure, room.top() + kBesideFigure);
  if (window.isActiveWindow()) {
    dialog.show();
    return;
  }
  QObject::connect(qApp, &QGuiApplication::focusWindowChanged, &dialog, &QDialog::show, Qt::SingleShotConnection);
  QTimer::singleShot(kFocusMs, &dialog, &QDialog::show);
}

}  // namespace locus::workbench
