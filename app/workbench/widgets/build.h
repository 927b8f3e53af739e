// Factories of widgets with object name (for tests), accessible name (for screen readers) and tooltip.
#pragma once

#include <QBoxLayout>
#include <QString>
#include <QTimer>
#include <QWidget>

class QDialog;
class QDialogButtonBox;
class QLabel;
class QScrollArea;

namespace locus::workbench {

// Sets the object name, and the accessible name of widgets without a text.
void give_name(QWidget* widget, const char* object_name, const QString& accessible = {});

// A label of plain text with word wrap.
QLabel* make_label(QWidget* parent, const char* object_name, const QString& text = {});

// A widget with object name, accessible name and tooltip.
template <class Widget>
Widget* make_named(QWidget* parent, const char* object_name, const QString& accessible = {}, const QString& tip = {}) {
  auto* widget = new Widget(parent);
  give_name(widget, object_name, accessible);
  widget->setToolTip(tip);
  return widget;
}

template <class Button>
Button* make_button(QWidget* parent, const char* object_name, const QString& text, const QString& tip = {}) {
  auto* button = make_named<Button>(parent, object_name, {}, tip);
  button->setText(text);
  return button;
}

// A spin box of numbers from `low` to `high` with an accessible name.
template <class SpinBox, class Number>
SpinBox* make_spin_box(QWidget* parent, const char* object_name, const QString& accessible, Number low, Number high,
                       Number value, const QString& tip = {}) {
  auto* box = make_named<SpinBox>(parent, object_name, accessible, tip);
  box->setRange(low, high);
  box->setValue(value);
  return box;
}

// A vertical scroll area around `body`, which follows the focus.
QScrollArea* make_scroll(QWidget* parent, QWidget* body);

// The layout of a widget, with margins in pixels.
template <class Layout>
Layout* make_layout(QWidget* widget, int margin_px) {
  auto* layout = new Layout(widget);
  layout->setContentsMargins(margin_px, margin_px, margin_px, margin_px);
  return layout;
}

// Sets up a dialog that does not block the window and deletes itself when closed.
void make_lasting(QDialog* dialog, const char* object_name, const QString& title);

// The button row of such a dialog, with Close.
QDialogButtonBox* make_close_box(QDialog* dialog);

// The button row of a dialog that asks: OK and Cancel.
QDialogButtonBox* make_answer_box(QDialog* dialog);

// Calls `run` of `receiver` when `timer` has not been restarted for that time.
template <class Receiver, class Run>
void call_after(QTimer& timer, int pause_ms, Receiver* receiver, Run run) {
  timer.setSingleShot(true);
  timer.setInterval(pause_ms);
  QObject::connect(&timer, &QTimer::timeout, receiver, run);
}

// Shows a dialog at the start of the program, in the upper right corner of the window, once the window has the
// keyboard: window managers give the keyboard only to dialogs of such windows.
void show_at_start(QDialog& dialog, const QWidget& window);

}  // namespace locus::workbench
