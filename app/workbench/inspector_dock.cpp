#include "app/workbench/inspector_dock.h"

#include <QGroupBox>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/workbench/state_form.h"

namespace locus::workbench {

namespace {

constexpr int kShareRole = Qt::UserRole;
constexpr int kGateRow = 7;
constexpr int kPositionRow = 8;
constexpr int kEncodingRow = 9;

// A cell with a bar as long as its probability behind the text.
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
    QStyledItemDelegate::paint(painter, option, index);
  }
};

QTableWidget* make_table(const char* name, const QString& accessible, QWidget* parent) {
  auto* table = new QTableWidget(parent);
  table->setObjectName(QLatin1String(name));
  table->setAccessibleName(accessible);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionMode(QAbstractItemView::NoSelection);
  table->setFocusPolicy(Qt::NoFocus);
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  table->horizontalHeader()->setTextElideMode(Qt::ElideMiddle);  // names of columns differ at their ends
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  return table;
}

void fit_height(QTableWidget* table) {
  int height = table->horizontalHeader()->isHidden() ? 4 : table->horizontalHeader()->sizeHint().height() + 4;
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

QString number(float value) {
  return std::isnan(value) ? QStringLiteral("masked") : QString::number(static_cast<double>(value), 'g', 5);
}

}  // namespace

InspectorDock::InspectorDock(Studio& studio, QWidget* parent)
    : QDockWidget(QStringLiteral("Inspector"), parent), studio_(studio) {
  setObjectName(QStringLiteral("inspector-dock"));
  auto* body = new QWidget(this);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->addWidget(make_cell());
  layout->addWidget(make_predictions());
  layout->addWidget(make_colors());
  layout->addStretch(1);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(body);
  setWidget(scroll);
  connect(&studio_, &Studio::cells_changed, this, &InspectorDock::show_cell);
  connect(&studio_, &Studio::state_changed, this, &InspectorDock::show_state);
  connect(&studio_, &Studio::figure_changed, this, &InspectorDock::show_colors);
  connect(&studio_, &Studio::runs_changed, this, &InspectorDock::show_predictions);
  connect(&studio_, &Studio::runs_changed, this, &InspectorDock::show_cell);  // which rows there are
  show_cell();
  show_state();
  show_predictions();
}

QWidget* InspectorDock::make_cell() {
  auto* box = new QGroupBox(QStringLiteral("Cell"), this);
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(4, 4, 4, 4);
  cell_ = make_table("cell", QStringLiteral("Values of the selected cell"), box);
  cell_->setRowCount(10);
  cell_->setVerticalHeaderLabels({QStringLiteral("query"), QStringLiteral("key"), QStringLiteral("Δ = i − j"),
                                  QStringLiteral("content logit"), QStringLiteral("position part"),
                                  QStringLiteral("logit"), QStringLiteral("weight"), QStringLiteral("gate"),
                                  QStringLiteral("position"), QStringLiteral("encoding")});
  layout->addWidget(cell_);
  return box;
}

QWidget* InspectorDock::make_predictions() {
  auto* box = new QGroupBox(QStringLiteral("Next token"), this);
  predictions_box_ = box;
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(4, 4, 4, 4);
  predictions_title_ = new QLabel(box);
  predictions_title_->setWordWrap(true);
  layout->addWidget(predictions_title_);
  predictions_ = make_table("predictions", QStringLiteral("Most likely next tokens"), box);
  predictions_->setColumnCount(2);
  predictions_->horizontalHeader()->hide();
  predictions_->verticalHeader()->hide();
  predictions_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  predictions_->horizontalHeader()->setMinimumSectionSize(48);
  predictions_->setItemDelegateForColumn(1, new ShareDelegate(predictions_));
  layout->addWidget(predictions_);
  return box;
}

QWidget* InspectorDock::make_colors() {
  auto* box = new QGroupBox(QStringLiteral("Colours"), this);
  colors_box_ = box;
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(0, 0, 0, 0);
  colors_ = new StateForm(state_fields(), StateField::Place::kColors, box);
  layout->addWidget(colors_);
  connect(colors_, &StateForm::changed, this, [this] { studio_.change(colors_->edited(studio_.state())); });
  return box;
}

void InspectorDock::set_column(std::size_t column) {
  column_ = column;
  show_predictions();
}

void InspectorDock::show_cell() {
  const auto& cells = studio_.cells();
  cell_->clearContents();
  const int columns = std::max(1, static_cast<int>(cells.size()));
  cell_->setColumnCount(columns);
  cell_->horizontalHeader()->setVisible(cells.size() > 1);
  if (cells.empty()) {
    set_text(cell_, 0, 0, QStringLiteral("point at a cell"));
  }
  for (int n = 0; n < static_cast<int>(cells.size()); ++n) {
    const Cell& cell = cells[static_cast<std::size_t>(n)];
    auto* header = new QTableWidgetItem(QString::fromStdString(cell.column));
    header->setToolTip(header->text());
    cell_->setHorizontalHeaderItem(n, header);
    set_text(cell_, 0, n, QStringLiteral("%1  “%2”").arg(cell.query).arg(QString::fromStdString(cell.query_token)));
    set_text(cell_, 1, n, QStringLiteral("%1  “%2”").arg(cell.key).arg(QString::fromStdString(cell.key_token)));
    set_text(cell_, 2, n, QString::number(cell.query - cell.key));
    for (int row = 0; row < static_cast<int>(cell.values.size()); ++row) {
      const auto& value = cell.values[static_cast<std::size_t>(row)].value;
      set_text(cell_, 3 + row, n, value ? number(*value) : QStringLiteral("–"));
    }
    const auto shown = studio_.columns();
    if (static_cast<std::size_t>(n) < shown.size()) {
      const std::string obeyed = models::layer_text(*shown[static_cast<std::size_t>(n)]->info(), studio_.state().layer);
      set_text(cell_, kEncodingRow, n, QString::fromStdString(obeyed));
    }
  }
  const auto columns_shown = studio_.columns();
  const bool gates = std::any_of(columns_shown.begin(), columns_shown.end(),
                                 [](const Checkpoint* column) { return column->info()->has_gates; });
  cell_->setRowHidden(kGateRow, !gates);
  cell_->setRowHidden(kPositionRow, !gates);
  fit_height(cell_);
}

void InspectorDock::show_state() {
  colors_->show_state(studio_.state());
}

void InspectorDock::show_colors() {
  const auto& figure = studio_.figure();
  if (!figure) {
    return;  // what was possible stays so while the next is made
  }
  const auto colored = [](const figure::Layer& layer) {
    return std::holds_alternative<figure::HeatMap>(layer) || std::holds_alternative<figure::TokenStrip>(layer);
  };
  colors_box_->setEnabled(std::any_of(figure->panels.begin(), figure->panels.end(), [&](const figure::Panel& panel) {
    return std::any_of(panel.layers.begin(), panel.layers.end(), colored);
  }));
}

void InspectorDock::show_predictions() {
  const auto columns = studio_.columns();
  const Checkpoint* shown = columns.empty() ? nullptr : columns[std::min(column_, columns.size() - 1)];
  predictions_->setRowCount(0);
  const bool image = shown != nullptr && shown->trace->image_grid().rows > 0;
  predictions_box_->setTitle(image ? QStringLiteral("What the image shows") : QStringLiteral("Next token"));
  predictions_title_->setVisible(columns.size() > 1 || shown == nullptr || shown->top.empty());
  predictions_title_->setText(shown == nullptr     ? QStringLiteral("Nothing has run yet.")
                              : shown->top.empty() ? QStringLiteral("This trace holds no predictions.")
                                                   : QString::fromStdString(shown->name));
  if (shown != nullptr) {
    predictions_->setRowCount(static_cast<int>(shown->top.size()));
    for (int row = 0; row < predictions_->rowCount(); ++row) {
      const models::Prediction& each = shown->top[static_cast<std::size_t>(row)];
      set_text(predictions_, row, 0, QString::fromStdString(each.token));
      set_text(predictions_, row, 1,
               QStringLiteral("%1 %").arg(static_cast<double>(each.probability) * 100, 0, 'f', 1));
      predictions_->item(row, 0)->setToolTip(QStringLiteral("id %1").arg(each.id));
      predictions_->item(row, 1)->setData(kShareRole, static_cast<double>(each.probability));
    }
  }
  fit_height(predictions_);
}

}  // namespace locus::workbench
