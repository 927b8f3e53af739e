// The menus of the main window.
#include <QActionGroup>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <algorithm>
#include <functional>

#include "app/figures/assets.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/export/export.h"
#include "app/workbench/input/find_field.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/window/help.h"
#include "app/workbench/window/main_window.h"

namespace locus::workbench {

namespace {

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
  add_action(menu, QStringLiteral("Open from the &hub's cache…"), {}, [this] {
    ask_hub();
  })->setObjectName(QStringLiteral("open-hub"));
  recent_menu_ = menu->addMenu(QStringLiteral("Open &recent"));
  connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_recent);
  fill_recent();
  menu->addSeparator();
  add_action(menu, QStringLiteral("&New session"), QKeySequence(Qt::CTRL | Qt::Key_N), [this] { new_session(); });
  add_action(menu, QStringLiteral("Open se&ssion…"), {}, [this] { ask_session(); });
  add_action(menu, QStringLiteral("&Save session"), QKeySequence(Qt::CTRL | Qt::Key_S), [this] { save_session(); });
  add_action(menu, QStringLiteral("Save session &as…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
             [this] { save_session_as(); });
  states_menu_ = menu->addMenu(QStringLiteral("Earlier s&tates"));
  connect(states_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_states);
  add_action(menu, QStringLiteral("&Find missing checkpoints…"), {}, [this] { ask_missing(); });
  if (!figures::bundled_session().empty()) {
    add_action(menu, QStringLiteral("Open the &bundled session"), {},
               [this] { open_session(figures::bundled_session()); });
  }
  menu->addSeparator();
  make_export_menu(menu);
  menu->addSeparator();
  add_action(menu, QStringLiteral("&Preferences…"), QKeySequence(Qt::CTRL | Qt::Key_Comma),
             [this] { choose_preferences(); });
  add_action(menu, QStringLiteral("&Messages of this session…"), {}, [this] { show_messages(this, messages_); });
  menu->addSeparator();
  add_action(menu, QStringLiteral("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), [this] { close(); });
}

void MainWindow::make_export_menu(QMenu* menu) {
  const auto written = [this](const auto& files) { say_written(files); };
  const auto copied = [this](const QString& what) {
    return [this, what](const Status& done) {
      say(done ? QStringLiteral("%1 is on the clipboard").arg(what) : QString::fromStdString(done.error().describe()),
          !done);
    };
  };
  const auto add = [&](const char* name, const QString& text, const QKeySequence& keys, std::function<void()> run) {
    add_action(menu, text, keys, std::move(run))->setObjectName(QLatin1String(name));
  };
  add("export-figure", QStringLiteral("&Export figure…"), QKeySequence(Qt::CTRL | Qt::Key_E),
      [this, written] { export_figure(this, *studio_, *settings_, written); });
  add("export-data", QStringLiteral("Export &data…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
      [this, written] { export_data(this, *studio_, written); });
  add("export-all", QStringLiteral("Export all fi&gures of the session…"), {}, [this] { ask_export_all(); });
  add("copy-figure", QStringLiteral("&Copy figure"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
      [this, copied] { copy_figure(*studio_, *settings_, copied(QStringLiteral("the figure"))); });
  add("copy-command", QStringLiteral("Copy as command &line"), {},
      [this, copied] { copy_command(*studio_, copied(QStringLiteral("the command line"))); });
  add("copy-latex", QStringLiteral("Copy La&TeX"), {},
      [this, copied] { copy_latex(*studio_, *settings_, copied(QStringLiteral("the figure's LaTeX"))); });
}

void MainWindow::make_view_menu() {
  QMenu* menu = menuBar()->addMenu(QStringLiteral("&View"));
  auto* group = new QActionGroup(this);
  QMenu* kind = nullptr;  // those of one kind in a menu of their own
  const views::View* before = nullptr;
  for (const views::View* view : views::views()) {
    if (before == nullptr || before->info().group != view->info().group) {
      kind = menu->addMenu(QString::fromStdString(views::title_of(view->info().group)));
      kind->setToolTipsVisible(true);
      connect(kind, &QMenu::aboutToShow, this, &MainWindow::fill_views);
    }
    before = view;
    const std::string name = view->info().name;
    QAction* action = add_action(kind, QString::fromStdString(view->info().title), {}, [this, name] {
      session::ViewState state = studio_->state();
      state.view = name;
      state.camera.reset();
      studio_->change(state);
    });
    action->setCheckable(true);
    action->setData(QString::fromStdString(name));
    group->addAction(action);
    view_actions_ << action;
  }
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
  add_layouts(menu);
  add_action(menu, QStringLiteral("F&ull screen"), QKeySequence(Qt::Key_F11),
             [this] { isFullScreen() ? showNormal() : showFullScreen(); });
  hide_action_ = add_action(menu, QStringLiteral("&Hide everything but the figure"), QKeySequence(Qt::CTRL | Qt::Key_B),
                            [this] { set_ui_hidden(!ui_hidden_); });
  captions_action_ = add_action(menu, QStringLiteral("&Captions of views"), {}, [this] {
    settings_->setValue(QStringLiteral("captions"), captions_action_->isChecked());
    show_captions();
  });
  captions_action_->setObjectName(QStringLiteral("captions"));
  captions_action_->setCheckable(true);
  dark_action_ = add_action(menu, QStringLiteral("&Dark theme"), {}, [this] { set_theme(!dark_); });
  dark_action_->setCheckable(true);
  add_action(menu, QStringLiteral("&Larger text"), QKeySequence(Qt::CTRL | Qt::Key_Plus), [this] {
    set_scale(scale_ * kScaleStep);
  })->setObjectName(QStringLiteral("larger-text"));
  add_action(menu, QStringLiteral("&Smaller text"), QKeySequence(Qt::CTRL | Qt::Key_Minus), [this] {
    set_scale(scale_ / kScaleStep);
  })->setObjectName(QStringLiteral("smaller-text"));
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
  add_action(go_menu_, QStringLiteral("&Find in the text, or go to a token…"), QKeySequence(Qt::CTRL | Qt::Key_F),
             [this] {
               input_->show();
               input_->find().setFocus();
               input_->find().selectAll();
             });
  bookmarks_menu_ = go_menu_->addMenu(QStringLiteral("&Figures of this session"));
  connect(bookmarks_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_bookmarks);
  add_action(go_menu_, QStringLiteral("&Keep this view in the session…"), QKeySequence(Qt::CTRL | Qt::Key_D), [this] {
    keep_view();
  })->setObjectName(QStringLiteral("keep-view"));
  add_action(go_menu_, QStringLiteral("&Any command…"), QKeySequence(Qt::CTRL | Qt::Key_K), [this] { show_palette(); });
}

void MainWindow::make_help_menu() {
  QMenu* menu = menuBar()->addMenu(QStringLiteral("&Help"));
  add_action(menu, QStringLiteral("&What this view shows"), QKeySequence(Qt::Key_F1),
             [this] { show_view_help(this, *studio_); });
  add_action(menu, QStringLiteral("&Getting started"), {}, [this] {
    show_welcome();
  })->setObjectName(QStringLiteral("getting-started"));
  add_action(menu, QStringLiteral("&Manual"), {}, [this] { show_manual(this); });
  add_action(menu, QStringLiteral("&Keys\t?"), {}, [this] { show_keys(this); });
  add_action(menu, QStringLiteral("&Position encodings"), {}, [this] { show_encodings(this); });
  add_action(menu, QStringLiteral("Attention is &not explanation"), {}, [this] { show_caution(this); });
  add_action(menu, QStringLiteral("&About Locus"), {}, [this] { show_about(this); });
}

void MainWindow::fill_views() {
  const auto columns = studio_->view_input().columns;
  for (QAction* action : view_actions_) {
    const auto view = views::find_view(action->data().toString().toStdString());
    if (!view) {
      continue;
    }
    action->setChecked(*view == &studio_->view());
    const Status available = columns.empty() ? Status() : (*view)->available(columns.front());
    action->setEnabled(available.ok());
    action->setToolTip(QString::fromStdString(available.ok() ? (*view)->info().shows : available.error().message));
  }
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
  constexpr std::size_t kMaxEntries = 40;  // a menu is no list to look through: the panel is, and Ctrl+K finds by name
  const auto& figures = studio_->bookmarks();
  for (std::size_t n = 0; n < std::min(figures.size(), kMaxEntries); ++n) {
    bookmarks_menu_->addAction(QString::fromStdString(figures[n].name), this,
                               [this, bookmark = figures[n]] { studio_->show(bookmark); });
  }
  if (figures.size() > kMaxEntries) {
    bookmarks_menu_->addAction(QStringLiteral("and %1 more, in the panel").arg(figures.size() - kMaxEntries), this,
                               [this] {
                                 figures_->show();
                                 figures_->raise();
                               });
  }
  if (bookmarks_menu_->isEmpty()) {
    bookmarks_menu_->addAction(QStringLiteral("none yet"))->setEnabled(false);
  }
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

}  // namespace locus::workbench
