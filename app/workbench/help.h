// What Help says.
#pragma once

#include <QStringList>

class QWidget;

namespace locus::workbench {

class Studio;

void show_view_help(QWidget* parent, const Studio& studio);  // this view, the paper's figure, the encoding's formula
// What the status bar has said, oldest first.
void show_messages(QWidget* parent, const QStringList& messages);
void show_keys(QWidget* parent);
void show_encodings(QWidget* parent);
void show_caution(QWidget* parent);
void show_about(QWidget* parent);

}  // namespace locus::workbench
