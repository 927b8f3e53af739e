#include "app/workbench/window/atlas_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <utility>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/numbers.h"
#include "models/api/atlas.h"
#include "models/api/atlas_statistics.h"

namespace locus::workbench {

namespace {

constexpr int kMaxWindows = 1'000'000;
constexpr int kUsualWindows = 200;
constexpr int kLongestWindow = 1 << 20;
constexpr double kSaveSeconds = 5;  // the column grows so often

// On the thread of the work.
Result<models::AtlasSummary> make_atlas_of(const std::filesystem::path& path, const models::AtlasOptions& options,
                                           const models::OnAtlasProgress& progress, const StopToken& stop) {
  LOCUS_TRY(const auto model, models::open(path));
  return models::make_atlas(*model, path, options, progress, stop);
}

}  // namespace

AtlasDialog::AtlasDialog(std::vector<Choice> choices, const QString& folder, QWidget* parent)
    : QDialog(parent), choices_(std::move(choices)), folder_(folder) {
  make_lasting(this, "atlas", QStringLiteral("Make an atlas"));
  resize(620, 410);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(
      make_label(this, "",
                 QStringLiteral("Means over many windows of texts, with intervals, of what all heads of a "
                                "checkpoint do. The file is opened, and grows while you look. "
                                "A file started with the same settings is continued.")));
  add_fields();
  bar_ = make_named<QProgressBar>(this, "atlas-bar", QStringLiteral("Windows that are done"));
  bar_->hide();
  layout->addWidget(bar_);
  status_label_ = make_label(this, "atlas-says");
  layout->addWidget(status_label_);
  layout->addStretch(1);
  auto* buttons = make_close_box(this);
  start_ = buttons->addButton(QStringLiteral("&Start"), QDialogButtonBox::ActionRole);
  give_name(start_, "atlas-start");
  stop_ = buttons->addButton(QStringLiteral("S&top"), QDialogButtonBox::ActionRole);
  give_name(stop_, "atlas-stop");
  layout->addWidget(buttons);
  connect(start_, &QPushButton::clicked, this, &AtlasDialog::start);
  connect(stop_, &QPushButton::clicked, this, &AtlasDialog::stop);
  for (QLineEdit* line : {texts_, file_}) {
    connect(line, &QLineEdit::textChanged, this, [this] { set_busy(false); });
  }
  set_busy(false);
}

AtlasDialog::~AtlasDialog() {
  stop();
}

void AtlasDialog::add_fields() {
  auto* form = new QFormLayout;
  static_cast<QVBoxLayout*>(layout())->addLayout(form);
  model_ = make_named<QComboBox>(this, "atlas-model", QStringLiteral("Checkpoint"));
  for (const Choice& each : choices_) {
    model_->addItem(qt(each.name));
  }
  form->addRow(QStringLiteral("&Checkpoint"), model_);
  texts_ = add_path("atlas-texts", QStringLiteral("T&exts"), QStringLiteral("a text file, or a folder of .txt files"),
                    QStringLiteral("Folder…"), &AtlasDialog::ask_texts);
  windows_ = make_spin_box<QSpinBox>(this, "atlas-windows", QStringLiteral("Windows"), 1, kMaxWindows, kUsualWindows,
                                     QStringLiteral("Windows of the texts, spread over them"));
  form->addRow(QStringLiteral("&Windows"), windows_);
  length_ = make_spin_box<QSpinBox>(this, "atlas-length", QStringLiteral("Tokens of a window"), 0, kLongestWindow, 0,
                                    QStringLiteral("Tokens of a window"));
  length_->setSpecialValueText(QStringLiteral("as trained"));
  form->addRow(QStringLiteral("&Tokens"), length_);
  form->addRow(QStringLiteral("Measure"), make_statistics());
  file_ = add_path("atlas-file", QStringLiteral("&File"), QStringLiteral("NAME.safetensors"), QStringLiteral("Choose…"),
                   &AtlasDialog::ask_file);
}

QWidget* AtlasDialog::make_statistics() {
  constexpr int kAcross = 3;
  auto* boxes = new QWidget(this);
  auto* grid = make_layout<QGridLayout>(boxes, 0);
  for (const models::AtlasStatistic& each : models::atlas_statistics()) {
    const auto n = static_cast<int>(statistics_.size());
    auto* box = new QCheckBox(qt(each.name), boxes);
    box->setObjectName(QStringLiteral("atlas-what-") + qt(each.name));
    box->setChecked(each.usual);
    connect(box, &QCheckBox::toggled, this, [this] { set_busy(busy_); });
    grid->addWidget(box, n / kAcross, n % kAcross);
    statistics_.push_back(box);
  }
  connect(model_, &QComboBox::currentIndexChanged, this, [this] { set_busy(busy_); });
  return boxes;
}

Status AtlasDialog::lack_of(const models::AtlasStatistic& statistic) const {
  const int chosen = model_->currentIndex();
  const auto model = chosen < 0 ? nullptr : choices_[static_cast<std::size_t>(chosen)].model;
  return model ? models::has_statistic(model->info(), statistic.name) : Status();
}

std::vector<std::string> AtlasDialog::chosen_statistics() const {
  std::vector<std::string> chosen;
  for (std::size_t n = 0; n < statistics_.size(); ++n) {
    const models::AtlasStatistic& each = models::atlas_statistics()[n];
    if (statistics_[n]->isChecked() && lack_of(each).ok()) {
      chosen.push_back(each.name);
    }
  }
  return chosen;
}

void AtlasDialog::show_statistics() {
  for (std::size_t n = 0; n < statistics_.size(); ++n) {
    const models::AtlasStatistic& each = models::atlas_statistics()[n];
    const Status has = lack_of(each);
    statistics_[n]->setEnabled(has.ok() && !busy_);
    statistics_[n]->setToolTip(has.ok() ? qt(each.meaning) : qt(has.error().describe()));
  }
}

QLineEdit* AtlasDialog::add_path(const char* name, const QString& label, const QString& placeholder,
                                 const QString& button, QString (AtlasDialog::*ask)()) {
  auto* form = static_cast<QFormLayout*>(layout()->itemAt(layout()->count() - 1)->layout());
  auto* row = new QHBoxLayout;
  QString plain = label;
  auto* line = make_named<QLineEdit>(this, name, plain.remove(QLatin1Char('&')));
  line->setPlaceholderText(placeholder);
  auto* browse = make_button<QPushButton>(this, "", button);
  row->addWidget(line, 1);
  row->addWidget(browse);
  form->addRow(label, row);
  static_cast<QLabel*>(form->labelForField(row))->setBuddy(line);
  connect(browse, &QPushButton::clicked, this, [this, line, ask] {
    const QString path = (this->*ask)();
    if (!path.isEmpty()) {
      line->setText(path);
    }
  });
  return line;
}

QString AtlasDialog::ask_texts() {
  return QFileDialog::getExistingDirectory(this, QStringLiteral("A folder of texts"), folder_);
}

QString AtlasDialog::ask_file() {
  return QFileDialog::getSaveFileName(this, QStringLiteral("The file of the atlas"), folder_,
                                      QStringLiteral("Atlases (*.safetensors)"), nullptr,
                                      QFileDialog::DontConfirmOverwrite);
}

models::AtlasOptions AtlasDialog::options() const {
  models::AtlasOptions options;
  options.corpus = {texts_->text().trimmed().toStdString()};
  options.windows = windows_->value();
  options.length = length_->value();
  options.what = chosen_statistics();
  std::vector<std::string> usual;
  for (const models::AtlasStatistic& each : models::atlas_statistics()) {
    if (each.usual && lack_of(each).ok()) {
      usual.push_back(each.name);
    }
  }
  if (options.what == usual) {
    options.what.clear();  // as on the command line without --what, also of what a closed checkpoint may lack
  }
  options.out = file_->text().trimmed().toStdString();
  if (options.out.extension() != ".safetensors") {
    options.out += ".safetensors";
  }
  options.resume = true;
  options.save_seconds = kSaveSeconds;
  return options;
}

void AtlasDialog::start() {
  const models::AtlasOptions wanted = options();
  told_.clear();
  bar_->setRange(0, windows_->value());
  bar_->setValue(0);
  bar_->show();
  status_label_->setText(QStringLiteral("Opening %1 …").arg(model_->currentText()));
  set_busy(true);
  const std::filesystem::path path = choices_[static_cast<std::size_t>(model_->currentIndex())].path;
  // The thread ends before the dialog does: what it queues for the dialog goes with it.
  work_ = std::jthread([this, path, wanted](const std::stop_token& token) {
    const models::OnAtlasProgress progress = [this](const models::AtlasProgress& now) {
      QMetaObject::invokeMethod(
          this, [this, now] { show_progress(now); }, Qt::QueuedConnection);
    };
    auto made = std::make_shared<Result<models::AtlasSummary>>(make_atlas_of(path, wanted, progress, token));
    QMetaObject::invokeMethod(
        this, [this, made] { show_end(*made); }, Qt::QueuedConnection);
  });
}

void AtlasDialog::tell_begun() {
  const std::filesystem::path file = options().out;
  if (told_.isEmpty() && models::is_atlas(file)) {
    told_ = qt(file.string());
    Q_EMIT begun(told_);
  }
}

void AtlasDialog::show_progress(const models::AtlasProgress& progress) {
  if (!progress.note.empty()) {
    return;
  }
  bar_->setValue(static_cast<int>(progress.done));
  status_label_->setText(QStringLiteral("%1 of %2 windows, %3 a second, %4 left")
                             .arg(progress.done)
                             .arg(progress.windows)
                             .arg(qt(general_text(progress.windows_per_second, 3)),
                                  qt(models::duration_text(1000 * progress.seconds_left))));
  tell_begun();
}

void AtlasDialog::show_end(const Result<models::AtlasSummary>& made) {
  set_busy(false);
  if (!made.ok()) {
    status_label_->setText(made.error().code == ErrorCode::kCancelled ? QStringLiteral("Stopped.")
                                                                      : qt(made.error().describe()));
    return;
  }
  bar_->setValue(static_cast<int>(made->done));
  status_label_->setText(made->stopped
                             ? QStringLiteral("Stopped: %1 of %2 windows are in the file; Start goes on with them.")
                                   .arg(made->done)
                                   .arg(made->windows)
                             : QStringLiteral("All %1 windows are in the file.").arg(made->windows));
  tell_begun();
}

void AtlasDialog::set_busy(bool busy) {
  busy_ = busy;
  show_statistics();
  for (QWidget* each : std::initializer_list<QWidget*>{model_, texts_, windows_, length_, file_}) {
    each->setEnabled(!busy);
  }
  start_->setEnabled(!busy && !choices_.empty() && !texts_->text().trimmed().isEmpty() &&
                     !file_->text().trimmed().isEmpty() && !chosen_statistics().empty());
  stop_->setEnabled(busy);
}

}  // namespace locus::workbench
