// How the main window looks: theme, scale, what is hidden, the layout of the last time.
#include <QApplication>
#include <QDialog>
#include <QDockWidget>
#include <QLayout>
#include <QMenuBar>
#include <QScreen>
#include <QSettings>
#include <QStatusBar>
#include <QTimer>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/options_bar.h"
#include "app/workbench/canvas/view_bar.h"
#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/inspector_dock.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/widgets/theme.h"
#include "app/workbench/window/main_window.h"
#include "app/workbench/window/preferences.h"

namespace locus::workbench {

namespace {

constexpr QSize kUsualSize(1440, 900);
constexpr int kBesideFigure = 24;  // pixels from the edges of the window
constexpr int kFocusMs = 500;      // in which it has the keyboard, if it is given it

}  // namespace

void MainWindow::set_theme(bool dark) {
  dark_ = dark;
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), dark);
  dark_action_->setChecked(dark);
  settings_->setValue(QStringLiteral("dark"), dark);
  if (link_ != nullptr) {
    link_->set_dark(dark);
  }
}

std::array<int, 3> MainWindow::panel_sizes() const {
  return {checkpoints_->width(), inspector_->width(), input_->height()};
}

// Panels grow with their text, the map keeps most of the window; as the text shrinks again they give back what they
// took.
void MainWindow::scale_panels() {
  const std::array<int, 3> room = {width() / 4, width() / 4, height() / 4};
  std::array<int, 3> wanted{};
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    wanted[n] = std::min(static_cast<int>(panels_[n] * scale_), std::max(room[n], static_cast<int>(panels_[n])));
  }
  // How many lines their controls take depends on their width, and how high a panel is on its title.
  for (int pass = 0; pass < 3; ++pass) {
    QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    resizeDocks({checkpoints_, inspector_}, {wanted[0], wanted[1]}, Qt::Horizontal);
    resizeDocks({input_}, {wanted[2]}, Qt::Vertical);
  }
  QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  layout()->activate();
  scaled_panels_ = panel_sizes();
}

// What a panel was given while the window kept its size is what was wanted of it: a window that becomes smaller takes
// from its panels, and one that becomes larger again gives it back.
void MainWindow::note_panel(const QObject* object) {
  if (size() == settled_ && (object == checkpoints_ || object == inspector_ || object == input_)) {
    chosen_panels_ = panel_sizes();
  }
}

void MainWindow::restore_panels() {
  if (settled_.isValid()) {
    resizeDocks({checkpoints_, inspector_}, {chosen_panels_[0], chosen_panels_[1]}, Qt::Horizontal);
    resizeDocks({input_}, {chosen_panels_[2]}, Qt::Vertical);
  } else {
    chosen_panels_ = panel_sizes();
  }
  QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  settled_ = size();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (isVisible()) {
    QTimer::singleShot(0, this, &MainWindow::restore_panels);
  }
}

void MainWindow::set_scale(double scale) {
  constexpr int kMoved = 2;  // pixels, by which the user has made a panel larger or smaller
  const std::array<int, 3> now = panel_sizes();
  for (std::size_t n = 0; n < now.size(); ++n) {
    panels_[n] = std::abs(now[n] - scaled_panels_[n]) > kMoved ? now[n] / scale_ : panels_[n];
  }
  scaled_panels_ = now;
  scale_ = std::clamp(scale, 0.6, 3.0);
  QFont font = QApplication::font();
  font.setPointSizeF(10 * scale_);
  QApplication::setFont(font);
  for (QDockWidget* dock : docks()) {
    dock->layout()->invalidate();  // its title has another height
    dock->update();
  }
  settings_->setValue(QStringLiteral("scale"), scale_);
  if (link_ != nullptr) {
    link_->set_scale(scale_);
  }
  if (isVisible()) {
    QTimer::singleShot(0, this, &MainWindow::scale_panels);
  }
}

// A dialog that nobody asked for lets the figure be seen, and waits until this window has the keyboard: window managers
// give it to dialogs of such windows alone.
void MainWindow::show_at_start(QDialog* dialog) {
  dialog->adjustSize();
  const QRect room = geometry();
  dialog->move(room.right() - dialog->width() - kBesideFigure, room.top() + kBesideFigure);
  if (isActiveWindow()) {
    dialog->show();
    return;
  }
  const auto show = [dialog] { dialog->show(); };
  connect(qApp, &QGuiApplication::focusWindowChanged, dialog, show, Qt::SingleShotConnection);
  QTimer::singleShot(kFocusMs, dialog, show);
}

// Hides what is shown around the figure, and brings back the same: a panel that was folded before stays so.
void MainWindow::set_ui_hidden(bool hidden) {
  if (hidden == ui_hidden_) {
    return;
  }
  ui_hidden_ = hidden;
  menuBar()->setVisible(!hidden);
  statusBar()->setVisible(!hidden);
  view_bar_->setVisible(!hidden);
  options_bar_->set_hidden(hidden);
  show_captions();
  if (hidden) {
    hidden_docks_.clear();
    for (QDockWidget* dock : docks()) {
      if (!dock->isHidden()) {
        hidden_docks_ << dock;
      }
    }
  }
  for (QDockWidget* dock : std::as_const(hidden_docks_)) {
    dock->setVisible(!hidden);
  }
  if (hidden && canvas_ != nullptr) {
    canvas_->show_focus(false);  // there is nowhere else that keys could go
  }
}

void MainWindow::show_captions() {
  const bool wanted = settings_->value(QStringLiteral("captions"), true).toBool();
  captions_action_->setChecked(wanted);
  if (link_ != nullptr) {
    link_->set_captions(wanted && !ui_hidden_);
  }
}

QList<QDockWidget*> MainWindow::docks() const {
  return {figures_, checkpoints_, input_, inspector_};
}

// ---- layouts

namespace {

// Which panels are seen, in the order of docks(): figures, checkpoints, input, inspector.
struct Preset {
  const char* name;
  std::array<bool, 4> seen;
};
constexpr std::array<Preset, 3> kPresets = {{{"&All panels", {true, true, true, true}},
                                             {"&Map and text", {false, false, true, false}},
                                             {"Map and &values", {false, true, false, true}}}};

}  // namespace

void MainWindow::add_layouts(QMenu* menu) {
  constexpr std::array<Qt::Key, 4> kKeys = {Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4};
  const QList<QDockWidget*> all = docks();
  for (int n = 0; n < static_cast<int>(all.size()); ++n) {
    QAction* toggle = all[n]->toggleViewAction();
    toggle->setShortcut(QKeySequence(Qt::CTRL | kKeys[static_cast<std::size_t>(n)]));
    menu->addAction(toggle);
    addAction(toggle);  // works while the menu bar is hidden
    connect(toggle, &QAction::triggered, this, [this] { keep_layout(); });
  }
  QMenu* layouts = menu->addMenu(QStringLiteral("La&yout"));
  for (std::size_t n = 0; n < kPresets.size(); ++n) {
    QAction* action = add_action(layouts, QString::fromLatin1(kPresets[n].name), {}, [this, n] { set_layout(n); });
    action->setObjectName(QStringLiteral("layout-%1").arg(n));
  }
  layouts->addSeparator();
  add_action(layouts, QStringLiteral("&Reset layout"), {}, [this] {
    reset_layout();
  })->setObjectName(QStringLiteral("reset-layout"));
}

void MainWindow::set_layout(std::size_t preset) {
  set_ui_hidden(false);
  const QList<QDockWidget*> all = docks();
  for (int n = 0; n < static_cast<int>(all.size()); ++n) {
    all[n]->setFloating(false);
    all[n]->setVisible(kPresets[preset].seen[static_cast<std::size_t>(n)]);
  }
  keep_layout();
}

void MainWindow::reset_layout() {
  place_docks();
  set_layout(0);
  if (!isMaximized() && !isFullScreen()) {
    resize(kUsualSize);
    fit_into_screen();
  }
  size_docks();
  keep_layout();
}

void MainWindow::place_docks() {
  addDockWidget(Qt::LeftDockWidgetArea, figures_);
  addDockWidget(Qt::LeftDockWidgetArea, checkpoints_);
  addDockWidget(Qt::RightDockWidgetArea, inspector_);
  addDockWidget(Qt::BottomDockWidgetArea, input_);
  splitDockWidget(figures_, checkpoints_, Qt::Vertical);
  setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

// Panels take their share of the window, so that a small one leaves the map its room.
void MainWindow::size_docks() {
  const auto share = [](int whole, double part, int least, int most) {
    return std::clamp(static_cast<int>(whole * part), least, most);
  };
  resizeDocks({checkpoints_, inspector_}, {share(width(), 0.175, 190, 300), share(width(), 0.19, 200, 320)},
              Qt::Horizontal);
  resizeDocks({input_}, {share(height(), 0.18, 130, 260)}, Qt::Vertical);
  resizeDocks({figures_, checkpoints_}, {420, 300}, Qt::Vertical);
}

// No part of the window and its frame, which the window manager adds around a window that is shown, lies outside the
// screen that most of it is on. One that wants all of the screen is maximised; one that lies inside stays where it is,
// or where the window manager puts it.
void MainWindow::fit_into_screen() {
  const QScreen* on = QGuiApplication::screenAt(geometry().center());
  on = on == nullptr ? QGuiApplication::primaryScreen() : on;
  if (on == nullptr || isMaximized() || isFullScreen()) {
    return;
  }
  const QSize usual_frame(10, 40);
  const QSize frame = isVisible() ? frameGeometry().size() - size() : usual_frame;
  const QRect screen = on->availableGeometry();
  const QSize room = screen.size() - frame;
  const bool wants_all = width() > room.width() && height() > room.height();
  const QSize fitting = size().boundedTo(room);
  if (fitting != size()) {
    resize(fitting);
  }
  const QPoint now = frameGeometry().topLeft();
  const QPoint at(std::clamp(now.x(), screen.x(), screen.x() + room.width() - fitting.width()),
                  std::clamp(now.y(), screen.y(), screen.y() + room.height() - fitting.height()));
  if (at != now) {
    move(at);
  }
  if (wants_all) {
    setWindowState(windowState() | Qt::WindowMaximized);
  }
}

void MainWindow::keep_layout() {
  if (!ui_hidden_) {
    settings_->setValue(QStringLiteral("layout"), saveState());
  }
  settings_->setValue(QStringLiteral("geometry"), saveGeometry());
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
  resize(kUsualSize);
  restoreGeometry(settings_->value(QStringLiteral("geometry")).toByteArray());
  fit_into_screen();
  size_docks();
  restoreState(settings_->value(QStringLiteral("layout")).toByteArray());
  set_theme(settings_->value(QStringLiteral("dark"), false).toBool());
  show_captions();
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
