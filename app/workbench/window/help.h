// What Help says: pages of the manual (manual_window.h), messages, versions.
#pragma once

#include <QStringList>

class QWidget;

namespace locus::workbench {

class Studio;

// The page of the view, and the equations of the encodings that are shown.
void show_view_help(QWidget* parent, const Studio& studio);
// What the status bar has said, oldest first.
void show_messages(QWidget* parent, const QStringList& messages);
void show_about(QWidget* parent);

}  // namespace locus::workbench
