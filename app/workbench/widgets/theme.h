// Light and dark theme of the whole window.
#pragma once

class QApplication;
class QDockWidget;

namespace locus::workbench {

void apply_theme(QApplication& application, bool dark);
// Makes the title of a new panel follow the application's font, which Qt reads only once.
void grow_title_with_text(QDockWidget& dock);

}  // namespace locus::workbench
