// Light and dark look of the whole window.
#pragma once

class QApplication;

namespace locus::workbench {

void apply_theme(QApplication& application, bool dark);

}  // namespace locus::workbench
