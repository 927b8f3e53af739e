// Tables of the inspector: appearance and size.
#pragma once

#include <QString>
#include <QStringList>

class QFontMetrics;
class QTableWidget;
class QTableWidgetItem;
class QWidget;

namespace locus::workbench {

QTableWidget* make_table(const char* name, const QString& accessible, QWidget* parent);
// Sets the height of rows to a line of text.
void fit_rows(QTableWidget* table, const QFontMetrics& metrics);
// Lays out the columns: one stands beside the names of its rows; several share the width below these names, and scroll
// sideways if they are too many for values of that width (0: a few letters). Values are never cut.
void fit_columns(QTableWidget* table, int value_width = 0);
// From so many columns on, a table has a row for each of them, with the names of the values above.
constexpr std::size_t kRowsFrom = 3;
// Lays out a table with a row for each column of the comparison: names at the left, values as wide as they are.
void fit_rows_of_models(QTableWidget* table, const QStringList& names);
// Width of such a table with these values that needs no scrolling, in pixels.
int width_of_rows(const QTableWidget* table, const QStringList& values);
// Width of a value in one of so many columns without scrolling, in pixels.
int room_of_value(const QTableWidget* table, int columns);
// Limits the height to what the rows need.
void fit_height(QTableWidget* table);
// Sets distinct names as headers of the columns.
void name_columns(QTableWidget* table, const QStringList& names);
void set_text(QTableWidget* table, int row, int column, const QString& text);

// A list of tokens with a bar behind each for its share, which is written at the right.
void draw_shares(QTableWidget* table);
void set_share(QTableWidgetItem* token, double share, const QString& text);

}  // namespace locus::workbench
