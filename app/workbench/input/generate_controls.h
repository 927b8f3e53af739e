// Controls that continue the text: Generate, number of tokens, temperature.
#pragma once

class QLayout;
class QWidget;

namespace locus::workbench {

class Studio;

// Adds them to the layout of `bar`, which owns them. They are hidden while there is no text to continue.
void add_generate_controls(Studio& studio, QLayout& layout, QWidget* bar);

}  // namespace locus::workbench
