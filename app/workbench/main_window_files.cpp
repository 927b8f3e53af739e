// What the main window opens and saves, and the dialogs that ask for it.
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QDoubleValidator>
#include <QFileDialog>
#include <QFormLayout>
#include <QLineEdit>
#include <QSettings>
#include <algorithm>

#include "app/session/portable.h"
#include "app/workbench/input_dock.h"
#include "app/workbench/main_window.h"
#include "app/workbench/missing_dialog.h"

namespace locus::workbench {

namespace {

constexpr int kRecent = 10;

}  // namespace

void MainWindow::open_path(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    say(QStringLiteral("%1: there is no such file or folder").arg(QString::fromStdString(path.string())), true);
    return;
  }
  const bool file = std::filesystem::is_regular_file(path, code);
  if (is_session(path)) {
    if (open_session(path)) {
      remember(path);
    }
  } else if (file && is_image(path)) {
    input_->open_image(path);
    remember(path);
  } else if (file && is_text(path)) {
    if (input_->open_text(path)) {
      remember(path);
    }
  } else {
    CheckpointEntry entry;
    entry.path = path;
    opening_.push_back(std::filesystem::weakly_canonical(path, code));
    studio_->open(entry);
    remember_opened();  // it may have been open
  }
}

bool MainWindow::open_session(const std::filesystem::path& path) {
  const auto session = load_session(path);
  if (!session) {
    say(QString::fromStdString(session.error().describe()), true);
    return false;
  }
  if (!may_replace()) {
    return false;
  }
  std::error_code code;
  const bool own = !std::filesystem::equivalent(path, bundled_session(), code) && path != config_file(kLastSession);
  studio_->restore(*session, own ? std::filesystem::absolute(path, code) : std::filesystem::path());
  show_title();
  if (!missing_checkpoints(*session, false).empty()) {
    ask_missing();
  }
  return true;
}

void MainWindow::relocate(const std::filesystem::path& from, const std::filesystem::path& to) {
  studio_->restore(relocated(studio_->session(), from, to), studio_->document().path());
  const auto missing = missing_checkpoints(studio_->session());
  say(QStringLiteral("%1 is %2")
          .arg(QString::fromStdString(from.filename().string()), QString::fromStdString(to.string())) +
      (missing.empty() ? QString() : QStringLiteral("; still missing: %1").arg(missing.size())));
}

void MainWindow::open_first() {
  std::error_code code;
  if (!options_.paths.empty()) {
    // Texts and images need something to run on.
    const bool only_inputs = std::all_of(options_.paths.begin(), options_.paths.end(), [&](const auto& path) {
      return std::filesystem::is_regular_file(path, code) && (is_text(path) || is_image(path));
    });
    if (only_inputs && !bundled_session().empty()) {
      open_session(bundled_session());
    }
    for (const auto& path : options_.paths) {
      open_path(path);
    }
  } else if (std::filesystem::exists(config_file(kLastSession), code)) {
    open_session(config_file(kLastSession));
    // It may be of a file, which it may differ from.
    const std::filesystem::path file = settings_->value(QStringLiteral("session-file")).toString().toStdString();
    if (const auto saved = load_session(file); !file.empty() && saved) {
      studio_->set_saved(file, *saved);
    }
  } else if (std::filesystem::exists(bundled_session(), code)) {
    open_session(bundled_session());
  }
  if (studio_->input() == models::Input{}) {
    studio_->set_text("The quick brown fox jumps over the lazy dog.");
  }
  show_title();
  offer_recovery();
}

void MainWindow::remember(const std::filesystem::path& path) {
  std::error_code code;
  const QString name = QString::fromStdString(std::filesystem::absolute(path, code).lexically_normal().string());
  QStringList recent = settings_->value(QStringLiteral("recent")).toStringList();
  recent.removeAll(name);
  recent.prepend(name);
  settings_->setValue(QStringLiteral("recent"), QStringList(recent.mid(0, kRecent)));
  fill_recent();
}

// Of the checkpoints that the user asked for, those that have opened are recent; those that failed are not.
void MainWindow::remember_opened() {
  for (const Checkpoint& each : studio_->checkpoints()) {
    const auto asked = std::find(opening_.begin(), opening_.end(), each.entry.path);
    const bool opened = each.model || each.trace;
    if (asked != opening_.end() && (opened || each.error)) {
      opening_.erase(asked);
      if (opened) {
        remember(each.entry.path);
      }
    }
  }
}

// Where dialogs begin: beside what was opened last, at first with the bundled checkpoints.
QString MainWindow::folder() const {
  const QStringList recent = settings_->value(QStringLiteral("recent")).toStringList();
  if (!recent.isEmpty()) {
    return QString::fromStdString(std::filesystem::path(recent.front().toStdString()).parent_path().string());
  }
  const auto assets = assets_folder();
  return assets.empty() ? QString() : QString::fromStdString((assets / "checkpoints").string());
}

void MainWindow::ask_open_folder() {
  const QString path = QFileDialog::getExistingDirectory(this, QStringLiteral("Open a checkpoint folder"), folder());
  if (!path.isEmpty()) {
    open_path(path.toStdString());
  }
}

void MainWindow::ask_open() {
  const QStringList paths = QFileDialog::getOpenFileNames(
      this, QStringLiteral("Open checkpoints, traces, sessions, texts or images"), folder(),
      QStringLiteral(
          "All files (*);;Checkpoints and traces (*.safetensors *.bin *.pt *.pth);;Sessions (*.locus.json)"));
  for (const QString& path : paths) {
    open_path(path.toStdString());
  }
}

void MainWindow::ask_session() {
  const QString path = QFileDialog::getOpenFileName(this, QStringLiteral("Open a session"), folder(),
                                                    QStringLiteral("Sessions (*.locus.json)"));
  if (!path.isEmpty()) {
    open_path(path.toStdString());
  }
}

void MainWindow::say_written(const Result<std::vector<std::filesystem::path>>& files) {
  if (!files) {
    say(QString::fromStdString(files.error().describe()), files.error().code != ErrorCode::kCancelled);
  } else if (files->size() == 1) {
    say(QStringLiteral("written: %1").arg(QString::fromStdString(files->front().string())));
  } else {
    say(QStringLiteral("written: %1 files in %2")
            .arg(files->size())
            .arg(QString::fromStdString(files->front().parent_path().string())));
  }
}

void MainWindow::ask_missing() {
  const auto missing = missing_checkpoints(studio_->session());
  if (missing.empty()) {
    say(QStringLiteral("every checkpoint of this session is there"));
    return;
  }
  auto* dialog = new MissingDialog(missing, this);
  connect(dialog, &MissingDialog::located, this, [this, dialog](const QString& from, const QString& to) {
    relocate(from.toStdString(), to.toStdString());
    dialog->set_missing(missing_checkpoints(studio_->session()));
  });
  dialog->show();
}

void MainWindow::ask_what_if(int id) {
  const Checkpoint* checkpoint = studio_->find(id);
  if (checkpoint == nullptr) {
    return;
  }
  QDialog dialog(this);
  dialog.setWindowTitle(QStringLiteral("What if: %1").arg(QString::fromStdString(checkpoint->name)));
  auto* form = new QFormLayout(&dialog);
  auto* base = new QLineEdit(&dialog);
  base->setPlaceholderText(QStringLiteral("as the checkpoint says"));
  base->setValidator(new QDoubleValidator(1.000001, 1e12, 6, base));
  auto* scaling = new QComboBox(&dialog);
  scaling->addItems({QStringLiteral("as the checkpoint says"), QStringLiteral("linear"), QStringLiteral("ntk"),
                     QStringLiteral("dynamic"), QStringLiteral("yarn")});
  auto* factor = new QDoubleSpinBox(&dialog);
  factor->setRange(1, 1024);
  factor->setValue(4);
  form->addRow(QStringLiteral("RoPE base"), base);
  form->addRow(QStringLiteral("RoPE scaling"), scaling);
  form->addRow(QStringLiteral("Factor"), factor);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, &dialog);
  form->addRow(buttons);
  connect(buttons, &QDialogButtonBox::accepted, &dialog, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  if (dialog.exec() != QDialog::Accepted) {
    return;
  }
  CheckpointEntry entry = checkpoint->entry;
  entry.shown = true;
  entry.overrides = {};
  if (base->hasAcceptableInput()) {
    entry.overrides.rope_base = base->text().toDouble();
  }
  if (scaling->currentIndex() > 0) {
    entry.overrides.rope_scaling = scaling->currentText().toStdString() + ":" + to_text(SettingValue(factor->value()));
  }
  studio_->open(entry);
}

}  // namespace locus::workbench
