#include "app/workbench/inspector_table.h"

#include <QHeaderView>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <algorithm>

#include "app/workbench/short_names.h"

namespace locus::workbench {

namespace {

constexpr int kShareRole = Qt::UserRole;
constexpr int kShareTextRole = Qt::UserRole + 1;
constexpr int kShareMargin = 4;
constexpr int kLeastLetters = 9;  // of a column of values
constexpr int kMostLetters = 26;
constexpr int kNameLetters = 18;  // of a column's name

// A token, its probability at the right, and behind both a bar as long as that.
class ShareDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const double share = std::clamp(index.data(kShareRole).toDouble(), 0.0, 1.0);
    QColor color = option.palette.color(QPalette::Highlight);
    color.setAlpha(90);
    QRect bar = option.rect.adjusted(1, 2, -1, -2);
    bar.setWidth(static_cast<int>(bar.width() * share));
    painter->fillRect(bar, color);
    const QString text = index.data(kShareTextRole).toString();
    painter->setPen(option.palette.color(QPalette::Text));
    painter->drawText(option.rect.adjusted(0, 0, -kShareMargin, 0), Qt::AlignRight | Qt::AlignVCenter, text);
    QStyleOptionViewItem token = option;
    token.rect.setRight(option.rect.right() - option.fontMetrics.horizontalAdvance(text) - 2 * kShareMargin);
    QStyledItemDelegate::paint(painter, token, index);
  }
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const int share = option.fontMetrics.horizontalAdvance(index.data(kShareTextRole).toString());
    return QStyledItemDelegate::sizeHint(option, index) + QSize(share + 3 * kShareMargin, 0);
  }
};

}  // namespace

void fit_rows(QTableWidget* table, const QFontMetrics& metrics) {
  table->verticalHeader()->setDefaultSectionSize(metrics.height() + 6);
}

QTableWidget* make_table(const char* name, const QString& accessible, QWidget* parent) {
  auto* table = new QTableWidget(parent);
  table->setObjectName(QLatin1String(name));
  table->setAccessibleName(accessible);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionMode(QAbstractItemView::NoSelection);
  table->setFocusPolicy(Qt::TabFocus);  // arrow keys come to columns that are not seen
  table->setTabKeyNavigation(false);
  fit_rows(table, parent->fontMetrics());
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  table->horizontalHeader()->setTextElideMode(Qt::ElideMiddle);  // names of columns differ at their ends
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  return table;
}

void fit_columns(QTableWidget* table) {
  const bool several = table->columnCount() > 1;
  QHeaderView& header = *table->horizontalHeader();
  const int letter = table->fontMetrics().averageCharWidth();
  header.setMinimumSectionSize(kLeastLetters * letter);
  header.setMaximumSectionSize(several ? kMostLetters * letter : -1);
  header.setSectionResizeMode(several ? QHeaderView::ResizeToContents : QHeaderView::Stretch);
}

void name_columns(QTableWidget* table, const QStringList& names) {
  const QStringList shown = short_names(names, kNameLetters);
  for (int n = 0; n < static_cast<int>(names.size()); ++n) {
    auto* header = new QTableWidgetItem(shown[n]);
    header->setToolTip(names[n]);
    table->setHorizontalHeaderItem(n, header);
  }
  table->horizontalHeader()->setVisible(names.size() > 1);
}

void fit_height(QTableWidget* table) {
  int height = table->horizontalHeader()->isHidden() ? 4 : table->horizontalHeader()->sizeHint().height() + 4;
  height += table->columnCount() > 1 ? table->horizontalScrollBar()->sizeHint().height() : 0;
  for (int row = 0; row < table->rowCount(); ++row) {
    height += table->isRowHidden(row) ? 0 : table->rowHeight(row);
  }
  table->setFixedHeight(height);
}

void set_text(QTableWidget* table, int row, int column, const QString& text) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(text);
  table->setItem(row, column, item);
}

void draw_shares(QTableWidget* table) {
  table->setItemDelegate(new ShareDelegate(table));
}

void set_share(QTableWidgetItem* token, double share, const QString& text) {
  token->setData(kShareRole, share);
  token->setData(kShareTextRole, text);
}

}  // namespace locus::workbench
