// The menus of the main window and what they do.
#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QInputDialog>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <functional>

#include "app/session/portable.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas_link.h"
#include "app/workbench/checkpoints_dock.h"
#include "app/workbench/export.h"
#include "app/workbench/figures_dock.h"
#include "app/workbench/help.h"
#include "app/workbench/input_dock.h"
#include "app/workbench/inspector_dock.h"
#include "app/workbench/main_window.h"
#include "app/workbench/missing_dialog.h"
#include "app/workbench/preferences.h"
#include "app/workbench/theme.h"
#include "app/workbench/view_bar.h"

namespace locus::workbench {

namespace {

constexpr int kRecent = 10;
constexpr double kScaleStep = 1.1;

}  // namespace

QAction* MainWindow::add_action(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run) {
  auto* action = new QAction(text, this);
  action->setShortcut(keys);
  connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
  menu->addAction(action);
  addAction(action);  // works while the menu bar is hidden
  return action;
}

void MainWindow::make_menus() {
  make_file_menu();
  make_view_menu();
  make_go_menu();
  make_help_menu();
}

void MainWindow::make_file_menu() {
  QMenu* menu = menuBar()->addMenu(QStringLiteral("&File"));
  add_action(menu, QStringLiteral("&Open checkpoint folder…"), QKeySequence(Qt::CTRL | Qt::Key_O),
             [this] { ask_open_folder(); });
  add_action(menu, QStringLiteral("Open &file…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
             [this] { ask_open(); });
  recent_menu_ = menu->addMenu(QStringLiteral("Open &recent"));
  connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_recent);
  fill_recent();
  menu->addSeparator();
  add_action(menu, QStringLiteral("Open se&ssion…"), {}, [this] { ask_session(); });
  add_action(menu, QStringLiteral("&Save session…"), QKeySequence(Qt::CTRL | Qt::Key_S), [this] { save_session_as(); });
  add_action(menu, QStringLiteral("&Find missing checkpoints…"), {}, [this] { ask_missing(); });
  if (!bundled_session().empty()) {
    add_action(menu, QStringLiteral("Open the &bundled session"), {}, [this] { open_session(bundled_session()); });
  }
  menu->addSeparator();
  add_action(menu, QStringLiteral("&Export figure…"), QKeySequence(Qt::CTRL | Qt::Key_E),
             [this] { export_figure(this, *studio_, [this](const auto& files) { say_written(files); }); });
  add_action(menu, QStringLiteral("Export &data…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
             [this] { export_data(this, *studio_, [this](const auto& files) { say_written(files); }); });
  add_action(menu, QStringLiteral("&Copy figure"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] {
    copy_figure(*studio_, false, [this](const Status& copied) {
      say(copied ? QStringLiteral("the figure is on the clipboard") : QString::fromStdString(copied.error().describe()),
          !copied);
    });
  });
  menu->addSeparator();
  add_action(menu, QStringLiteral("&Preferences…"), QKeySequence(Qt::CTRL | Qt::Key_Comma),
             [this] { choose_preferences(); });
  add_action(menu, QStringLiteral("&Messages of this session…"), {}, [this] { show_messages(this, messages_); });
  menu->addSeparator();
  add_action(menu, QStringLiteral("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), [this] { close(); });
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

void MainWindow::make_view_menu() {
  QMenu* menu = menuBar()->addMenu(QStringLiteral("&View"));
  views_menu_ = menu;
  auto* group = new QActionGroup(this);
  for (const views::View* view : views::views()) {
    const std::string name = view->info().name;
    QAction* action = add_action(menu, QString::fromStdString(view->info().title), {}, [this, name] {
      ViewState state = studio_->state();
      state.view = name;
      state.camera.reset();
      studio_->change(state);
    });
    action->setCheckable(true);
    action->setData(QString::fromStdString(name));
    group->addAction(action);
  }
  connect(menu, &QMenu::aboutToShow, this, &MainWindow::fill_views);
  // Always: a disabled action's keys do nothing.
  connect(studio_.get(), &Studio::state_changed, this, [this] {
    undo_->setEnabled(studio_->can_undo());
    redo_->setEnabled(studio_->can_redo());
  });
  menu->addSeparator();
  undo_ = add_action(menu, QStringLiteral("&Undo view change"), QKeySequence(Qt::CTRL | Qt::Key_Z),
                     [this] { studio_->undo(); });
  redo_ = add_action(menu, QStringLiteral("&Redo view change"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z),
                     [this] { studio_->redo(); });
  if (link_ != nullptr) {
    add_action(menu, QStringLiteral("&Fit\tF"), {}, [this] { link_->fit(); });
    add_action(menu, QStringLiteral("&Actual size: one cell a pixel\tCtrl+0"), {},
               [this] { canvas_->zoom_to_cells(); });
    add_action(menu, QStringLiteral("Reset the view\tR"), {}, [this] { link_->reset(); });
  }
  menu->addSeparator();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    menu->addAction(dock->toggleViewAction());
  }
  add_action(menu, QStringLiteral("F&ull screen"), QKeySequence(Qt::Key_F11),
             [this] { isFullScreen() ? showNormal() : showFullScreen(); });
  hide_action_ = add_action(menu, QStringLiteral("&Hide everything but the figure"), QKeySequence(Qt::CTRL | Qt::Key_B),
                            [this] { set_ui_hidden(menuBar()->isVisible()); });
  dark_action_ = add_action(menu, QStringLiteral("&Dark theme"), {}, [this] { set_theme(!dark_); });
  dark_action_->setCheckable(true);
  add_action(menu, QStringLiteral("&Larger text"), QKeySequence(Qt::CTRL | Qt::Key_Plus),
             [this] { set_scale(scale_ * kScaleStep); });
  add_action(menu, QStringLiteral("&Smaller text"), QKeySequence(Qt::CTRL | Qt::Key_Minus),
             [this] { set_scale(scale_ / kScaleStep); });
}

void MainWindow::make_go_menu() {
  go_menu_ = menuBar()->addMenu(QStringLiteral("&Go"));
  if (link_ != nullptr) {
    add_action(go_menu_, QStringLiteral("Next layer\t↓"), {}, [this] { link_->move_layer(1); });
    add_action(go_menu_, QStringLiteral("Previous layer\t↑"), {}, [this] { link_->move_layer(-1); });
    add_action(go_menu_, QStringLiteral("Next head\t→"), {}, [this] { link_->move_head(1); });
    add_action(go_menu_, QStringLiteral("Previous head\t←"), {}, [this] { link_->move_head(-1); });
    go_menu_->addSeparator();
  }
  bookmarks_menu_ = go_menu_->addMenu(QStringLiteral("&Figures of this session"));
  connect(bookmarks_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_bookmarks);
  add_action(go_menu_, QStringLiteral("&Keep this view in the session…"), QKeySequence(Qt::CTRL | Qt::Key_D),
             [this] { keep_view(); });
}

void MainWindow::make_help_menu() {
  QMenu* menu = menuBar()->addMenu(QStringLiteral("&Help"));
  add_action(menu, QStringLiteral("&What this view shows"), QKeySequence(Qt::Key_F1),
             [this] { show_view_help(this, *studio_); });
  add_action(menu, QStringLiteral("&Keys\t?"), {}, [this] { show_keys(this); });
  add_action(menu, QStringLiteral("&Position encodings"), {}, [this] { show_encodings(this); });
  add_action(menu, QStringLiteral("Attention is &not explanation"), {}, [this] { show_caution(this); });
  add_action(menu, QStringLiteral("&About Locus"), {}, [this] { show_about(this); });
}

void MainWindow::fill_views() {
  const auto columns = studio_->view_input().columns;
  for (QAction* action : views_menu_->actions()) {
    const auto view = views::find_view(action->data().toString().toStdString());
    if (!action->isCheckable() || !view) {
      continue;
    }
    action->setChecked(*view == &studio_->view());
    const Status available = columns.empty() ? Status() : (*view)->available(columns.front());
    action->setEnabled(available.ok());
    action->setToolTip(QString::fromStdString(available.ok() ? (*view)->info().shows : available.error().message));
  }
  views_menu_->setToolTipsVisible(true);
}

void MainWindow::fill_recent() {
  recent_menu_->clear();
  const QStringList recent = settings_->value(QStringLiteral("recent")).toStringList();
  for (const QString& path : recent) {
    recent_menu_->addAction(path, this, [this, path] { open_path(path.toStdString()); });
  }
  recent_menu_->setEnabled(!recent.isEmpty());
}

void MainWindow::fill_bookmarks() {
  bookmarks_menu_->clear();
  for (const Bookmark& bookmark : studio_->bookmarks()) {
    bookmarks_menu_->addAction(QString::fromStdString(bookmark.name), this,
                               [this, bookmark] { studio_->show(bookmark); });
  }
  if (bookmarks_menu_->isEmpty()) {
    bookmarks_menu_->addAction(QStringLiteral("none yet"))->setEnabled(false);
  }
}

void MainWindow::remember(const std::filesystem::path& path) {
  QStringList recent = settings_->value(QStringLiteral("recent")).toStringList();
  const QString name = QString::fromStdString(path.string());
  recent.removeAll(name);
  recent.prepend(name);
  settings_->setValue(QStringLiteral("recent"), QStringList(recent.mid(0, kRecent)));
  fill_recent();
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
    open_session(path.toStdString());
  }
}

void MainWindow::save_session_as() {
  std::error_code code;
  const bool own = !session_path_.empty() && !std::filesystem::equivalent(session_path_, bundled_session(), code) &&
                   session_path_ != config_file(kLastSession);
  QString path = QFileDialog::getSaveFileName(
      this, QStringLiteral("Save the session"),
      own ? QString::fromStdString(session_path_.string()) : QDir::homePath() + QStringLiteral("/session.locus.json"),
      QStringLiteral("Sessions (*.locus.json)"));
  if (path.isEmpty()) {
    return;
  }
  if (!path.endsWith(QStringLiteral(".locus.json"))) {
    path += QStringLiteral(".locus.json");
  }
  const Status saved = save_session(studio_->session(), path.toStdString());
  if (saved) {
    session_path_ = path.toStdString();
  }
  say(saved ? QStringLiteral("saved: %1").arg(path) : QString::fromStdString(saved.error().describe()), !saved);
}

void MainWindow::keep_view() {
  bool ok = false;
  const QString name =
      QInputDialog::getText(this, QStringLiteral("Keep this view"), QStringLiteral("Name"), QLineEdit::Normal,
                            QString::fromStdString(studio_->view().info().title), &ok);
  if (ok && !name.isEmpty()) {
    studio_->add_bookmark(name.toStdString());
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

// ---- look

void MainWindow::set_theme(bool dark) {
  dark_ = dark;
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), dark);
  dark_action_->setChecked(dark);
  settings_->setValue(QStringLiteral("dark"), dark);
  if (link_ != nullptr) {
    link_->set_dark(dark);
  }
}

void MainWindow::set_scale(double scale) {
  scale_ = std::clamp(scale, 0.6, 3.0);
  QFont font = QApplication::font();
  font.setPointSizeF(10 * scale_);
  QApplication::setFont(font);
  settings_->setValue(QStringLiteral("scale"), scale_);
  if (link_ != nullptr) {
    link_->set_scale(scale_);
  }
}

void MainWindow::set_ui_hidden(bool hidden) {
  menuBar()->setVisible(!hidden);
  statusBar()->setVisible(!hidden);
  view_bar_->setVisible(!hidden);
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    dock->setVisible(!hidden);
  }
}

void MainWindow::choose_preferences() {
  const Preferences now{models::runtime().threads, studio_->memory_limit_mb(), scale_, dark_};
  const auto wanted = ask_preferences(this, now);
  if (!wanted) {
    return;
  }
  if (wanted->threads != now.threads) {
    models::set_threads(wanted->threads);
    settings_->setValue(QStringLiteral("threads"), wanted->threads);
  }
  studio_->set_memory_limit_mb(wanted->memory_limit_mb);
  settings_->setValue(QStringLiteral("memory-limit-mb"), static_cast<qlonglong>(wanted->memory_limit_mb));
  set_scale(wanted->scale);
  set_theme(wanted->dark);
}

void MainWindow::restore_layout() {
  resize(1440, 900);
  resizeDocks({checkpoints_, inspector_}, {250, 272}, Qt::Horizontal);
  resizeDocks({input_}, {210}, Qt::Vertical);
  resizeDocks({figures_, checkpoints_}, {420, 300}, Qt::Vertical);
  restoreGeometry(settings_->value(QStringLiteral("geometry")).toByteArray());
  restoreState(settings_->value(QStringLiteral("layout")).toByteArray());
  set_theme(settings_->value(QStringLiteral("dark"), false).toBool());
  set_scale(settings_->value(QStringLiteral("scale"), 1.0).toDouble());
  if (const int threads = settings_->value(QStringLiteral("threads"), 0).toInt();
      threads > 0 && options_.threads == 0) {
    models::set_threads(threads);
  }
  if (options_.memory_limit_mb == 0) {
    studio_->set_memory_limit_mb(settings_->value(QStringLiteral("memory-limit-mb"), 0).toLongLong());
  }
}

}  // namespace locus::workbench
