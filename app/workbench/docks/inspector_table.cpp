#include "app/workbench/docks/inspector_table.h"

#include <QHeaderView>
#include <QPainter>
#include <QScrollBar>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/short_names.h"

namespace locus::workbench {

namespace {

constexpr int kShareRole = Qt::UserRole;
constexpr int kShareTextRole = Qt::UserRole + 1;
constexpr int kShareMargin = 4;
constexpr int kLeastLetters = 6;  // of a column of values
constexpr int kShortestName = 6;  // of a column, in letters
constexpr int kLongestName = 18;
constexpr int kLongestRowName = 12;  // at the left of a row
constexpr int kHeaderMargin = 5;     // of a name, in pixels
constexpr int kWithoutScroll = 4;    // columns that the narrowest panel shows
constexpr double kSmall = 0.8;       // the type of a row's name above its values
constexpr int kValueMargin = 2;      // on both sides of a value below it

// The values of a row below its name, which runs across all columns: several columns have the width that names beside
// them would take.
class NamedRowDelegate final : public QStyledItemDelegate {
 public:
  explicit NamedRowDelegate(QTableWidget* table) : QStyledItemDelegate(table), table_(*table) {}
  void set_stacked(bool stacked) { stacked_ = stacked; }
  static int name_height(const QFontMetrics& metrics) { return static_cast<int>(kSmall * metrics.height()); }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (!stacked_) {
      QStyledItemDelegate::paint(painter, option, index);
      return;
    }
    const int above = name_height(option.fontMetrics);
    QStyleOptionViewItem value = option;
    initStyleOption(&value, index);
    const QString text = std::exchange(value.text, QString());
    const QRect whole = std::exchange(value.rect, option.rect.adjusted(0, above, 0, 0));
    table_.style()->drawControl(QStyle::CE_ItemViewItem, &value, painter, &table_);
    const QRect room = value.rect.adjusted(kValueMargin, 0, -kValueMargin, 0);
    painter->save();
    painter->setFont(option.font);
    painter->setPen(option.palette.color(QPalette::Text));
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                      option.fontMetrics.elidedText(text, Qt::ElideRight, room.width()));
    painter->restore();
    const QTableWidgetItem* name = table_.verticalHeaderItem(index.row());
    painter->save();
    painter->setClipRect(whole);  // every cell its part of it
    QFont font = option.font;
    font.setPointSizeF(kSmall * font.pointSizeF());
    painter->setFont(font);
    painter->setPen(option.palette.color(QPalette::PlaceholderText));
    const QRect line(table_.columnViewportPosition(0) + kShareMargin, option.rect.top() + 1, table_.viewport()->width(),
                     above);
    painter->drawText(line, Qt::AlignLeft | Qt::AlignVCenter, name == nullptr ? QString() : name->text());
    painter->restore();
  }

 private:
  QTableWidget& table_;
  bool stacked_ = false;
};

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
    const QString text = text_within(option.rect.width(), option.fontMetrics, index);
    const int margin = std::clamp(option.rect.width() - option.fontMetrics.horizontalAdvance(text), 1, kShareMargin);
    painter->setPen(option.palette.color(QPalette::Text));
    painter->drawText(option.rect.adjusted(0, 0, -margin, 0), Qt::AlignRight | Qt::AlignVCenter, text);
    QStyleOptionViewItem token = option;
    token.rect.setRight(option.rect.right() - option.fontMetrics.horizontalAdvance(text) - 2 * margin);
    QStyledItemDelegate::paint(painter, token, index);
  }
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const int share = option.fontMetrics.horizontalAdvance(index.data(kShareTextRole).toString());
    return QStyledItemDelegate::sizeHint(option, index) + QSize(share + 3 * kShareMargin, 0);
  }
  // The narrowest column that shows every share.
  static int least_width(const QFontMetrics& metrics) { return metrics.horizontalAdvance(QStringLiteral("100 %")) + 1; }

 private:
  // "37.5 %", or "38 %" in columns without room for that beside a token of two letters.
  static QString text_within(int width, const QFontMetrics& metrics, const QModelIndex& index) {
    if (metrics.horizontalAdvance(QStringLiteral("100.0 %WW")) + 3 * kShareMargin <= width) {
      return index.data(kShareTextRole).toString();
    }
    const double percent = 100 * index.data(kShareRole).toDouble();
    return percent < 0.5 ? QStringLiteral("<1 %") : QStringLiteral("%1 %").arg(std::lround(percent));
  }
};

}  // namespace

void fit_rows(QTableWidget* table, const QFontMetrics& metrics) {
  table->verticalHeader()->setDefaultSectionSize(metrics.height() + 6);
}

QTableWidget* make_table(const char* name, const QString& accessible, QWidget* parent) {
  auto* table = make_named<QTableWidget>(parent, name, accessible);
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
  table->setItemDelegate(new NamedRowDelegate(table));
  return table;
}

int room_of_value(const QTableWidget* table, int columns) {
  return table->viewport()->width() / std::max(columns, 1) - 2 * kValueMargin;
}

void fit_columns(QTableWidget* table, int value_width) {
  const bool several = table->columnCount() > 1;
  QHeaderView& header = *table->horizontalHeader();
  const QFontMetrics metrics = table->fontMetrics();
  const bool shares = dynamic_cast<ShareDelegate*>(table->itemDelegate()) != nullptr;
  const int share = shares ? ShareDelegate::least_width(metrics) : 0;
  const int value = value_width > 0 && several ? value_width + 2 * kValueMargin : 0;
  header.setMinimumSectionSize(std::max({share, value, kLeastLetters * metrics.averageCharWidth()}));
  header.setSectionResizeMode(QHeaderView::Stretch);
  fit_rows(table, table->fontMetrics());
  if (auto* named = dynamic_cast<NamedRowDelegate*>(table->itemDelegate())) {
    named->set_stacked(several);
    table->verticalHeader()->setVisible(!several);
    const int usual = table->verticalHeader()->defaultSectionSize();
    const int name = several ? NamedRowDelegate::name_height(table->fontMetrics()) : 0;
    table->verticalHeader()->setDefaultSectionSize(usual + name);
  }
}

void fit_rows_of_models(QTableWidget* table, const QStringList& names) {
  const QFontMetrics metrics = table->fontMetrics();
  const QStringList shown = names_within(names, kLongestRowName * metrics.averageCharWidth(), metrics);
  for (int n = 0; n < static_cast<int>(names.size()); ++n) {
    auto* header = new QTableWidgetItem(shown[n]);
    header->setToolTip(names[n]);
    table->setVerticalHeaderItem(n, header);
  }
  if (auto* named = dynamic_cast<NamedRowDelegate*>(table->itemDelegate())) {
    named->set_stacked(false);
  }
  fit_rows(table, metrics);
  table->verticalHeader()->show();
  table->horizontalHeader()->show();
  table->horizontalHeader()->setMinimumSectionSize(metrics.averageCharWidth());
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
}

int width_of_rows(const QTableWidget* table, const QStringList& values) {
  const QFontMetrics metrics = table->fontMetrics();
  const int usual = metrics.horizontalAdvance(QStringLiteral("-0.00001"));
  int width = kLongestRowName * metrics.averageCharWidth() + 4 * kHeaderMargin + 2 * table->frameWidth();
  for (const QString& value : values) {
    width += std::max(usual, metrics.horizontalAdvance(value)) + 4 * kHeaderMargin;
  }
  return width;
}

void name_columns(QTableWidget* table, const QStringList& names) {
  const int count = std::max(1, static_cast<int>(names.size()));
  const QFontMetrics metrics = table->horizontalHeader()->fontMetrics();
  const int letter = metrics.averageCharWidth();
  const int room = table->viewport()->width() / count - 2 * kHeaderMargin;
  const QStringList shown =
      names_within(names, std::clamp(room, kShortestName * letter, kLongestName * letter), metrics);
  for (int n = 0; n < static_cast<int>(names.size()); ++n) {
    auto* header = new QTableWidgetItem(shown[n]);
    header->setToolTip(names[n]);
    table->setHorizontalHeaderItem(n, header);
  }
  table->horizontalHeader()->setVisible(names.size() > 1);
}

void fit_height(QTableWidget* table) {
  int height = table->horizontalHeader()->isHidden() ? 4 : table->horizontalHeader()->sizeHint().height() + 4;
  const bool by_models = table->horizontalHeader()->sectionResizeMode(0) == QHeaderView::ResizeToContents;
  const int least = table->columnCount() * table->horizontalHeader()->minimumSectionSize();
  const int whole = table->verticalHeader()->sizeHint().width() + table->horizontalHeader()->length();
  const bool scrolls = by_models ? whole > table->width() - 2 * table->frameWidth()
                                 : table->columnCount() > kWithoutScroll || least > table->viewport()->width();
  height += scrolls ? table->horizontalScrollBar()->sizeHint().height() : 0;
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
  table->setItemDelegate(new ShareDelegate(table));  // its rows have no names
}

void set_share(QTableWidgetItem* token, double share, const QString& text) {
  token->setData(kShareRole, share);
  token->setData(kShareTextRole, text);
}

}  // namespace locus::workbench
