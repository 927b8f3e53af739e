#include "app/workbench/window/main_window.h"

#include <QAbstractSpinBox>
#include <QAccessible>
#include <QApplication>
#include <QCloseEvent>
#include <QDialog>
#include <QDragEnterEvent>
#include <QLabel>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QUrl>
#include <QVBoxLayout>
#include <QVulkanInstance>
#include <utility>

#include "app/figures/assets.h"
#include "app/session/session.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/edit_offer.h"
#include "app/workbench/canvas/effect_strip.h"
#include "app/workbench/canvas/options_bar.h"
#include "app/workbench/canvas/timeline_bar.h"
#include "app/workbench/canvas/view_bar.h"
#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/edits_dialog.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/head_dock.h"
#include "app/workbench/docks/inspector_dock.h"
#include "app/workbench/export/clipboard.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/state/edit_actions.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/canvas_menu.h"
#include "app/workbench/window/command_registry.h"
#include "app/workbench/window/figure_pictures.h"
#include "app/workbench/window/file_opener.h"
#include "app/workbench/window/layout_controller.h"
#include "app/workbench/window/machine_questions.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/preferences.h"
#include "app/workbench/window/question_bar.h"
#include "app/workbench/window/session_controller.h"
#include "app/workbench/window/start_page.h"
#include "app/workbench/window/window_actions.h"
#include "app/workbench/window/window_commands.h"

namespace locus::workbench {

namespace {

const QString kWelcomedKey = QStringLiteral("welcomed");

// The folder of settings and sessions; creates it.
std::filesystem::path config_folder(const WorkbenchOptions& options) {
  std::filesystem::path folder = options.config_dir;
  if (folder.empty()) {
    folder = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation).toStdString() + "/locus";
  }
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  return folder;
}

// Describes the instrument that has the keyboard to screen readers. It is no widget: the canvas's holder speaks for it.
void say_instrument(QWidget& holder, const QString& title, const QString& value) {
  const QString words = title.isEmpty() ? QString() : title + QStringLiteral(": ") + value;
  if (words != holder.accessibleDescription()) {
    holder.setAccessibleDescription(words);
    QAccessibleEvent event(&holder, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
  }
}

bool takes_text(const QWidget* widget) {
  const bool in_spin_box = qobject_cast<const QAbstractSpinBox*>(widget->parentWidget()) != nullptr;
  return widget->inherits("QPlainTextEdit") || widget->inherits("QTextEdit") ||
         (widget->inherits("QLineEdit") && !in_spin_box);
}

}  // namespace

MainWindow::MainWindow(const WorkbenchOptions& options, QVulkanInstance* vulkan, const StudioOptions& studio)
    : options_(options) {
  setObjectName(QStringLiteral("main-window"));
  setAcceptDrops(true);
  const std::filesystem::path folder = config_folder(options);
  settings_ = std::make_unique<QSettings>(qt((folder / "workbench.ini").string()), QSettings::IniFormat);
  studio_ = std::make_unique<Studio>(studio);
  make_canvas(vulkan);
  make_centre();
  make_docks();
  messages_ = new MessageBar(*studio_, options.device, this);
  setStatusBar(messages_);
  pictures_ = std::make_unique<FigurePictures>(*studio_, folder / "pictures");
  figures_->set_pictures([this](const session::Bookmark& figure) { return pictures_->of(figure); });
  connect(pictures_.get(), &FigurePictures::changed, figures_, &FiguresDock::show_pictures);
  sessions_ = std::make_unique<SessionController>(*this, *studio_, *messages_, *settings_, folder, options.ask);
  machines_ = std::make_unique<MachineQuestions>(*this, *studio_, *messages_, *settings_);
  files_ = std::make_unique<FileOpener>(*this, *studio_, *sessions_, *machines_, *input_, *messages_, *settings_);
  files_->set_base(options.base);
  layout_ = std::make_unique<LayoutController>(*this, *settings_, *figures_, *checkpoints_, *input_, *inspector_);
  addDockWidget(Qt::RightDockWidgetArea, head_);
  head_->hide();
  edits_ = std::make_unique<EditActions>(*studio_);
  commands_ = std::make_unique<CommandRegistry>(*this);
  add_commands();
  connect_layout();
  connect_docks();
  if (canvas_ != nullptr) {
    connect_canvas();
  }
  layout_->restore();
  restore_preferences(*settings_, studio_->columns(), options);
  commands_->refresh_all();
  sessions_->show_title();
  qApp->installEventFilter(this);
}

// Fields that lose the keyboard when the window is hidden, and dialogs that end, still use the studio.
MainWindow::~MainWindow() {
  hide();
  delete start_;
  qDeleteAll(findChildren<QDialog*>(QString(), Qt::FindDirectChildrenOnly));
}

// ---- parts

void MainWindow::make_canvas(QVulkanInstance* vulkan) {
  if (vulkan == nullptr) {
    auto* label = new QLabel(this);
    label->setObjectName(QStringLiteral("no-vulkan"));
    label->setAlignment(Qt::AlignCenter);
    label->setWordWrap(true);
    label->setText(QStringLiteral(
        "No Vulkan driver was found, so figures cannot be drawn here.\n\nInstall your graphics driver, or the software "
        "driver (Debian: mesa-vulkan-drivers), and start Locus again.\nThe command line works without one: locus "
        "figure --help"));
    canvas_holder_ = label;
    return;
  }
  canvas_ = new viewport::Canvas;
  canvas_->setVulkanInstance(vulkan);
  QWidget* holder = QWidget::createWindowContainer(canvas_, this);
  canvas_->release_with(holder);
  give_name(holder, "canvas-holder", QStringLiteral("Figure"));
  holder->setFocusPolicy(Qt::StrongFocus);
  holder->setAcceptDrops(true);
  holder->setMinimumSize(320, 240);
  canvas_holder_ = holder;
  link_ = new CanvasLink(*studio_, *canvas_);
  link_->setParent(this);
}

// The figure with the options of its view below it.
void MainWindow::make_centre() {
  auto* centre = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(centre, 0);
  column->setSpacing(0);
  column->addWidget(canvas_holder_, 1);
  effects_ = new EffectStrip(*studio_, centre);
  column->addWidget(effects_);
  offer_ = new EditOffer(*studio_, centre);
  column->addWidget(offer_);
  auto* question = new QuestionBar(*studio_, centre);
  connect(question, &QuestionBar::shortened, this,
          [this](const QString& message) { messages_->show_message(message); });
  connect(question, &QuestionBar::declined, this, [this] { messages_->show_cancelled(); });
  column->addWidget(question);
  timeline_ = new TimelineBar(*studio_, centre);
  column->addWidget(timeline_);
  options_bar_ = new OptionsBar(*studio_, centre);
  column->addWidget(options_bar_);
  centre_ = new QStackedWidget(this);
  centre_->addWidget(centre);
  setCentralWidget(centre_);
}

void MainWindow::make_docks() {
  view_bar_ = new ViewBar(*studio_, this);
  addToolBar(Qt::TopToolBarArea, view_bar_);
  checkpoints_ = new CheckpointsDock(*studio_, this);
  const auto assets = figures::assets_folder();
  input_ = new InputDock(*studio_, assets.empty() ? assets : assets / "samples", this);
  inspector_ = new InspectorDock(*studio_, this);
  figures_ = new FiguresDock(*studio_, this);
  head_ = new HeadDock(*studio_, this);
}

void MainWindow::add_commands() {
  add_open_commands(*commands_, *files_);
  add_session_commands(*commands_, *files_, *sessions_);
  add_export_commands(*commands_, *this, *studio_, *settings_, *messages_);
  add_program_commands(*commands_, *this, *studio_, *settings_, *layout_, *messages_);
  add_edit_commands(*commands_, *studio_, *checkpoints_);
  add_view_commands(*commands_, *this, *studio_, *files_);
  if (canvas_ != nullptr) {
    add_canvas_commands(*commands_, *canvas_, link_->actions());
    add_wipe_command(*commands_, *studio_, link_->instruments());
  }
  add_layout_commands(*commands_, *this, *layout_);
  add_card_commands(*commands_, *head_);
  add_timeline_commands(*commands_, *timeline_, *settings_);
  add_arc_commands(*commands_, *input_, *settings_);
  if (canvas_ != nullptr) {
    add_head_commands(*commands_, *studio_, link_->actions());
  }
  add_go_commands(*commands_, *this, *studio_, *input_, *figures_);
  add_help_commands(*commands_, *this, *studio_, [this] { show_start(); });
  connect(studio_.get(), &Studio::state_changed, commands_.get(), &CommandRegistry::refresh_keys);
}

void MainWindow::connect_layout() {
  connect(figures_, &FiguresDock::filled, layout_.get(), &LayoutController::fit_column);
  connect(studio_.get(), &Studio::checkpoints_changed, layout_.get(), &LayoutController::fit_column);
  connect(inspector_, &InspectorDock::wants_width, layout_.get(), &LayoutController::widen_inspector);
  connect(studio_.get(), &Studio::state_changed, layout_.get(),
          [this] { layout_->want_text(studio_->view().info().uses_input && studio_->view().info().of_runs); });
  connect(layout_.get(), &LayoutController::all_hidden, this, [this](bool hidden) {
    messages_->setVisible(!hidden);
    view_bar_->setVisible(!hidden);
    options_bar_->set_hidden(hidden);
    timeline_->set_hidden(hidden);
    if (hidden) {
      card_waits_ = !head_->isHidden();
      head_->hide();
    } else if (std::exchange(card_waits_, false)) {
      head_->show_card();
    }
    effects_->set_hidden(hidden);
    offer_->set_hidden(hidden);
    if (canvas_ != nullptr) {
      link_->instruments().set_hidden(hidden);
    }
    if (canvas_ != nullptr && hidden) {
      canvas_->show_focus(false);
    }
  });
  if (canvas_ != nullptr) {
    CanvasPresenter* presenter = &link_->presenter();
    connect(layout_.get(), &LayoutController::scale_changed, presenter, &CanvasPresenter::set_scale);
    connect(layout_.get(), &LayoutController::dark_changed, presenter, &CanvasPresenter::set_dark);
    connect(layout_.get(), &LayoutController::captions_changed, presenter, &CanvasPresenter::set_captions);
  }
}

void MainWindow::connect_docks() {
  connect(figures_, &FiguresDock::keep_requested, this, [this] { keep_view(*this, *studio_); });
  connect(figures_, &FiguresDock::missing, this, [this](const QString& name, const QStringList& paths) {
    messages_->show_message(
        QStringLiteral("%1 needs %2, which was not found").arg(name, paths.join(QStringLiteral(", "))), true);
    messages_->show_action(QStringLiteral("Find it…"), [this] { sessions_->find_missing(); });
  });
  connect(sessions_.get(), &SessionController::emptied, this, &MainWindow::show_start);
  connect(checkpoints_, &CheckpointsDock::open_requested, files_.get(), &FileOpener::ask_folders);
  connect(input_, &InputDock::left_editor, this, &MainWindow::focus_canvas);
  connect(head_, &HeadDock::left, this, &MainWindow::focus_canvas);
  connect(head_, &HeadDock::copy_requested, this, [this](std::size_t column, const views::HeadRef& head) {
    copy_head_command(*studio_, column, head, copied(*messages_, QStringLiteral("the command line")));
  });
  connect(messages_, &MessageBar::memory_limit_requested, this,
          [this] { choose_preferences(*this, *settings_, studio_->columns(), *layout_); });
  connect(offer_, &EditOffer::edit_chosen, edits_.get(), &EditActions::open_beside);
  connect(offer_, &EditOffer::edits_requested, this, [this](int id) { show_edits(*studio_, id, this); });
  connect(edits_.get(), &EditActions::reported, messages_, &MessageBar::show_message);
}

void MainWindow::connect_canvas() {
  connect(canvas_, &viewport::Canvas::dropped, files_.get(), &FileOpener::open_all);
  connect(canvas_, &viewport::Canvas::gpu_failed, this, [this](const QString& message) {
    messages_->show_message(
        QStringLiteral("Graphics: %1. The command line draws figures without the graphics device: locus figure --help")
            .arg(message),
        true);
  });
  connect(&link_->keys(), &CanvasKeys::tab_pressed, this, &MainWindow::leave_canvas);
  connect(&link_->keys(), &CanvasKeys::key_unused, this, [this](QKeyEvent* event) {
    if (commands_->trigger(*event)) {
      event->accept();
    }
  });
  connect(&link_->actions(), &CanvasActions::column_changed, this, [this](std::size_t column) {
    input_->set_column(column);
    head_->set_column(column);
    messages_->show_message(
        QStringLiteral("column %1: %2").arg(column + 1).arg(qt(studio_->checkpoints().shown()[column]->name)));
  });
  connect(&link_->pointer(), &CanvasPointer::menu_requested, this, [this](const CanvasPlace& place, const QPoint& at) {
    show_canvas_menu({*this, *studio_, link_->actions(), *edits_, *commands_}, place, at);
  });
  connect(&link_->pointer(), &CanvasPointer::head_clicked, head_, &HeadDock::show_card);
  connect(&link_->instruments(), &InstrumentSet::head_clicked, head_, &HeadDock::show_card);
  connect(&link_->keys(), &CanvasKeys::left, head_, &QWidget::hide);
  connect(&link_->pointer(), &CanvasPointer::box_chosen, this, [this](const CanvasBox& box) {
    const auto column = box.from.column.value_or(static_cast<std::int64_t>(link_->actions().column()));
    edits_->cut_edges(box.from, box.to, static_cast<std::size_t>(column));
  });
  connect(&link_->keys(), &CanvasKeys::edit_chosen, this, [this](std::size_t column, const models::Edit& edit) {
    if (const auto columns = studio_->checkpoints().shown(); column < columns.size()) {
      edits_->open_beside(columns[column]->id, edit);
    }
  });
  connect(&link_->instruments(), &InstrumentSet::said, this,
          [this](const QString& title, const QString& value) { say_instrument(*canvas_holder_, title, value); });
  connect(&link_->keys(), &CanvasKeys::help_requested, this,
          [this] { show_manual_page(this, QStringLiteral("keys")); });
}

void MainWindow::focus_canvas() {
  canvas_holder_->setFocus();
  if (canvas_ != nullptr) {
    canvas_->requestActivate();
  }
}

// Moves the keyboard to the next or previous control: the canvas's native window is not part of Qt's focus chain.
void MainWindow::leave_canvas(bool forward) {
  const QWidget* holder = canvas_holder_;
  QWidget* next = canvas_holder_;
  do {
    next = forward ? next->nextInFocusChain() : next->previousInFocusChain();
  } while (next != holder && !(next->isVisible() && next->isEnabled() && next->window() == this &&
                               (next->focusPolicy() & Qt::TabFocus) == Qt::TabFocus));
  activateWindow();
  next->setFocus(forward ? Qt::TabFocusReason : Qt::BacktabFocusReason);
}

// ---- opening

void MainWindow::open_path(const std::filesystem::path& path) {
  files_->open(path);
}

bool MainWindow::open_session(const std::filesystem::path& path) {
  return sessions_->open(path);
}

void MainWindow::open_first() {
  files_->open_first(options_.paths);
  if (options_.paths.empty() && !settings_->value(kWelcomedKey, false).toBool()) {
    settings_->setValue(kWelcomedKey, true);
    show_start();
  }
}

void MainWindow::make_start() {
  static const auto bundled = session::load_session(figures::bundled_session());
  const std::vector<session::Bookmark> none;
  start_ = new StartPage(
      *studio_, bundled.ok() ? bundled->bookmarks : none,
      [this](const session::Bookmark& figure) { return pictures_->of(figure); }, this);
  start_->set_dark(layout_->dark());
  centre_->addWidget(start_);
  connect(layout_.get(), &LayoutController::dark_changed, start_, &StartPage::set_dark);
  connect(start_, &StartPage::left, this, &MainWindow::leave_start);
  connect(start_, &StartPage::figure_chosen, this, [this](const session::Bookmark& figure) {
    leave_start();
    studio_->sessions().show(figure);
  });
  connect(start_, &StartPage::path_chosen, this, [this](const QString& path) { open_path(path.toStdString()); });
  connect(start_, &StartPage::checkpoint_wanted, files_.get(), &FileOpener::ask_folders);
  connect(start_, &StartPage::hub_wanted, files_.get(), &FileOpener::ask_hub);
  connect(start_, &StartPage::manual_wanted, this, [this] { show_manual_page(this, QStringLiteral("contents")); });
  connect(start_, &StartPage::text_wanted, this, [this] {
    leave_start();
    input_->give_keyboard();
  });
  // Whatever else is done shows the canvas.
  connect(files_.get(), &FileOpener::opening, this, &MainWindow::leave_start);
  connect(studio_.get(), &Studio::state_changed, this, [this] {
    if (studio_->history().depth() > start_depth_) {
      leave_start();
    }
  });
  connect(&input_->editor(), &QPlainTextEdit::textChanged, this, [this] {
    if (input_->editor().hasFocus()) {
      leave_start();
    }
  });
}

void MainWindow::show_start() {
  if (start_ == nullptr) {
    make_start();
  }
  start_depth_ = studio_->history().depth();
  start_->set_recent(files_->recent());
  centre_->setCurrentWidget(start_);
  start_->setFocus();
  start_->set_live(true);
}

void MainWindow::leave_start() {
  if (start_ != nullptr && centre_->currentWidget() == start_) {
    start_->set_live(false);
    const QWidget* focus = QApplication::focusWidget();
    const bool within = focus == nullptr || focus == start_ || start_->isAncestorOf(focus);
    centre_->setCurrentIndex(0);
    if (within) {  // else a text is being typed
      canvas_holder_->setFocus();
    }
  }
}

QString MainWindow::last_message() const {
  return messages_->last_message();
}

void MainWindow::end() {
  ends_ = true;
  sessions_->keep_unasked();
  close();
}

// ---- events

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!ends_ && !sessions_->may_close()) {
    event->ignore();
    return;
  }
  layout_->end();
  settings_->sync();
  sessions_->end();
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) {
      open_path(url.toLocalFile().toStdString());
    }
  }
  event->acceptProposedAction();
}

// Keys of the canvas's native window bypass Qt's shortcut map: commands are looked up here.
void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!commands_->trigger(*event)) {
    QMainWindow::keyPressEvent(event);
  }
}

// `?` shows the page of keys unless a text is being typed. Reaching the canvas by keyboard draws its focus frame.
bool MainWindow::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::FocusIn && object == canvas_holder_ && canvas_ != nullptr) {
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    canvas_->show_focus(reason != Qt::MouseFocusReason && reason != Qt::ActiveWindowFocusReason &&
                        reason != Qt::PopupFocusReason);
  }
  if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->text() == QStringLiteral("?")) {
    const auto* widget = qobject_cast<QWidget*>(object);
    if (widget != nullptr && widget->window() == this && !takes_text(widget)) {
      show_manual_page(this, QStringLiteral("keys"));
      return true;
    }
  }
  return QMainWindow::eventFilter(object, event);
}

}  // namespace locus::workbench
