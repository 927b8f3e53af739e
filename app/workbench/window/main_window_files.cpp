// What the main window opens and saves, and the dialogs that ask for it.
#include <QAbstractItemView>
#include <QDir>
#include <QFileDialog>
#include <QInputDialog>
#include <QSettings>
#include <algorithm>

#include "app/figures/assets.h"
#include "app/session/portable.h"
#include "app/session/recipe.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/what_if_dialog.h"
#include "app/workbench/export/export.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/input/input_files.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/window/help.h"
#include "app/workbench/window/hub_dialog.h"
#include "app/workbench/window/main_window.h"
#include "app/workbench/window/missing_dialog.h"
#include "app/workbench/window/welcome.h"
#include "core/base/atomic_file.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr int kRecent = 10;
constexpr std::size_t kLongestRecipe = std::size_t{64} << 20;

// Its lists of files take more than one.
void choose_several(QFileDialog& dialog) {
  for (const char* name : {"listView", "treeView"}) {
    if (auto* list = dialog.findChild<QAbstractItemView*>(QLatin1String(name))) {
      list->setSelectionMode(QAbstractItemView::ExtendedSelection);
    }
  }
}

// The dialog names the folder that is looked at beside those that are chosen in it.
QStringList chosen_folders(const QStringList& paths) {
  QStringList list;
  for (const QString& path : paths) {
    const bool holds_another = std::any_of(paths.begin(), paths.end(), [&](const QString& other) {
      return other != path && other.startsWith(path.endsWith(QLatin1Char('/')) ? path : path + QLatin1Char('/'));
    });
    if (!holds_another && !list.contains(path)) {
      list << path;
    }
  }
  return list;
}

}  // namespace

void MainWindow::open_path(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    say(QStringLiteral("%1: there is no such file or folder").arg(QString::fromStdString(path.string())), true);
    offer(QStringLiteral("Open another…"), [this] { ask_open(); });
    return;
  }
  const bool file = std::filesystem::is_regular_file(path, code);
  if (session::is_session(path)) {
    if (open_session(path)) {
      remember(path);
    }
  } else if (file && open_figure(path)) {
    remember(path);
  } else if (file && is_image(path)) {
    input_->open_image(path);
    remember(path);
  } else if (file && is_text(path)) {
    if (input_->open_text(path)) {
      remember(path);
    }
  } else {
    session::CheckpointEntry entry;
    entry.path = path;
    opening_.push_back(std::filesystem::weakly_canonical(path, code));
    studio_->open(entry);
    remember_opened();  // it may have been open
  }
}

bool MainWindow::open_figure(const std::filesystem::path& path) {
  const std::string ending = QString::fromStdString(path.extension().string()).toLower().toStdString();
  const bool json = ending == ".json";
  if (!json && ending != ".png" && ending != ".svg" && ending != ".pdf") {
    return false;
  }
  const auto text = json ? read_file(path, kLongestRecipe) : paper::read_recipe(path);
  auto recipe = text ? session::parse_recipe(*text, path.string()) : Result<session::Recipe>(text.error());
  const bool named_so = path.filename().string().ends_with(".recipe.json");
  if (!recipe && (ending == ".png" || (json && !named_so))) {
    return false;  // a picture, a checkpoint's index
  }
  if (!recipe) {
    say(QString::fromStdString(recipe.error().describe()), true);
    return true;
  }
  session::Bookmark figure;
  figure.name = path.stem().string();
  figure.state = recipe->session.state;
  figure.input = recipe->session.input;
  for (const session::CheckpointEntry& entry : recipe->session.checkpoints) {
    if (entry.shown) {
      figure.columns.push_back(entry);
    }
  }
  studio_->show(figure);
  say(QStringLiteral("what %1 shows; Ctrl+Z goes back").arg(QString::fromStdString(path.filename().string())));
  return true;
}

void MainWindow::ask_export_all() {
  const QString folder =
      QFileDialog::getExistingDirectory(this, QStringLiteral("A folder for the figures of the session"));
  if (!folder.isEmpty()) {
    export_all(*studio_, folder.toStdString(), [this](const auto& files) { say_written(files); });
  }
}

bool MainWindow::open_session(const std::filesystem::path& path) {
  const auto session = session::load_session(path);
  if (!session) {
    say(QString::fromStdString(session.error().describe()), true);
    return false;
  }
  if (!may_replace()) {
    return false;
  }
  std::error_code code;
  const bool own =
      !std::filesystem::equivalent(path, figures::bundled_session(), code) && path != config_file(kLastSession);
  studio_->restore(*session, own ? std::filesystem::absolute(path, code) : std::filesystem::path());
  show_title();
  if (!session::missing_checkpoints(*session, false).empty()) {
    ask_missing();
  }
  return true;
}

void MainWindow::relocate(const std::filesystem::path& from, const std::filesystem::path& to) {
  studio_->restore(session::relocated(studio_->session(), from, to), studio_->document().path());
  const auto missing = session::missing_checkpoints(studio_->session());
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
    if (only_inputs && !figures::bundled_session().empty()) {
      open_session(figures::bundled_session());
    }
    for (const auto& path : options_.paths) {
      open_path(path);
    }
  } else if (std::filesystem::exists(config_file(kLastSession), code)) {
    open_session(config_file(kLastSession));
    // It may be of a file, which it may differ from.
    const std::filesystem::path file = settings_->value(QStringLiteral("session-file")).toString().toStdString();
    if (const auto saved = session::load_session(file); !file.empty() && saved) {
      studio_->set_saved(file, *saved);
    }
  } else if (std::filesystem::exists(figures::bundled_session(), code)) {
    open_session(figures::bundled_session());
  }
  if (studio_->input() == models::Input{}) {
    studio_->set_text("The quick brown fox jumps over the lazy dog.");
  }
  show_title();
  offer_recovery();
  if (!settings_->value(QStringLiteral("welcomed"), false).toBool() && options_.paths.empty()) {
    settings_->setValue(QStringLiteral("welcomed"), true);
    show_welcome();
  }
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
  const auto assets = figures::assets_folder();
  return assets.empty() ? QString() : QString::fromStdString((assets / "checkpoints").string());
}

// Several at once, which the system's own dialog cannot: Ctrl and Shift choose more than one.
void MainWindow::ask_open_folder() {
  QFileDialog dialog(this, QStringLiteral("Open checkpoint folders (Ctrl and Shift choose several)"), folder());
  dialog.setObjectName(QStringLiteral("open-folders"));
  dialog.setFileMode(QFileDialog::Directory);
  dialog.setOption(QFileDialog::ShowDirsOnly);
  dialog.setOption(QFileDialog::DontUseNativeDialog);
  choose_several(dialog);
  if (dialog.exec() == QDialog::Accepted) {
    for (const QString& path : chosen_folders(dialog.selectedFiles())) {
      open_path(path.toStdString());
    }
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

void MainWindow::ask_hub() {
  auto* dialog = new HubDialog(*studio_, this);
  connect(dialog, &HubDialog::chosen, this, [this](const QString& folder) { open_path(folder.toStdString()); });
  dialog->show();
}

// The checkpoint as one more column, which reads a text of its own.
void MainWindow::ask_own_text(int id) {
  const Checkpoint* checkpoint = studio_->find(id);
  if (checkpoint == nullptr) {
    return;
  }
  session::CheckpointEntry entry = checkpoint->entry;
  bool ok = false;
  const QString text = QInputDialog::getMultiLineText(
      this, QStringLiteral("A text of its own"),
      QStringLiteral("%1 as one more column that reads this text, whatever is typed below:")
          .arg(QString::fromStdString(checkpoint->name)),
      QString::fromStdString(studio_->input().text.value_or("")), &ok);
  if (ok && !text.isEmpty()) {
    entry.shown = true;
    entry.text = text.toStdString();
    studio_->open(entry);
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
  const auto missing = session::missing_checkpoints(studio_->session());
  if (missing.empty()) {
    say(QStringLiteral("every checkpoint of this session is there"));
    return;
  }
  auto* dialog = new MissingDialog(missing, this);
  connect(dialog, &MissingDialog::located, this, [this, dialog](const QString& from, const QString& to) {
    relocate(from.toStdString(), to.toStdString());
    dialog->set_missing(session::missing_checkpoints(studio_->session()));
  });
  dialog->show();
}

void MainWindow::ask_what_if(int id) {
  if (studio_->find(id) != nullptr) {
    (new WhatIfDialog(*studio_, id, this))->show();
  }
}

void MainWindow::show_welcome() {
  auto* welcome = new Welcome(!figures::bundled_session().empty(), this);
  connect(welcome, &Welcome::figure_wanted, this, [this] {
    const auto& figures = studio_->bookmarks();
    if (figures.empty() && !open_session(figures::bundled_session())) {
      return;
    }
    if (!studio_->bookmarks().empty()) {
      studio_->show(session::Bookmark(studio_->bookmarks().front()));
    }
    figures_->show();
    figures_->raise();
  });
  connect(welcome, &Welcome::text_wanted, this, [this] {
    input_->show();
    activateWindow();
    input_->editor().setFocus();
    input_->editor().selectAll();
  });
  connect(welcome, &Welcome::checkpoint_wanted, this, &MainWindow::ask_open_folder);
  connect(welcome, &Welcome::manual_wanted, this, [this] { show_manual(this); });
  show_at_start(welcome);
}

}  // namespace locus::workbench
