// Light and dark look of the whole window.
#pragma once

class QApplication;
class QDockWidget;

namespace locus::workbench {

void apply_theme(QApplication& application, bool dark);
// A panel that was just made: its title follows the application's font, which Qt reads once.
void grow_title_with_text(QDockWidget& dock);

}  // namespace locus::workbench
