// What Help says.
#pragma once

class QWidget;

namespace locus::workbench {

class Studio;

void show_view_help(QWidget* parent, const Studio& studio);  // this view, the paper's figure, the encoding's formula
void show_keys(QWidget* parent);
void show_encodings(QWidget* parent);
void show_caution(QWidget* parent);
void show_about(QWidget* parent);

}  // namespace locus::workbench
