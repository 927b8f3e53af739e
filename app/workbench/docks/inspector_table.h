// Tables of the inspector: what they look like, and the room they take.
#pragma once

#include <QString>
#include <QStringList>

class QFontMetrics;
class QTableWidget;
class QTableWidgetItem;
class QWidget;

namespace locus::workbench {

QTableWidget* make_table(const char* name, const QString& accessible, QWidget* parent);
// Rows as high as a line of text.
void fit_rows(QTableWidget* table, const QFontMetrics& metrics);
// One column stands beside the names of its rows; several share the width, below these names, and scroll sideways where
// they are too many for values of that width (0: of a few letters), which are never cut.
void fit_columns(QTableWidget* table, int value_width = 0);
// What one of so many columns has for a value without scrolling, in pixels.
int room_of_value(const QTableWidget* table, int columns);
// No more height than its rows need.
void fit_height(QTableWidget* table);
// Names of columns, which differ, as headers.
void name_columns(QTableWidget* table, const QStringList& names);
void set_text(QTableWidget* table, int row, int column, const QString& text);

// Tokens with a bar behind each, as long as its share, which stands at the right.
void draw_shares(QTableWidget* table);
void set_share(QTableWidgetItem* token, double share, const QString& text);

}  // namespace locus::workbench
