// Dialogs that nobody asked for.
#pragma once

class QDialog;
class QWidget;

namespace locus::workbench {

// Shows it beside the figure, which stays seen, once the window has the keyboard: window managers give it to dialogs of
// such windows alone.
void show_at_start(QDialog& dialog, const QWidget& window);

}  // namespace locus::workbench
