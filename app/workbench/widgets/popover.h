// Popover: a frame with controls over the window, beside its button. Esc or a click elsewhere closes it.
#pragma once

#include <QFrame>

namespace locus::workbench {

class Popover : public QFrame {
 public:
  // `anchor`: the button that opens it, which becomes its parent.
  explicit Popover(QWidget& anchor);

  // Shows it above the anchor, or below if there is no room, within the screen, with the focus in its first control.
  void open();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  // Call it when its contents change while it is open.
  bool event(QEvent* event) override;

 private:
  void place();

  QWidget& anchor_;
};

// Opens the popover that contains the control, if any.
void open_popover_of(QWidget& control);

}  // namespace locus::workbench
