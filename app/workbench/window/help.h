// The Help menu: pages of the manual (manual_window.h), messages, versions.
#pragma once

#include <QStringList>

class QWidget;

namespace locus::workbench {

class Studio;

// Shows the page of the view with the equations of the shown encodings.
void show_view_help(QWidget* parent, const Studio& studio);
// Shows messages of the status bar, oldest first.
void show_messages(QWidget* parent, const QStringList& messages);
void show_about(QWidget* parent);

}  // namespace locus::workbench
