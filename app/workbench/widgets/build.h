// Widgets as the window makes them: with the name by which tests find them, what screen readers call them, and a tip.
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

// Gives a widget its name, and what screen readers call it where it has no text of its own.
void give_name(QWidget* widget, const char* object_name, const QString& accessible = {});

// A label of plain text in as many lines as it needs.
QLabel* make_label(QWidget* parent, const char* object_name, const QString& text = {});

// A widget with that name, what screen readers call it, and a tip.
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

// A spin box of numbers from `low` to `high`, which screen readers call `accessible`.
template <class SpinBox, class Number>
SpinBox* make_spin_box(QWidget* parent, const char* object_name, const QString& accessible, Number low, Number high,
                       Number value, const QString& tip = {}) {
  auto* box = make_named<SpinBox>(parent, object_name, accessible, tip);
  box->setRange(low, high);
  box->setValue(value);
  return box;
}

// `body`, scrolled up and down where it is higher than its room; it follows what has the focus within it.
QScrollArea* make_scroll(QWidget* parent, QWidget* body);

// The layout of a widget, with so many pixels around it.
template <class Layout>
Layout* make_layout(QWidget* widget, int margin_px) {
  auto* layout = new Layout(widget);
  layout->setContentsMargins(margin_px, margin_px, margin_px, margin_px);
  return layout;
}

// A dialog beside which the window is used, and which deletes itself when it closes.
void make_lasting(QDialog* dialog, const char* object_name, const QString& title);

// The buttons below a dialog: Close, which closes it, and those that are added.
QDialogButtonBox* make_close_box(QDialog* dialog);

// The same of a dialog that asks: OK, which accepts it, and Cancel.
QDialogButtonBox* make_answer_box(QDialog* dialog);

// Once `timer` has not been started again for so long, `run` of `receiver` is called.
template <class Receiver, class Run>
void call_after(QTimer& timer, int pause_ms, Receiver* receiver, Run run) {
  timer.setSingleShot(true);
  timer.setInterval(pause_ms);
  QObject::connect(&timer, &QTimer::timeout, receiver, run);
}

}  // namespace locus::workbench
