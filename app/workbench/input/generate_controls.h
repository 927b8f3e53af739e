// Controls that continue the text: Generate, of how many tokens, at which temperature.
#pragma once

class QLayout;
class QWidget;

namespace locus::workbench {

class Studio;

// Adds them to the layout of `bar`, which owns them. Where there is no text to continue they are away.
void add_generate_controls(Studio& studio, QLayout& layout, QWidget* bar);

}  // namespace locus::workbench
