#include "app/workbench/window/main_window.h"
#include "app/figures/assets.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QStatusBar>
#include <QUrl>
#include <QVBoxLayout>
#include <QVulkanInstance>
#include <algorithm>
#include <array>

#include "app/session/portable.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/options_bar.h"
#include "app/workbench/canvas/view_bar.h"
#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/inspector_dock.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/widgets/theme.h"
#include "app/workbench/window/help.h"
#include "app/workbench/window/job_list.h"
#include "app/workbench/window/question_bar.h"
#include "core/base/shown.h"
#include "models/api/threads.h"

namespace locus::workbench {

namespace {

constexpr int kMessageMs = 8000;
constexpr int kMostMessages = 500;
constexpr double kShowWorkAfterMs = 500;
constexpr int kWorkIntervalMs = 200;
constexpr int kProgressPx = 110;
constexpr int kWorkLetters = 34;  // of what is done, in the status bar; the rest is on the canvas
constexpr int kJournalMs = 1500;  // from a change to its journal

std::filesystem::path default_config_dir() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation).toStdString() + "/locus";
}

// A text for a checkpoint that reads ids only.
bool wants_ids(const Studio& studio) {
  const std::vector<Checkpoint>& all = studio.checkpoints();
  return studio.input().text && std::any_of(all.begin(), all.end(), [](const Checkpoint& each) {
           const models::ModelInfo* info = each.info();
           return each.entry.shown && info != nullptr && !info->image && !info->tokenizer;
         });
}

}  // namespace

MainWindow::MainWindow(const WorkbenchOptions& options, QVulkanInstance* vulkan, const StudioOptions& studio)
    : options_(options), config_dir_(options.config_dir.empty() ? default_config_dir() : options.config_dir) {
  setObjectName(QStringLiteral("main-window"));
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  std::error_code code;
  std::filesystem::create_directories(config_dir_, code);
  settings_ =
      std::make_unique<QSettings>(QString::fromStdString(config_file("workbench.ini").string()), QSettings::IniFormat);
  studio_ = std::make_unique<Studio>(studio);
  journal_ = std::make_unique<Journal>(config_dir_);
  journal_timer_.setSingleShot(true);
  journal_timer_.setInterval(kJournalMs);
  connect(&journal_timer_, &QTimer::timeout, this, &MainWindow::keep_journal);
  for (const auto signal : {&Studio::state_changed, &Studio::input_changed, &Studio::checkpoints_changed}) {
    connect(studio_.get(), signal, this, [this] {
      if (!journal_timer_.isActive()) {
        journal_timer_.start();
      }
    });
  }
  connect(studio_.get(), &Studio::checkpoints_changed, this, &MainWindow::remember_opened);
  make_canvas(vulkan);
  make_docks();
  make_status();
  make_menus();
  connect(studio_.get(), &Studio::checkpoints_changed, this, &MainWindow::drop_failure);
  connect(studio_.get(), &Studio::noticed, this, [this](const QString& message) { say(message); });
  connect(studio_.get(), &Studio::failed, this, [this](const QString& message) {
    say(message, true);
    failure_ = holds(message) ? message : QString();
    if (!session::missing_checkpoints(studio_->session(), false).empty()) {
      offer(QStringLiteral("Find it…"), [this] { ask_missing(); });
    } else if (wants_ids(*studio_)) {
      offer(QStringLiteral("Ids…"), [this] { input_->type_ids(); });
    }
  });
  connect(studio_.get(), &Studio::input_changed, this, [this] {  // it was of another input
    statusBar()->clearMessage();
    help_->hide();
    if (auto* box = findChild<QMessageBox*>(QStringLiteral("too-large"))) {
      box->close();
    }
  });
  connect(studio_.get(), &Studio::too_large, this, [this](const QString& message) {
    auto* box = findChild<QMessageBox*>(QStringLiteral("too-large"));
    if (box == nullptr) {  // one, however often one types on
      box = new QMessageBox(QMessageBox::Warning, QStringLiteral("Locus"), message, QMessageBox::Ok, this);
      box->setObjectName(QStringLiteral("too-large"));
      box->setTextFormat(Qt::PlainText);
      box->setAttribute(Qt::WA_DeleteOnClose);
      box->setModal(false);
      const QPushButton* limit = box->addButton(QStringLiteral("&Memory limit…"), QMessageBox::ActionRole);
      connect(limit, &QPushButton::clicked, this, &MainWindow::choose_preferences);
    }
    box->setText(message);
    box->show();
  });
  connect(studio_.get(), &Studio::work_changed, this, &MainWindow::show_work);
  connect(studio_.get(), &Studio::runs_changed, this, &MainWindow::show_work);
  connect(studio_.get(), &Studio::checkpoints_changed, this, &MainWindow::show_work);
  connect(studio_.get(), &Studio::figure_changed, this, &MainWindow::show_work);
  restore_layout();
  show_title();
  qApp->installEventFilter(this);
}

MainWindow::~MainWindow() = default;

std::filesystem::path MainWindow::config_file(const char* name) const {
  return config_dir_ / name;
}

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
    set_centre();
    return;
  }
  canvas_ = new viewport::Canvas;
  canvas_->setVulkanInstance(vulkan);
  canvas_holder_ = QWidget::createWindowContainer(canvas_, this);
  canvas_holder_->setObjectName(QStringLiteral("canvas-holder"));
  canvas_holder_->setAccessibleName(QStringLiteral("Figure"));
  canvas_holder_->setFocusPolicy(Qt::StrongFocus);
  canvas_holder_->setAcceptDrops(true);
  canvas_holder_->setMinimumSize(320, 240);
  set_centre();
  link_ = new CanvasLink(*studio_, *canvas_);
  link_->setParent(this);
  connect(canvas_, &viewport::Canvas::dropped, this, [this](const QStringList& paths) {
    for (const QString& path : paths) {
      open_path(path.toStdString());
    }
  });
  connect(canvas_, &viewport::Canvas::gpu_failed, this, [this](const QString& message) {
    say(QStringLiteral("Graphics: %1. The command line draws figures without the graphics device: locus figure --help")
            .arg(message),
        true);
  });
  connect(link_, &CanvasLink::tab_pressed, this, &MainWindow::leave_canvas);
  connect(link_, &CanvasLink::key_unused, this, [this](QKeyEvent* event) {
    if (trigger_shortcut(*event)) {
      event->accept();
    }
  });
}

// The keyboard goes on to the next control, or the one before: the canvas's own window is none of Qt's chain.
void MainWindow::leave_canvas(bool forward) {
  QWidget* next = canvas_holder_;
  do {
    next = forward ? next->nextInFocusChain() : next->previousInFocusChain();
  } while (next != canvas_holder_ && !(next->isVisible() && next->isEnabled() && next->window() == this &&
                                       (next->focusPolicy() & Qt::TabFocus) == Qt::TabFocus));
  activateWindow();
  next->setFocus(forward ? Qt::TabFocusReason : Qt::BacktabFocusReason);
}

// The figure, and the options of its view below it.
void MainWindow::set_centre() {
  auto* centre = new QWidget(this);
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(canvas_holder_, 1);
  auto* question = new QuestionBar(*studio_, centre);
  connect(question, &QuestionBar::shortened, this, [this](const QString& message) { say(message); });
  connect(question, &QuestionBar::declined, this, &MainWindow::say_cancelled);
  column->addWidget(question);
  options_bar_ = new OptionsBar(*studio_, centre);
  column->addWidget(options_bar_);
  setCentralWidget(centre);
}

void MainWindow::make_docks() {
  view_bar_ = new ViewBar(*studio_, this);
  addToolBar(Qt::TopToolBarArea, view_bar_);
  checkpoints_ = new CheckpointsDock(*studio_, this);
  const auto assets = figures::assets_folder();
  input_ = new InputDock(*studio_, assets.empty() ? assets : assets / "samples", this);
  inspector_ = new InspectorDock(*studio_, this);
  figures_ = new FiguresDock(*studio_, this);
  for (QDockWidget* dock : docks()) {
    grow_title_with_text(*dock);
  }
  place_docks();
  connect(figures_, &FiguresDock::keep_requested, this, &MainWindow::keep_view);
  connect(figures_, &FiguresDock::missing, this, [this](const QString& name, const QStringList& paths) {
    say(QStringLiteral("%1 needs %2, which is not there").arg(name, paths.join(QStringLiteral(", "))), true);
    offer(QStringLiteral("Find it…"), [this] { ask_missing(); });
  });
  connect(checkpoints_, &CheckpointsDock::open_requested, this, &MainWindow::ask_open_folder);
  connect(checkpoints_, &CheckpointsDock::what_if_requested, this, &MainWindow::ask_what_if);
  connect(checkpoints_, &CheckpointsDock::edits_requested, this, &MainWindow::ask_edits);
  connect(checkpoints_, &CheckpointsDock::own_text_requested, this, &MainWindow::ask_own_text);
  connect(input_, &InputDock::failed, this, [this](const QString& message) { say(message, true); });
  connect(input_, &InputDock::no_text, this, [this](const QString& path) {
    offer(QStringLiteral("Read its bytes"), [this, path] { input_->open_text(path.toStdString(), true); });
  });
  connect(input_, &InputDock::left_editor, this, [this] {
    canvas_holder_->setFocus();
    if (canvas_ != nullptr) {
      canvas_->requestActivate();
    }
  });
  if (link_ != nullptr) {
    connect(link_, &CanvasLink::column_changed, this, [this](std::size_t column) {
      input_->set_column(column);
      const auto columns = studio_->columns();
      say(QStringLiteral("column %1: %2").arg(column + 1).arg(QString::fromStdString(columns[column]->name)));
    });
    connect(link_, &CanvasLink::menu_requested, this, &MainWindow::show_canvas_menu);
    connect(link_, &CanvasLink::box_chosen, this, &MainWindow::cut_edges);
    connect(link_, &CanvasLink::edit_chosen, this, [this](std::size_t column, const std::string& edit) {
      if (const auto columns = studio_->columns(); column < columns.size()) {
        open_edited(columns[column]->id, edit);
      }
    });
    connect(link_, &CanvasLink::help_requested, this, [this] { show_keys(this); });
  }
}

void MainWindow::make_status() {
  work_ = new QLabel(this);
  progress_ = new QProgressBar(this);
  progress_->setFixedWidth(kProgressPx);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(QStringLiteral("Progress"));
  cancel_ = new QPushButton(QStringLiteral("Cancel"), this);
  cancel_->setObjectName(QStringLiteral("cancel"));
  connect(cancel_, &QPushButton::clicked, this, [this] {
    studio_->cancel();
    say_cancelled();
  });
  auto* jobs = new JobButton(*studio_, this);
  help_ = new QPushButton(this);
  help_->setObjectName(QStringLiteral("help-with-it"));
  help_->hide();
  device_ = new QLabel(this);
  latency_ = new QLabel(this);
  latency_->setToolTip(QStringLiteral("From the change of the input to its figure; the forward passes of it"));
  memory_ = new QLabel(this);
  memory_->setToolTip(QStringLiteral("Kept for the views: queries, keys and recent fields"));
  // What is there only now and then keeps its room, at the edge: nothing moves under a hand that is on its way.
  const std::array<QWidget*, 8> in_order{help_, device_, latency_, memory_, jobs, work_, progress_, cancel_};
  for (QWidget* widget : in_order) {
    widget->setContentsMargins(6, 0, 6, 0);
    statusBar()->addPermanentWidget(widget);
  }
  for (QWidget* widget : {static_cast<QWidget*>(progress_), static_cast<QWidget*>(cancel_)}) {
    QSizePolicy policy = widget->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    widget->setSizePolicy(policy);
  }
  const models::Products products = models::products();
  device_->setText(QString::fromStdString((options_.device == "cpu" ? "CPU" : options_.device) + " · " +
                                          models::runtime().blas + " " + products.kernels +
                                          (products.warning.empty() ? "" : " ⚠")));
  device_->setToolTip(products.warning.empty() ? QStringLiteral("Where models run, and the kernels of matrix products")
                                               : QString::fromStdString(products.warning));
  work_timer_.setInterval(kWorkIntervalMs);
  connect(&work_timer_, &QTimer::timeout, this, &MainWindow::show_work);
  show_work();
}

void MainWindow::show_work() {
  const Worker::State state = studio_->worker().state();
  const bool shown = state.busy && state.elapsed_ms > kShowWorkAfterMs && !state.what.empty();
  work_->setVisible(shown);
  progress_->setVisible(shown);
  cancel_->setVisible(shown || studio_->question());
  if (shown) {
    const QString what = QString::fromStdString(state.what);
    const QString all = state.progress.what.empty()
                            ? what
                            : QStringLiteral("%1: %2").arg(what, QString::fromStdString(state.progress.what));
    const int room = kWorkLetters * fontMetrics().averageCharWidth();
    work_->setText(fontMetrics().elidedText(all, Qt::ElideMiddle, room));
    work_->setToolTip(all);
    progress_->setRange(0, state.progress.fraction < 0 ? 0 : 1000);
    progress_->setValue(static_cast<int>(state.progress.fraction * 1000));
  }
  // The clock runs only while there is work, so that an idle window costs nothing.
  if (state.busy != work_timer_.isActive()) {
    state.busy ? work_timer_.start() : work_timer_.stop();
  }
  double forward_ms = 0;
  for (const Checkpoint* column : studio_->columns()) {
    forward_ms += column->trace->time_ms();
  }
  latency_->setText(studio_->columns().empty() ? QString()
                                               : QStringLiteral("figure %1 ms, run %2 ms")
                                                     .arg(studio_->last_latency_ms(), 0, 'f', 0)
                                                     .arg(forward_ms, 0, 'f', 0));
  memory_->setText(QStringLiteral("%1 MB kept").arg(studio_->memory_mb()));
}

void MainWindow::say_cancelled() {
  say(QStringLiteral("cancelled"));
  offer(QStringLiteral("Run again"), [this] { studio_->run_cancelled(); });
}

void MainWindow::offer(const QString& words, std::function<void()> help) {
  help_->setText(words);
  help_->disconnect(this);
  connect(help_, &QPushButton::clicked, this, [this, help = std::move(help)] {
    help_->hide();
    help();
  });
  help_->show();
}

// Whether a checkpoint that is shown still fails with this message.
bool MainWindow::holds(const QString& failure) const {
  const auto& all = studio_->checkpoints();
  return std::any_of(all.begin(), all.end(), [&](const Checkpoint& each) {
    return each.entry.shown && each.error && QString::fromStdString(each.error->describe()) == failure;
  });
}

// What was said of a checkpoint that has been closed, hidden or opened since holds no more.
void MainWindow::drop_failure() {
  if (!failure_.isEmpty() && !holds(failure_)) {
    failure_.clear();
    statusBar()->clearMessage();
    help_->hide();
  }
}

void MainWindow::say(const QString& said, bool failure) {
  constexpr std::size_t kMaxCharacters = 2000;
  failure_.clear();
  help_->hide();
  // What a file says stands in messages too: one line without controls.
  const QString message = QString::fromStdString(
      shown(QString(said).replace(QLatin1Char('\n'), QLatin1Char(' ')).toStdString(), kMaxCharacters));
  last_message_ = message;
  messages_ << (failure ? QStringLiteral("⚠ ") + message : message);
  if (messages_.size() > kMostMessages) {
    messages_.removeFirst();
  }
  statusBar()->showMessage(failure ? QStringLiteral("⚠ ") + message : message, failure ? 0 : kMessageMs);
}

// ---- events

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_close()) {
    event->ignore();
    return;
  }
  set_ui_hidden(false);  // panels that are hidden with the rest are not folded
  keep_layout();
  settings_->sync();
  journal_timer_.stop();
  journal_->discard();
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

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!trigger_shortcut(*event)) {
    QMainWindow::keyPressEvent(event);
  }
}

// Keys that arrive at the canvas's own window do not pass Qt's shortcut map: the actions are asked here.
bool MainWindow::trigger_shortcut(const QKeyEvent& event) {
  const QKeySequence pressed(event.keyCombination());
  for (QAction* action : findChildren<QAction*>()) {
    const bool anywhere = action->shortcutContext() != Qt::WidgetShortcut;
    if (anywhere && action->isEnabled() && action->shortcuts().contains(pressed)) {
      action->trigger();
      return true;
    }
  }
  return false;
}

}  // namespace locus::workbench
