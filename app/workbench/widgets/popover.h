// Popover: controls in a frame that stands over the window beside its button while it is open. Esc, or a click
// elsewhere, closes it.
#pragma once

#include <QFrame>

namespace locus::workbench {

class Popover : public QFrame {
 public:
  // `anchor`: the button that opens it, whose child it is.
  explicit Popover(QWidget& anchor);

  // Shows it above the anchor, or below where there is no room, within the screen, and gives its first control the
  // keyboard.
  void open();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  // What it holds changes while it is open.
  bool event(QEvent* event) override;

 private:
  void place();

  QWidget& anchor_;
};

// Opens the popover that holds the control, if one does.
void open_popover_of(QWidget& control);

}  // namespace locus::workbench
