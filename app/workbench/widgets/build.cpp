#include "app/workbench/widgets/build.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QLabel>
#include <QScrollArea>
#include <QTimer>
#include <QWindow>

namespace locus::workbench {

namespace {

constexpr int kBesideFigure = 24;  // pixels from the edges of the window
constexpr int kFocusMs = 500;      // in which a window has the keyboard, if it is given it

}  // namespace

void give_name(QWidget* widget, const char* object_name, const QString& accessible) {
  widget->setObjectName(QLatin1String(object_name));
  if (!accessible.isEmpty()) {
    widget->setAccessibleName(accessible);
  }
}

QLabel* make_label(QWidget* parent, const char* object_name, const QString& text) {
  auto* label = new QLabel(text, parent);
  give_name(label, object_name);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  return label;
}

QScrollArea* make_scroll(QWidget* parent, QWidget* body) {
  auto* scroll = new QScrollArea(parent);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(body);
  return scroll;
}

void make_lasting(QDialog* dialog, const char* object_name, const QString& title) {
  give_name(dialog, object_name);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
}

QDialogButtonBox* make_close_box(QDialog* dialog) {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  return buttons;
}

QDialogButtonBox* make_answer_box(QDialog* dialog) {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, dialog);
  QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  return buttons;
}

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
