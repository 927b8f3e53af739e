#include "app/workbench/docks/checkpoints_dock.h"

#include <QEvent>
#include <QHeaderView>
#include <QInputDialog>
#include <QLocale>
#include <QMenu>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <functional>
#include <utility>

#include "app/views/shared/layer_lines.h"
#include "app/views/shared/measured/atlas_values.h"
#include "app/workbench/docks/edits_dialog.h"
#include "app/workbench/docks/what_if_dialog.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/widgets/short_names.h"
#include "app/workbench/work/checkpoint_list.h"
#include "core/base/numbers.h"
#include "models/api/atlas_trace.h"

namespace locus::workbench {

namespace {

constexpr int kIdRole = Qt::UserRole;
constexpr int kMessageRole = Qt::UserRole + 1;  // of the second column: it says more than the encoding
constexpr int kListed = 20;                     // names of tensors shown
constexpr double kIndentation = 1.1;            // in heights of text
const QString kUsualMessage = QStringLiteral("⚠ no such file");

// Names stand as they were shortened together; what else is said of a checkpoint is read from its beginning.
class SaidDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  // By row of the checkpoint.
  void set_names(const QStringList& shown) { shown_ = shown; }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->textElideMode = Qt::ElideRight;
    if (index.column() == 0 && !index.parent().isValid() && index.row() < shown_.size()) {
      option->text = shown_[index.row()];
    }
  }

 private:
  QStringList shown_;
};

QFont name_font(const QTreeWidget& tree) {
  QFont font = tree.font();
  font.setBold(true);
  return font;
}

// Width before a name: arrow, check box and their margins.
int decoration_of(const QTreeWidget& tree) {
  const QStyle& style = *tree.style();
  const int margin = style.pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, &tree) + 1;
  return tree.indentation() + style.pixelMetric(QStyle::PM_IndicatorWidth, nullptr, &tree) + 4 * margin;
}

// Does something whenever a widget has another size.
class OnResize final : public QObject {
 public:
  OnResize(QWidget* widget, std::function<void()> run) : QObject(widget), run_(std::move(run)) {
    widget->installEventFilter(this);
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Resize) {
      run_();
    }
    return QObject::eventFilter(watched, event);
  }

 private:
  std::function<void()> run_;
};

QString joined(const std::vector<std::string>& names) {
  QStringList list;
  for (std::size_t n = 0; n < names.size() && n < kListed; ++n) {
    list << qt(names[n]);
  }
  if (names.size() > kListed) {
    list << QStringLiteral("… and %1 more").arg(names.size() - kListed);
  }
  return list.join(QLatin1Char('\n'));
}

QString options_text(const Settings& options) {
  QStringList list;
  for (const auto& [name, value] : options.values()) {
    list << qt(name + ": " + to_text(value));
  }
  return list.join(QLatin1Char('\n'));
}

void add_row(QTreeWidgetItem* parent, const QString& name, const QString& value, const QString& tip = {}) {
  auto* row = new QTreeWidgetItem(parent, {name + QStringLiteral(": ") + value});
  row->setFirstColumnSpanned(true);
  row->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
  row->setToolTip(0, tip.isEmpty() ? value : tip);
}

void add_details(QTreeWidgetItem* item, const models::ModelInfo& info) {
  add_row(item, QStringLiteral("family"), qt(info.family));
  // What layers have stands beside their numbers; an encoding of some of them is named once.
  QStringList named;
  for (const models::EncodingUse& encoding : info.encodings) {
    if (!named.contains(qt(encoding.name))) {
      named << qt(encoding.name);
      add_row(item, QStringLiteral("encoding"), qt(encoding.name), options_text(encoding.options));
    }
  }
  if (views::has_layer_lines(info)) {
    for (const auto& [layers, text] : views::layer_lines(info)) {
      add_row(item, qt(layers), qt(text), qt(layers + ": " + text));
    }
  }
  add_row(item, QStringLiteral("heads"), QStringLiteral("%1 × %2").arg(info.layers).arg(info.heads),
          QStringLiteral("layers × heads; %1 key heads").arg(info.kv_heads));
  add_row(item, QStringLiteral("width"), QString::number(info.width),
          QStringLiteral("%1, %2 a head").arg(info.width).arg(info.head_width));
  add_row(item, QStringLiteral("parameters"), qt(short_count(static_cast<double>(info.parameters))),
          QLocale(QLocale::English).toString(static_cast<qlonglong>(info.parameters)));
  if (info.trained_length > 0) {
    add_row(item, QStringLiteral("trained length"), QString::number(info.trained_length));
  }
  add_row(item, QStringLiteral("dtype"), qt(info.dtype));
  if (!info.unexpected.empty()) {
    add_row(item, QStringLiteral("unexpected"), QStringLiteral("%1 tensors").arg(info.unexpected.size()),
            joined(info.unexpected));
  }
  for (const std::string& warning : info.warnings) {
    add_row(item, QStringLiteral("warning"), qt(warning));
  }
}

void add_atlas(QTreeWidgetItem* item, const models::AtlasInfo& info) {
  add_row(item, QStringLiteral("atlas of"), qt(info.checkpoint));
  if (info.step) {
    add_row(item, QStringLiteral("step"), QString::number(*info.step));
  }
  add_row(item, QStringLiteral("encoding"), qt(info.encoding));
  add_row(item, QStringLiteral("heads"), QStringLiteral("%1 × %2").arg(info.layers).arg(info.heads),
          QStringLiteral("layers × heads"));
  add_row(item, QStringLiteral("windows"), qt(views::windows_text(info)));
  for (const models::AtlasCorpus& corpus : info.corpus) {
    add_row(item, QStringLiteral("corpus"), qt(corpus.name), qt(corpus.sha256));
  }
}

}  // namespace

CheckpointsDock::CheckpointsDock(Studio& studio, QWidget* parent)
    : QDockWidget(QStringLiteral("Checkpoints"), parent), studio_(studio) {
  setObjectName(QStringLiteral("checkpoints-dock"));
  auto* body = new QWidget(this);
  auto* layout = make_layout<QVBoxLayout>(body, 4);
  tree_ = new QTreeWidget(body);
  give_name(tree_, "checkpoints", QStringLiteral("Open checkpoints; checked ones are compared"));
  tree_->setColumnCount(2);
  tree_->setHeaderHidden(true);
  tree_->setAlternatingRowColors(true);
  tree_->setContextMenuPolicy(Qt::CustomContextMenu);
  // Names come first: beside one too long for that there is no encoding, which its details and its tooltip say.
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tree_->header()->setSectionResizeMode(1, QHeaderView::Interactive);
  tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  tree_->setIndentation(static_cast<int>(kIndentation * tree_->fontMetrics().ascent()));
  tree_->setItemDelegate(new SaidDelegate(tree_));
  layout->addWidget(tree_);
  new OnResize(tree_, [this] { fit_columns(); });

  auto* bar = new QWidget(body);
  auto* buttons = new FlowLayout(bar, 4);  // in one line where there is room
  buttons->setContentsMargins(0, 0, 0, 0);
  auto* open = make_button<QToolButton>(
      body, "", QStringLiteral("&Open…"),
      QStringLiteral("Open a checkpoint folder or file (Ctrl+O); dropping it on the window does the same"));
  what_if_ = make_button<QToolButton>(
      body, "run-what-if", QStringLiteral("What &if…"),
      QStringLiteral("The same checkpoint with another RoPE base or scaling, as its own column"));
  remove_ = make_button<QToolButton>(body, "", QStringLiteral("&Close"),
                                     QStringLiteral("Close the selected checkpoint and free its memory"));
  edits_ = make_button<QToolButton>(body, "edit-runs", QStringLiteral("&Edits…"),
                                    QStringLiteral("The same checkpoint with moved tokens, ablated heads, masked cells "
                                                   "or a typed bias, as its own column"));
  for (QToolButton* button : {open, what_if_, edits_, remove_}) {
    button->setFocusPolicy(Qt::StrongFocus);
    buttons->addWidget(button);
  }
  layout->addWidget(bar);
  setWidget(body);

  connect(open, &QToolButton::clicked, this, &CheckpointsDock::open_requested);
  connect(what_if_, &QToolButton::clicked, this, &CheckpointsDock::ask_what_if);
  connect(edits_, &QToolButton::clicked, this, &CheckpointsDock::ask_edits);
  connect(remove_, &QToolButton::clicked, this, [this] { studio_.column_actions().remove(selected_id()); });
  connect(tree_, &QTreeWidget::itemChanged, this, &CheckpointsDock::item_changed);
  const auto remember = [this](const QTreeWidgetItem* item, bool open) {
    if (!filling_) {
      expanded_[item->data(0, kIdRole).toInt()] = open;
      fit_columns();
    }
  };
  connect(tree_, &QTreeWidget::itemExpanded, this, [remember](QTreeWidgetItem* item) { remember(item, true); });
  connect(tree_, &QTreeWidget::itemCollapsed, this, [remember](QTreeWidgetItem* item) { remember(item, false); });
  connect(tree_, &QTreeWidget::customContextMenuRequested, this, &CheckpointsDock::show_menu);
  connect(tree_, &QTreeWidget::itemSelectionChanged, this, [this] {
    remove_->setEnabled(selected_id() != 0);
    what_if_->setEnabled(can_vary().ok());
    edits_->setEnabled(can_edit().ok());
  });
  connect(&studio_, &Studio::checkpoints_changed, this, &CheckpointsDock::refresh);
  refresh();
}

int CheckpointsDock::usual_height() const {
  const int row = std::max(tree_->sizeHintForRow(0), fontMetrics().height());
  int rows = 1;
  for (const QTreeWidgetItem* item = tree_->topLevelItem(0); item != nullptr; item = tree_->itemBelow(item)) {
    ++rows;
  }
  return minimumSizeHint().height() - tree_->minimumSizeHint().height() + rows * row + 2 * tree_->frameWidth();
}

int CheckpointsDock::selected_id() const {
  const QTreeWidgetItem* item = tree_->currentItem();
  while (item != nullptr && item->parent() != nullptr) {
    item = item->parent();
  }
  return item == nullptr ? 0 : item->data(0, kIdRole).toInt();
}

void CheckpointsDock::add_item(const Checkpoint& checkpoint, bool expanded) {
  auto* item = new QTreeWidgetItem(tree_);
  item->setText(0, qt(checkpoint.name));
  item->setData(0, kIdRole, checkpoint.id);
  item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
  item->setCheckState(0, checkpoint.entry.shown ? Qt::Checked : Qt::Unchecked);
  item->setFont(0, name_font(*tree_));
  if (checkpoint.opening) {
    item->setText(1, QStringLiteral("opening…"));
  } else if (checkpoint.error) {
    // Shows the reason; the path is above it.
    const QString message = qt(checkpoint.error->message);
    item->setText(1, QStringLiteral("⚠ ") + message);
    item->setToolTip(1, qt(checkpoint.error->describe()));
  } else if (checkpoint.info() == nullptr) {
    item->setText(1, QStringLiteral("opens when shown"));
  }
  item->setData(1, kMessageRole, !item->text(1).isEmpty());
  QString tip = qt(checkpoint.name) + QLatin1Char('\n') + qt(checkpoint.entry.path.string());
  if (const models::ModelInfo* info = checkpoint.info()) {
    const QString encoding = qt(info->first_encoding().name);
    tip += QStringLiteral("\nencoding: ") + encoding;
    if (item->text(1).isEmpty()) {
      item->setText(1, encoding);
      item->setToolTip(1, QStringLiteral("encoding"));
    }
    if (const auto machine = machine_of(checkpoint)) {
      add_row(item, QStringLiteral("machine"), qt(machine->name()), qt(checkpoint.entry.path.string()));
    }
    if (const models::Atlas* const atlas = checkpoint.trace ? models::atlas_of(*checkpoint.trace) : nullptr) {
      add_atlas(item, atlas->info());
    } else {
      add_details(item, *info);
    }
    item->setExpanded(expanded);
  }
  item->setToolTip(0, tip);
}

void CheckpointsDock::refresh() {
  filling_ = true;
  const int selected = selected_id();
  tree_->clear();
  // One checkpoint has the room to say everything; of several the user chooses.
  const bool one = studio_.checkpoints().all().size() == 1;
  for (const Checkpoint& checkpoint : studio_.checkpoints().all()) {
    add_item(checkpoint, expanded_.value(checkpoint.id, one));
    if (checkpoint.id == selected || tree_->currentItem() == nullptr) {
      tree_->setCurrentItem(tree_->topLevelItem(tree_->topLevelItemCount() - 1));
    }
  }
  filling_ = false;
  fit_columns();
  Q_EMIT tree_->itemSelectionChanged();
}

void CheckpointsDock::fit_columns() {
  const QFontMetrics metrics(tree_->font());
  const QFontMetrics bold(name_font(*tree_));
  QStringList names;
  int width = 0;
  int widest = 0;
  bool messages = false;
  for (int n = 0; n < tree_->topLevelItemCount(); ++n) {
    const QTreeWidgetItem* item = tree_->topLevelItem(n);
    names << item->text(0);
    widest = std::max(widest, bold.horizontalAdvance(item->text(0)));
    const QString text = item->text(1);
    const bool message = text.startsWith(QChar(0x26A0));  // it has its tooltip
    width = std::max(width, metrics.horizontalAdvance(message ? kUsualMessage : text));
    messages = messages || item->data(1, kMessageRole).toBool();
  }
  width += 2 * metrics.averageCharWidth();
  // In a narrow panel encodings give way to names, and messages as far as half of it.
  const int whole = tree_->viewport()->width();
  const int rest = whole - widest - decoration_of(*tree_);
  tree_->setColumnHidden(1, !messages && width > rest);
  const int beside = tree_->isColumnHidden(1) ? 0 : std::min(width, std::max(rest, whole / 2));
  tree_->header()->resizeSection(1, beside);
  static_cast<SaidDelegate*>(tree_->itemDelegate())
      ->set_names(names_within(names, whole - beside - decoration_of(*tree_), bold));
  tree_->viewport()->update();
}

void CheckpointsDock::item_changed(QTreeWidgetItem* item) {
  if (!filling_ && item->parent() == nullptr) {
    const int id = item->data(0, kIdRole).toInt();
    const bool shown = item->checkState(0) == Qt::Checked;
    // Later: the tree is rebuilt by this change, and must not be within its own signal.
    QMetaObject::invokeMethod(
        this, [this, id, shown] { studio_.columns().set_shown(id, shown); }, Qt::QueuedConnection);
  }
}

void CheckpointsDock::show_menu(const QPoint& at) {
  const int id = selected_id();
  if (id == 0) {
    return;
  }
  QMenu menu(this);
  const auto add = [&](const QString& text, bool enabled, const std::function<void()>& run) {
    menu.addAction(text, this, run)->setEnabled(enabled);
  };
  add(QStringLiteral("What if…"), can_vary().ok(), [this] { ask_what_if(); });
  add(QStringLiteral("Edits…"), can_edit().ok(), [this] { ask_edits(); });
  add(QStringLiteral("Another column with its own text…"), can_vary().ok(), [this] { ask_own_text(); });
  add(QStringLiteral("Close"), true, [this, id] { studio_.column_actions().remove(id); });
  menu.exec(tree_->viewport()->mapToGlobal(at));
}

Status CheckpointsDock::can_vary() const {
  const Checkpoint* checkpoint = studio_.checkpoints().find(selected_id());
  if (checkpoint == nullptr) {
    return usage("no checkpoint is open");
  }
  return checkpoint->model ? Status() : Status(usage(checkpoint->name + " is no model that runs here"));
}

Status CheckpointsDock::can_edit() const {
  LOCUS_CHECK(can_vary());
  const Checkpoint& checkpoint = *studio_.checkpoints().find(selected_id());
  return checkpoint.model->info().encoder_layers == 0
             ? Status()
             : Status(unsupported(checkpoint.name + " is an encoder-decoder, whose runs cannot be edited"));
}

void CheckpointsDock::ask_what_if() {
  show_what_if(studio_, selected_id(), parentWidget());
}

void CheckpointsDock::ask_edits() {
  show_edits(studio_, selected_id(), parentWidget());
}

void CheckpointsDock::ask_own_text() {
  const Checkpoint* checkpoint = studio_.checkpoints().find(selected_id());
  if (checkpoint == nullptr) {
    return;
  }
  session::CheckpointEntry entry = checkpoint->entry;
  bool ok = false;
  const QString text = QInputDialog::getMultiLineText(
      parentWidget(), QStringLiteral("A text of its own"),
      QStringLiteral("Adds a column of %1 that reads this text, independent of the text typed below:")
          .arg(qt(checkpoint->name)),
      qt(studio_.input().text.value_or("")), &ok);
  if (ok && !text.isEmpty()) {
    entry.shown = true;
    entry.text = text.toStdString();
    studio_.column_actions().open(entry);
  }
}

}  // namespace locus::workbench
