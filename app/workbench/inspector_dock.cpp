#include "app/workbench/inspector_dock.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QScrollArea>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "renderers/figure/colormap.h"

namespace locus::workbench {

namespace {

constexpr int kShareRole = Qt::UserRole;
constexpr int kGateRow = 7;
constexpr int kPositionRow = 8;
constexpr std::array<std::pair<const char*, std::uint32_t>, 3> kMasks = {
    {{"grey", 0xD0D0D0FF}, {"white", 0xFFFFFFFF}, {"black", 0x000000FF}}};

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

std::optional<float> typed(const QLineEdit* edit) {
  bool ok = false;
  const float value = edit->text().toFloat(&ok);
  return ok ? std::optional(value) : std::nullopt;
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
  cell_->setRowCount(9);
  cell_->setVerticalHeaderLabels({QStringLiteral("query"), QStringLiteral("key"), QStringLiteral("Δ = i − j"),
                                  QStringLiteral("content logit"), QStringLiteral("position part"),
                                  QStringLiteral("logit"), QStringLiteral("weight"), QStringLiteral("gate"),
                                  QStringLiteral("position")});
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
  auto* form = new QFormLayout(box);
  form->setContentsMargins(4, 4, 4, 4);
  colormap_ = new QComboBox(box);
  colormap_->addItem(QStringLiteral("automatic"), QString());
  for (const figure::Colormap& map : figure::colormaps()) {
    colormap_->addItem(QString::fromStdString(map.name), QString::fromStdString(map.name));
  }
  colormap_->setToolTip(QStringLiteral("Automatic: viridis, and a zero-centred one for signed values"));
  transfer_ = new QComboBox(box);
  transfer_->setToolTip(QStringLiteral("How values become colours; what is pointed at is always the raw value"));
  transfer_->addItems({QStringLiteral("linear"), QStringLiteral("log"), QStringLiteral("gamma")});
  gamma_label_ = new QLabel(QStringLiteral("Gamma"), box);
  gamma_ = new QDoubleSpinBox(box);
  gamma_->setRange(0.05, 4);
  gamma_->setSingleStep(0.05);
  percentile_ = new QDoubleSpinBox(box);
  percentile_->setRange(50, 100);
  percentile_->setDecimals(1);
  percentile_->setSuffix(QStringLiteral(" %"));
  percentile_->setToolTip(QStringLiteral("An automatic range covers this central share of the values"));
  low_ = new QLineEdit(box);
  high_ = new QLineEdit(box);
  for (QLineEdit* edit : {low_, high_}) {
    edit->setPlaceholderText(QStringLiteral("auto"));
    edit->setToolTip(QStringLiteral("Empty: from the data"));
  }
  low_->setAccessibleName(QStringLiteral("Lower end of the range"));
  high_->setAccessibleName(QStringLiteral("Upper end of the range"));
  mask_ = new QComboBox(box);
  for (const auto& [name, color] : kMasks) {
    mask_->addItem(QLatin1String(name), color);
  }
  mask_->setToolTip(QStringLiteral("The colour of cells that no query may see"));
  reduction_ = new QComboBox(box);
  reduction_->addItems({QStringLiteral("max"), QStringLiteral("mean")});
  reduction_->setToolTip(QStringLiteral("What a pixel shows that stands for several cells"));
  ignore_first_ = new QCheckBox(QStringLiteral("Range ignores the first token"), box);
  ignore_first_->setToolTip(QStringLiteral("Attention often sinks into key 0, and hides the rest"));
  shared_ = new QCheckBox(QStringLiteral("One range for all columns"), box);
  shared_->setToolTip(QStringLiteral("So that the same colour is the same value in every checkpoint"));
  form->addRow(QStringLiteral("Colormap"), colormap_);
  form->addRow(QStringLiteral("Scale"), transfer_);
  form->addRow(gamma_label_, gamma_);
  form->addRow(QStringLiteral("Percentile"), percentile_);
  auto* range = new QHBoxLayout;
  range->addWidget(low_);
  range->addWidget(new QLabel(QStringLiteral("–"), box));
  range->addWidget(high_);
  form->addRow(QStringLiteral("Range"), range);
  form->addRow(QStringLiteral("Masked"), mask_);
  form->addRow(QStringLiteral("Reduction"), reduction_);
  form->addRow(ignore_first_);
  form->addRow(shared_);
  for (QComboBox* combo : {colormap_, transfer_, mask_, reduction_}) {
    connect(combo, &QComboBox::activated, this, &InspectorDock::apply);
  }
  for (QDoubleSpinBox* spin : {gamma_, percentile_}) {
    connect(spin, &QDoubleSpinBox::valueChanged, this, &InspectorDock::apply);
  }
  for (QLineEdit* edit : {low_, high_}) {
    connect(edit, &QLineEdit::editingFinished, this, &InspectorDock::apply);
  }
  for (QCheckBox* check : {ignore_first_, shared_}) {
    connect(check, &QCheckBox::toggled, this, &InspectorDock::apply);
  }
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
  }
  const auto columns_shown = studio_.columns();
  const bool gates = std::any_of(columns_shown.begin(), columns_shown.end(),
                                 [](const Checkpoint* column) { return column->info()->has_gates; });
  cell_->setRowHidden(kGateRow, !gates);
  cell_->setRowHidden(kPositionRow, !gates);
  fit_height(cell_);
}

void InspectorDock::show_state() {
  filling_ = true;
  const ViewState& state = studio_.state();
  const views::ScaleOptions& scale = state.scale;
  colormap_->setCurrentIndex(std::max(0, colormap_->findData(QString::fromStdString(scale.colormap))));
  transfer_->setCurrentIndex(static_cast<int>(scale.transfer));
  gamma_->setValue(static_cast<double>(scale.gamma));
  gamma_->setVisible(scale.transfer == figure::Transfer::kGamma);
  gamma_label_->setVisible(scale.transfer == figure::Transfer::kGamma);
  percentile_->setValue(scale.percentile);
  low_->setText(scale.low ? QString::number(static_cast<double>(*scale.low)) : QString());
  high_->setText(scale.high ? QString::number(static_cast<double>(*scale.high)) : QString());
  mask_->setCurrentIndex(std::max(0, mask_->findData(scale.mask_color)));
  reduction_->setCurrentIndex(state.reduction == models::Reduction::kMax ? 0 : 1);
  ignore_first_->setChecked(state.ignore_first);
  shared_->setChecked(scale.shared);
  filling_ = false;
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

void InspectorDock::apply() {
  if (filling_) {
    return;
  }
  ViewState state = studio_.state();
  views::ScaleOptions& scale = state.scale;
  scale.colormap = colormap_->currentData().toString().toStdString();
  scale.transfer = static_cast<figure::Transfer>(transfer_->currentIndex());
  scale.gamma = static_cast<float>(gamma_->value());
  scale.percentile = percentile_->value();
  scale.low = typed(low_);
  scale.high = typed(high_);
  scale.mask_color = mask_->currentData().toUInt();
  scale.shared = shared_->isChecked();
  state.reduction = reduction_->currentIndex() == 0 ? models::Reduction::kMax : models::Reduction::kMean;
  state.ignore_first = ignore_first_->isChecked();
  studio_.change(state);
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
