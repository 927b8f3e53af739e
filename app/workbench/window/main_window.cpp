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
#include <QStandardPaths>
#include <QUrl>
#include <QVBoxLayout>
#include <QVulkanInstance>

#include "app/figures/assets.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/options_bar.h"
#include "app/workbench/canvas/view_bar.h"
#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/inspector_dock.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/state/edit_actions.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/canvas_menu.h"
#include "app/workbench/window/command_registry.h"
#include "app/workbench/window/file_opener.h"
#include "app/workbench/window/layout_controller.h"
#include "app/workbench/window/machine_questions.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/preferences.h"
#include "app/workbench/window/question_bar.h"
#include "app/workbench/window/session_controller.h"
#include "app/workbench/window/window_actions.h"
#include "app/workbench/window/window_commands.h"

namespace locus::workbench {

namespace {

const QString kWelcomedKey = QStringLiteral("welcomed");

// Where settings and sessions are kept; the folder is made.
std::filesystem::path config_folder(const WorkbenchOptions& options) {
  std::filesystem::path folder = options.config_dir;
  if (folder.empty()) {
    folder = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation).toStdString() + "/locus";
  }
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  return folder;
}

// What has the keyboard on the canvas is no widget: the canvas's own holder says it to screen readers.
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
  parts_.window = this;
  parts_.settings = settings_.get();
  parts_.studio = studio_.get();
  make_canvas(vulkan);
  make_centre();
  make_docks();
  parts_.messages = new MessageBar(*studio_, options.device, this);
  setStatusBar(parts_.messages);
  sessions_ = std::make_unique<SessionController>(*this, *studio_, *parts_.messages, *settings_, folder, options.ask);
  machines_ = std::make_unique<MachineQuestions>(*this, *studio_, *parts_.messages, *settings_);
  files_ = std::make_unique<FileOpener>(*this, *studio_, *sessions_, *machines_, *parts_.input, *parts_.messages,
                                        *settings_);
  layout_ = std::make_unique<LayoutController>(parts_);
  edits_ = std::make_unique<EditActions>(*studio_);
  commands_ = std::make_unique<CommandRegistry>(*this);
  parts_.sessions = sessions_.get();
  parts_.files = files_.get();
  parts_.layout = layout_.get();
  parts_.edits = edits_.get();
  parts_.commands = commands_.get();
  add_window_commands(parts_);
  connect_docks();
  if (parts_.canvas != nullptr) {
    connect_canvas();
  }
  layout_->restore();
  restore_preferences(parts_, options);
  commands_->refresh_all();
  sessions_->show_title();
  qApp->installEventFilter(this);
}

// Fields that lose the keyboard as the window is hidden, and dialogs that end, still tell the studio.
MainWindow::~MainWindow() {
  hide();
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
    parts_.canvas_holder = label;
    return;
  }
  parts_.canvas = new viewport::Canvas;
  parts_.canvas->setVulkanInstance(vulkan);
  QWidget* holder = QWidget::createWindowContainer(parts_.canvas, this);
  give_name(holder, "canvas-holder", QStringLiteral("Figure"));
  holder->setFocusPolicy(Qt::StrongFocus);
  holder->setAcceptDrops(true);
  holder->setMinimumSize(320, 240);
  parts_.canvas_holder = holder;
  parts_.link = new CanvasLink(*studio_, *parts_.canvas);
  parts_.link->setParent(this);
}

// The figure, and the options of its view below it.
void MainWindow::make_centre() {
  auto* centre = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(centre, 0);
  column->setSpacing(0);
  column->addWidget(parts_.canvas_holder, 1);
  auto* question = new QuestionBar(*studio_, centre);
  connect(question, &QuestionBar::shortened, this,
          [this](const QString& message) { parts_.messages->show_message(message); });
  connect(question, &QuestionBar::declined, this, [this] { parts_.messages->show_cancelled(); });
  column->addWidget(question);
  parts_.options_bar = new OptionsBar(*studio_, centre);
  column->addWidget(parts_.options_bar);
  setCentralWidget(centre);
}

void MainWindow::make_docks() {
  parts_.view_bar = new ViewBar(*studio_, this);
  addToolBar(Qt::TopToolBarArea, parts_.view_bar);
  parts_.checkpoints = new CheckpointsDock(*studio_, this);
  const auto assets = figures::assets_folder();
  parts_.input = new InputDock(*studio_, assets.empty() ? assets : assets / "samples", this);
  parts_.inspector = new InspectorDock(*studio_, this);
  parts_.figures = new FiguresDock(*studio_, this);
}

void MainWindow::connect_docks() {
  connect(parts_.figures, &FiguresDock::keep_requested, this, [this] { keep_view(parts_); });
  connect(parts_.figures, &FiguresDock::missing, this, [this](const QString& name, const QStringList& paths) {
    parts_.messages->show_message(
        QStringLiteral("%1 needs %2, which is not there").arg(name, paths.join(QStringLiteral(", "))), true);
    parts_.messages->show_action(QStringLiteral("Find it…"), [this] { sessions_->find_missing(); });
  });
  connect(parts_.checkpoints, &CheckpointsDock::open_requested, files_.get(), &FileOpener::ask_folders);
  connect(parts_.input, &InputDock::left_editor, this, [this] {
    parts_.canvas_holder->setFocus();
    if (parts_.canvas != nullptr) {
      parts_.canvas->requestActivate();
    }
  });
  connect(parts_.messages, &MessageBar::memory_limit_requested, this, [this] { choose_preferences(parts_); });
  connect(edits_.get(), &EditActions::reported, parts_.messages, &MessageBar::show_message);
}

void MainWindow::connect_canvas() {
  CanvasLink* const link = parts_.link;
  connect(parts_.canvas, &viewport::Canvas::dropped, files_.get(), &FileOpener::open_all);
  connect(parts_.canvas, &viewport::Canvas::gpu_failed, this, [this](const QString& message) {
    parts_.messages->show_message(
        QStringLiteral("Graphics: %1. The command line draws figures without the graphics device: locus figure --help")
            .arg(message),
        true);
  });
  connect(&link->keys(), &CanvasKeys::tab_pressed, this, &MainWindow::leave_canvas);
  connect(&link->keys(), &CanvasKeys::key_unused, this, [this](QKeyEvent* event) {
    if (commands_->trigger(*event)) {
      event->accept();
    }
  });
  connect(&link->actions(), &CanvasActions::column_changed, this, [this](std::size_t column) {
    parts_.input->set_column(column);
    parts_.messages->show_message(
        QStringLiteral("column %1: %2").arg(column + 1).arg(qt(studio_->checkpoints().shown()[column]->name)));
  });
  connect(&link->pointer(), &CanvasPointer::menu_requested, this,
          [this](const CanvasPlace& place, const QPoint& at) { show_canvas_menu(parts_, place, at); });
  connect(&link->pointer(), &CanvasPointer::box_chosen, this, [this](const CanvasBox& box) {
    const auto column = box.from.column.value_or(static_cast<std::int64_t>(parts_.link->actions().column()));
    edits_->cut_edges(box.from, box.to, static_cast<std::size_t>(column));
  });
  connect(&link->keys(), &CanvasKeys::edit_chosen, this, [this](std::size_t column, const models::Edit& edit) {
    if (const auto columns = studio_->checkpoints().shown(); column < columns.size()) {
      edits_->open_beside(columns[column]->id, edit);
    }
  });
  connect(&parts_.link->instruments(), &InstrumentSet::said, this,
          [this](const QString& title, const QString& value) { say_instrument(*parts_.canvas_holder, title, value); });
  connect(&link->keys(), &CanvasKeys::help_requested, this, [this] { show_manual_page(this, QStringLiteral("keys")); });
}

// The keyboard goes on to the next control, or the one before: the canvas's own window is none of Qt's chain.
void MainWindow::leave_canvas(bool forward) {
  const QWidget* holder = parts_.canvas_holder;
  QWidget* next = parts_.canvas_holder;
  do {
    next = forward ? next->nextInFocusChain() : next->previousInFocusChain();
  } while (next != holder && !(next->isVisible() && next->isEnabled() && next->window() == this &&
                               (next->focusPolicy() & Qt::TabFocus) == Qt::TabFocus));
  activateWindow();
  next->setFocus(forward ? Qt::TabFocusReason : Qt::BacktabFocusReason);
}

// ---- what is opened

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
    show_welcome(parts_);
  }
}

QString MainWindow::last_message() const {
  return parts_.messages->last_message();
}

// ---- events

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!sessions_->may_close()) {
    event->ignore();
    return;
  }
  layout_->hide_all(false);  // panels that are hidden with the rest are not folded
  layout_->keep();
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

// Keys that arrive at the canvas's own window do not pass Qt's shortcut map: the commands are asked here.
void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!commands_->trigger(*event)) {
    QMainWindow::keyPressEvent(event);
  }
}

// `?` shows the keys wherever nothing is typed; who comes to the canvas by keys sees that they are there.
bool MainWindow::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::FocusIn && object == parts_.canvas_holder && parts_.canvas != nullptr) {
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    parts_.canvas->show_focus(reason != Qt::MouseFocusReason && reason != Qt::ActiveWindowFocusReason &&
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
