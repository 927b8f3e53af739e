#include "app/workbench/canvas/view_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QStandardItemModel>
#include <algorithm>
#include <array>

#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/canvas/view_groups.h"
#include "app/workbench/widgets/build.h"

namespace locus::workbench {

namespace {

constexpr int kReferenceLetters = 14;  // of a name in its list, which is wider

// Every view below the heading of its kind, which cannot be chosen.
void fill_views(QComboBox& combo) {
  const views::View* before = nullptr;
  for (const views::View* view : views::views()) {
    if (before == nullptr || before->info().group != view->info().group) {
      combo.addItem(QString::fromStdString(views::title_of(view->info().group)));
      auto* heading = qobject_cast<QStandardItemModel*>(combo.model())->item(combo.count() - 1);
      heading->setFlags(Qt::NoItemFlags);
      QFont font = combo.font();
      font.setBold(true);
      heading->setFont(font);
    }
    combo.addItem(QString::fromStdString(view->info().title), QString::fromStdString(view->info().name));
    before = view;
  }
  combo.setMaxVisibleItems(combo.count());
}

void set_enabled(QComboBox* combo, int index, bool enabled, const QString& why) {
  auto* model = qobject_cast<QStandardItemModel*>(combo->model());
  QStandardItem* item = model == nullptr ? nullptr : model->item(index);
  if (item != nullptr) {
    item->setEnabled(enabled);
    item->setToolTip(why);
  }
}

}  // namespace

ViewBar::ViewBar(Studio& studio, QWidget* parent) : QToolBar(QStringLiteral("View"), parent), studio_(studio) {
  setObjectName(QStringLiteral("view-bar"));
  setMovable(false);
  const auto label = [this](const char* text) {
    return addWidget(new QLabel(QStringLiteral(" ") + QLatin1String(text) + QStringLiteral(" "), this));
  };
  addWidget(new ViewGroups(studio, this));
  label("View");
  view_ = make_named<QComboBox>(this, "view", QStringLiteral("View"), QStringLiteral("The view; F1 explains it"));
  fill_views(*view_);
  addWidget(view_);
  label("  Layer");
  layer_ = make_named<QSpinBox>(this, "layer", QStringLiteral("Layer"));
  addWidget(layer_);
  label("  Head");
  head_ = make_named<QSpinBox>(this, "head", QStringLiteral("Head"),
                               QStringLiteral("Head, from 0, or the mean of all; arrows left and right on the canvas"));
  head_->setMinimum(static_cast<int>(views::kMean));
  head_->setSpecialValueText(QStringLiteral("mean"));
  addWidget(head_);
  of_side_.push_back(label("  Side"));
  side_ =
      make_named<QComboBox>(this, "side", QStringLiteral("Side"),
                            QStringLiteral("Side of an encoder-decoder: the maps of its decoder, of its encoder, or of "
                                           "the decoder (rows) over the encoder; of "
                                           "a vision-language model: of its text (decoder) or of its image tower; of "
                                           "layers without a softmax: the maps that they imply (mixer)"));
  for (const models::Side side : models::kSides) {
    side_->addItem(QString::fromStdString(to_text(side)));
  }
  of_side_.push_back(addWidget(side_));
  of_quantity_.push_back(label("  Quantity"));
  quantity_ =
      make_named<QComboBox>(this, "quantity", QStringLiteral("Quantity"),
                            QStringLiteral("What a cell shows: the weight, or a part of the logit it comes from"));
  for (const models::Quantity quantity : kQuantities) {  // called as --quantity calls them
    quantity_->addItem(QString::fromStdString(models::to_text(quantity)));
  }
  of_quantity_.push_back(addWidget(quantity_));
  label(" ");
  difference_ = new QCheckBox(QStringLiteral("Difference"), this);
  difference_->setObjectName(QStringLiteral("difference"));
  difference_->setToolTip(QStringLiteral(
      "Differences from the reference: with two columns in an additional map, with more in place of their own maps"));
  of_difference_ = addWidget(difference_);
  reference_ =
      make_named<QComboBox>(this, "reference", QStringLiteral("Reference of differences"),
                            QStringLiteral("The reference column of differences; Shift on the canvas switches to it"));
  reference_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  reference_->setMinimumContentsLength(kReferenceLetters);
  of_reference_ = addWidget(reference_);

  for (QComboBox* combo : {view_, side_, quantity_, reference_}) {
    connect(combo, &QComboBox::activated, this, &ViewBar::apply);
  }
  for (QSpinBox* number : {layer_, head_}) {
    connect(number, &QSpinBox::valueChanged, this, &ViewBar::apply);
  }
  connect(difference_, &QCheckBox::toggled, this, &ViewBar::apply);
  connect(&studio_, &Studio::state_changed, this, &ViewBar::refresh);
  connect(&studio_, &Studio::runs_changed, this, &ViewBar::refresh);
  refresh();
}

void ViewBar::refresh() {
  filling_ = true;
  const session::ViewState& state = studio_.state();
  const views::ViewInfo& info = studio_.view().info();
  view_->setCurrentIndex(view_->findData(QString::fromStdString(info.name)));
  layer_->setRange(
      0, std::max(studio_.checkpoints().largest_layer(state.side, state.by_depth), static_cast<int>(state.layer)));
  layer_->setToolTip(state.by_depth ? QStringLiteral("Layer of the deepest column, from 0; the others show the layers "
                                                     "that lie as deep; arrows up and down on the canvas")
                                    : QStringLiteral("Layer, from 0; arrows up and down on the canvas"));
  layer_->setValue(static_cast<int>(state.layer));
  head_->setMaximum(std::max(studio_.checkpoints().largest_head(state.side), static_cast<int>(state.head)));
  head_->setValue(static_cast<int>(state.head));
  layer_->setEnabled(info.uses_layer);
  head_->setEnabled(info.uses_head);
  for (QAction* action : of_side_) {
    action->setVisible(studio_.checkpoints().has_sides());
  }
  for (const models::Side side : models::kSides) {
    const bool there = side == models::Side::kDecoder || studio_.checkpoints().has_side(side);
    qobject_cast<QStandardItemModel*>(side_->model())->item(static_cast<int>(side))->setEnabled(there);
  }
  side_->setCurrentIndex(static_cast<int>(state.side));
  for (QAction* action : of_quantity_) {
    action->setVisible(info.uses_quantity);
  }
  of_difference_->setVisible(info.uses_difference);
  quantity_->setCurrentIndex(
      static_cast<int>(std::find(kQuantities.begin(), kQuantities.end(), state.quantity) - kQuantities.begin()));
  const auto columns = studio_.view_input().columns;
  difference_->setEnabled(columns.size() > 1);
  difference_->setChecked(state.difference);
  of_reference_->setVisible(info.uses_difference && columns.size() > 1);
  QStringList names;
  for (const views::Column& column : columns) {
    names << QStringLiteral("from ") + QString::fromStdString(column.name);
  }
  if (names != names_) {  // else its list may be open
    names_ = names;
    reference_->clear();
    for (const QString& name : names) {
      reference_->addItem(name);
      reference_->setItemData(reference_->count() - 1, name, Qt::ToolTipRole);
    }
  }
  if (!columns.empty()) {
    reference_->setCurrentIndex(static_cast<int>(views::reference_of(studio_.view_input())));
  }
  for (const views::View* view : views::views()) {
    const Status available = columns.empty() ? Status() : view->available(columns.front());
    set_enabled(view_, view_->findData(QString::fromStdString(view->info().name)), available.ok(),
                QString::fromStdString(available.ok() ? view->info().shows : available.error().message));
  }
  const auto any = [&](const auto& has) {
    return std::ranges::any_of(columns, [&](const views::Column& column) { return has(column.trace->model()); });
  };
  const bool gates = any([](const models::ModelInfo& model) { return model.has_gates(); });
  const bool content = any([](const models::ModelInfo& model) { return !model.content().empty(); });
  const bool parts = any([](const models::ModelInfo& model) { return model.has_parts(); });
  const bool mixers = any([](const models::ModelInfo& model) { return model.of_mixers(); });
  const bool transforms = any([](const models::ModelInfo& model) { return model.transforms(); });
  const bool logits = any([](const models::ModelInfo& model) { return !model.of_mixers(); });
  for (int n = 0; n < quantity_->count(); ++n) {
    const models::Quantity quantity = kQuantities[static_cast<std::size_t>(n)];
    const bool of_gates = quantity == models::Quantity::kGate || quantity == models::Quantity::kPosition;
    const bool of_content = quantity == models::Quantity::kContent || quantity == models::Quantity::kContribution;
    const bool of_parts = quantity == models::Quantity::kC2p || quantity == models::Quantity::kP2c;
    const bool of_mixers = quantity == models::Quantity::kImplied;
    const bool of_logits = quantity == models::Quantity::kLogit;
    const bool of_transforms = quantity == models::Quantity::kDeviation || quantity == models::Quantity::kCarried;
    const QString why = of_mixers       ? QStringLiteral("Only layers without a softmax have implied maps: side mixer")
                        : of_logits     ? QStringLiteral("A layer without a softmax has no logits")
                        : of_parts      ? QStringLiteral("Only disentangled attention (DeBERTa) has these parts")
                        : of_transforms ? QStringLiteral("Only PaTH changes keys on their way to a query")
                        : of_gates      ? QStringLiteral("Only contextual encodings (CoPE) have gates and positions")
                        : of_content
                            ? QStringLiteral("This encoding has no part that can be separated from the content")
                            : QString();
    const bool possible = (!of_parts || parts) && (!of_gates || gates) && (!of_content || content || mixers) &&
                          (!of_mixers || mixers) && (!of_logits || logits) && (!of_transforms || transforms);
    set_enabled(quantity_, n, possible, possible ? QString::fromStdString(views::quantity_label(quantity)) : why);
  }
  filling_ = false;
}

void ViewBar::apply() {
  if (filling_) {
    return;
  }
  session::ViewState state = studio_.state();
  const std::string view = view_->currentData().toString().toStdString();
  if (view != state.view) {
    session::show_view(state, view);
  }
  const models::Side side = models::kSides[static_cast<std::size_t>(std::max(0, side_->currentIndex()))];
  if (side != state.side) {
    state.side = side;
    state.camera.reset();  // other tokens
    state.query = state.key = views::kNone;
  }
  state.layer = layer_->value();
  state.head = head_->value();
  state.quantity = kQuantities[static_cast<std::size_t>(std::max(0, quantity_->currentIndex()))];
  state.difference = difference_->isChecked();
  const int last = reference_->count() - 1;
  if (last > 0 && (state.reference != views::kNone || reference_->currentIndex() != last)) {
    state.reference = reference_->currentIndex();  // else the last, whichever that will be
  }
  studio_.change(state);
}

}  // namespace locus::workbench
