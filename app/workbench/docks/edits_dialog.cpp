#include "app/workbench/docks/edits_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "app/workbench/state/edit_actions.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kUsualLength = 20;  // of what has not run yet
constexpr int kTypingPauseMs = 150;        // before what is typed runs

constexpr std::array<EditPreset, 15> kPresets{
    {{"A head gives nothing", "head {P} zero"},
     {"A head gives its mean", "head {P} mean"},
     {"A head looks at all keys alike", "head {P} uniform"},
     {"All heads without positions", "head all.all content"},
     {"A gap of 64 after token 10", "shift 10:{T} by 64"},
     {"Nobody sees the first token", "edge all.all queries 1:{T} keys 0:1"},
     {"The fastest pairs stand still", "pairs all.all 0:4 still"},
     {"ALiBi's bias", "bias all.all -d*2^(-8*h/H)"},
     {"Kerple's bias", "bias all.all -ln(1+d)"},
     {"A FIRE-like bias", "bias all.all -0.5*ln(0.1*d+1)/ln(0.1*max(i,L)+1)"},
     {"A soft window", "bias all.all d < 64 ? 0 : -2"},
     {"Positions interpolated by 4", "angles all.all base^(-m/M)/4"},
     {"NTK-aware scaling by 4", "angles all.all (base*4^(D/(D-2)))^(-m/M)"},
     {"Rotation of the fast half alone", "angles all.all m < M/2 ? base^(-m/M) : 0"},
     {"A larger base", "angles all.all 500000^(-m/M)"}}};

// Templates for texts with pictures.
constexpr std::array<EditPreset, 8> kPicturePresets{
    {{"Pictures count as text", "positions flat"},
     {"A picture takes 16 positions (V2PE)", "positions as v2pe"},
     {"Pictures stand around the diagonal (VideoRoPE)", "positions as videorope"},
     {"The same, and no time (HoPE)", "positions as hope"},
     {"Rows and columns count from 0 (OmniRoPE)", "positions as omnirope"},
     {"Cells on a circle around the words (CircleRoPE)", "positions as circlerope"},
     {"The first picture two rows lower", "shift image 0 by 0,2,0"},
     {"Nobody sees its first cell", "mask image 0 0:1,0:1"}}};

// Templates for models with layers without a softmax.
constexpr std::array<EditPreset, 5> kMixerPresets{
    {{"No layer without a softmax forgets", "decay all.all keep"},
     {"What is forgotten does not depend on the text", "decay all.all mean"},
     {"The first token writes nothing", "unwrite all.all 0:1"},
     {"The first token is forgotten at once", "reset all.all at 1"},
     {"A mixer's heads give nothing", "mixer zero all.all"}}};

constexpr std::array<EditPreset, 1> kGatePresets{
    {{"The first token is not counted by this head", "gates {P} tokens 0:1 0"}}};
constexpr std::array<EditPreset, 2> kForgetPresets{
    {{"Nothing is forgotten: all gates are 1", "gates all.all 1"},
     {"What is forgotten does not depend on the text: gates are their mean", "gates all.all mean"}}};

constexpr std::array<EditPreset, 4> kBetaPresets{
    {{"No token changes the keys before it: all β are 0", "beta all.all 0"},
     {"Every token erases its direction: all β are 1", "beta all.all 1"},
     {"How much tokens change does not depend on the text: β are their mean", "beta all.all mean"},
     {"What tokens change does not depend on the text: directions are their mean", "direction all.all mean"}}};

constexpr std::array<EditPreset, 3> kPlacePresets{
    {{"Every token stands at its index", "place all.all index"},
     {"Tokens stand in the order of the text", "place all.all sorted"},
     {"This head moves the first token by 5", "place {P} tokens 0:1 by 5"}}};

}  // namespace

EditsDialog::EditsDialog(Studio& studio, int id, QWidget* parent) : QDialog(parent), studio_(studio), id_(id) {
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  const QString name = checkpoint == nullptr ? QString() : qt(checkpoint->name);
  make_lasting(this, "edits", QStringLiteral("Edits: %1").arg(name));
  auto* column = new QVBoxLayout(this);
  auto* about =
      new QLabel(QStringLiteral("Edits of the model during its runs, in a column beside the "
                                "unedited one. Each line is an edit: see the page <a href=\"edits\">edits</a> of the "
                                "manual."),
                 this);
  about->setObjectName(QStringLiteral("edits-about"));
  about->setWordWrap(true);
  connect(about, &QLabel::linkActivated, this, [this](const QString& page) { show_manual_page(this, page); });
  column->addWidget(about);
  list_ = make_named<QListWidget>(this, "edits-list", QStringLiteral("Edits"));
  column->addWidget(list_, 1);
  presets_ = make_named<QComboBox>(this, "edits-presets", QStringLiteral("Begin with"));
  presets_->addItem(QStringLiteral("Begin with…"));
  const auto offer = [this](std::span<const EditPreset> presets) {
    for (const EditPreset& preset : presets) {
      presets_->addItem(QString::fromUtf8(preset.name), QLatin1String(preset.text));
    }
  };
  if (checkpoint != nullptr && checkpoint->trace && !checkpoint->trace->images().empty()) {
    offer(kPicturePresets);
  }
  if (checkpoint != nullptr && checkpoint->info() != nullptr && checkpoint->info()->has_mixers()) {
    offer(kMixerPresets);
  }
  if (checkpoint != nullptr && checkpoint->info() != nullptr && checkpoint->info()->has_gates()) {
    offer(kGatePresets);
  }
  if (checkpoint != nullptr && checkpoint->info() != nullptr && checkpoint->info()->forgets()) {
    offer(kForgetPresets);
  }
  if (checkpoint != nullptr && checkpoint->info() != nullptr && checkpoint->info()->learns_positions()) {
    offer(kPlacePresets);
  }
  if (checkpoint != nullptr && checkpoint->info() != nullptr && checkpoint->info()->transforms()) {
    offer(kBetaPresets);
  }
  offer(kPresets);
  column->addWidget(presets_);
  line_ = make_named<QLineEdit>(this, "edits-line", QStringLiteral("Another edit"));
  line_->setPlaceholderText(
      QStringLiteral("head %1 zero, shift 40:41 by -32, bias all.all -d/8 …").arg(qt(shown_head())));
  line_->setMinimumWidth(48 * fontMetrics().averageCharWidth());
  column->addWidget(line_);
  error_label_ = make_label(this, "edits-error");
  column->addWidget(error_label_);
  auto* buttons = new QHBoxLayout;
  auto* keep = make_button<QPushButton>(this, "edits-keep", QStringLiteral("&Keep this edit"));
  auto* remove = make_button<QPushButton>(this, "edits-remove", QStringLiteral("&Remove"));
  auto* box = new QDialogButtonBox(QDialogButtonBox::Close, this);
  for (QPushButton* button : {keep, remove}) {
    button->setAutoDefault(false);
    buttons->addWidget(button);
  }
  box->button(QDialogButtonBox::Close)->setAutoDefault(false);
  buttons->addStretch(1);
  buttons->addWidget(box);
  column->addLayout(buttons);
  if (checkpoint != nullptr && !checkpoint->entry.edits.empty()) {
    column_ = id_;
    for (const models::Edit& edit : checkpoint->entry.edits) {
      add_row(models::to_text(edit), true);
    }
  }
  call_after(moved_, kTypingPauseMs, this, &EditsDialog::apply);
  connect(line_, &QLineEdit::textChanged, this, [this] { moved_.start(); });
  connect(line_, &QLineEdit::returnPressed, this, &EditsDialog::take_typed);
  connect(keep, &QPushButton::clicked, this, &EditsDialog::take_typed);
  connect(remove, &QPushButton::clicked, this, &EditsDialog::remove_chosen);
  connect(list_, &QListWidget::itemChanged, this, &EditsDialog::apply_soon);
  connect(presets_, &QComboBox::activated, this, [this](int index) {
    if (index > 0) {
      const Checkpoint* of = studio_.checkpoints().find(id_);
      const std::int64_t length = of != nullptr && of->trace ? of->trace->length() : kUsualLength;
      QString text = presets_->itemData(index).toString();
      text.replace(QStringLiteral("{T}"), QString::number(length));
      line_->setText(text.replace(QStringLiteral("{P}"), qt(shown_head())));
      line_->setFocus();
    }
  });
  connect(box, &QDialogButtonBox::rejected, this, &QDialog::close);
  line_->setFocus();
}

// "3.1" of the column, as the canvas shows it; its mean head is all of them.
std::string EditsDialog::shown_head() const {
  const auto shown = studio_.checkpoints().shown();
  const views::ViewInput input = studio_.view_input();
  for (std::size_t n = 0; n < std::min(shown.size(), input.columns.size()); ++n) {
    if (shown[n]->id == id_) {
      const views::HeadRef head = views::head_of_column(input, n);
      return std::to_string(head.layer) + "." + (head.head < 0 ? "all" : std::to_string(head.head));
    }
  }
  return "0.0";
}

void EditsDialog::add_row(const std::string& text, bool on) {
  auto* row = new QListWidgetItem(qt(text), list_);
  row->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
  row->setCheckState(on ? Qt::Checked : Qt::Unchecked);
}

models::Edits EditsDialog::typed() {
  const std::string text = line_->text().trimmed().toStdString();
  error_label_->clear();
  if (text.empty()) {
    return {};
  }
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  auto edits = models::parse_edit_line(text, static_cast<std::size_t>(list_->count()));
  if (edits.ok() && checkpoint != nullptr && checkpoint->info() != nullptr) {
    const Status fits =
        models::check_edits(*edits, *checkpoint->info(), checkpoint->trace ? checkpoint->trace->length() : 0);
    edits = fits.ok() ? edits : Result<models::Edits>(fits.error());
  }
  if (!edits.ok()) {
    error_label_->setText(qt(message_of_one_edit(edits.error())));
    return {};
  }
  return *edits;
}

models::Edits EditsDialog::edits() {
  models::Edits edits;
  for (int row = 0; row < list_->count(); ++row) {
    const auto edit = models::parse_edit(list_->item(row)->text().toStdString(), static_cast<std::size_t>(row));
    if (edit.ok() && list_->item(row)->checkState() == Qt::Checked) {
      edits.push_back(*edit);
    }
  }
  const models::Edits more = typed();
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

void EditsDialog::take_typed() {
  const models::Edits taken = typed();
  for (const models::Edit& edit : taken) {
    add_row(models::to_text(edit), true);
  }
  if (!taken.empty()) {
    line_->clear();
    apply_soon();
  }
}

void EditsDialog::remove_chosen() {
  delete list_->takeItem(list_->currentRow());
  apply_soon();
}

// As a step of its own for undo().
void EditsDialog::apply_soon() {
  typing_ = false;
  moved_.start();
}

void EditsDialog::apply() {
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  if (checkpoint == nullptr) {
    close();
    return;
  }
  const models::Edits wanted = edits();
  if (studio_.checkpoints().find(column_) != nullptr) {
    studio_.column_actions().change_edits(column_, wanted, !std::exchange(typing_, true));
    return;
  }
  if (wanted.empty()) {
    return;
  }
  session::CheckpointEntry entry = checkpoint->entry;
  entry.shown = true;
  entry.edits = wanted;
  column_ = studio_.column_actions().open_beside(entry);
  typing_ = true;
}

void show_edits(Studio& studio, int id, QWidget* parent) {
  if (studio.checkpoints().find(id) != nullptr) {
    (new EditsDialog(studio, id, parent))->show();
  }
}

}  // namespace locus::workbench
