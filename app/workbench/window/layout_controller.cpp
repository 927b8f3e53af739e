#include "app/workbench/window/layout_controller.h"

#include <QApplication>
#include <QDockWidget>
#include <QLayout>
#include <QMainWindow>
#include <QMenuBar>
#include <QResizeEvent>
#include <QScreen>
#include <QSettings>
#include <QTimer>
#include <algorithm>
#include <cstdlib>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/canvas/options_bar.h"
#include "app/workbench/canvas/view_bar.h"
#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/inspector_dock.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/widgets/theme.h"
#include "app/workbench/window/message_bar.h"

namespace locus::workbench {

namespace {

constexpr QSize kUsualSize(1440, 900);
constexpr QSize kUsualFrame(10, 40);
constexpr int kMapHeight = 692;  // that the map, its options and the bars have before the text has more than a line
constexpr double kMinScale = 0.6;
constexpr double kMaxScale = 3;
constexpr double kPointSize = 10;  // of text of scale 1
constexpr int kMovedPx = 2;        // by which the user has made a panel larger or smaller

// An arrangement: its menu text, and the panels that it shows (figures, checkpoints, input, inspector).
struct Preset {
  const char* text;
  std::array<bool, 4> seen;
};
constexpr std::array<Preset, 3> kPresets = {{{"&All panels", {true, true, true, true}},
                                             {"&Map and text", {false, false, true, false}},
                                             {"Map and &values", {false, true, false, true}}}};

}  // namespace

LayoutController::LayoutController(const WindowParts& parts)
    : parts_(parts),
      window_(*parts.window),
      settings_(*parts.settings),
      panels_{parts.figures, parts.checkpoints, parts.input, parts.inspector} {
  window_.setDockNestingEnabled(true);
  window_.installEventFilter(this);
  for (QDockWidget* panel : panels_) {
    grow_title_with_text(*panel);
    panel->installEventFilter(this);
    connect(panel->toggleViewAction(), &QAction::triggered, this, &LayoutController::keep);
  }
  place_panels();
}

// ---- kept for the next start

void LayoutController::restore() {
  window_.resize(kUsualSize);
  window_.restoreGeometry(settings_.value(QStringLiteral("geometry")).toByteArray());
  fit_into_screen();
  set_dark(settings_.value(QStringLiteral("dark"), false).toBool());
  show_captions();
  set_scale(settings_.value(QStringLiteral("scale"), 1.0).toDouble());
  share_room();  // which depends on the size of text
  shares_ = !window_.restoreState(settings_.value(QStringLiteral("layout")).toByteArray());
}

void LayoutController::keep() {
  if (!all_hidden_) {
    settings_.setValue(QStringLiteral("layout"), window_.saveState());
  }
  settings_.setValue(QStringLiteral("geometry"), window_.saveGeometry());
}

// ---- arrangements

QList<QString> LayoutController::presets() {
  QList<QString> texts;
  for (const Preset& preset : kPresets) {
    texts << QString::fromLatin1(preset.text);
  }
  return texts;
}

void LayoutController::set_preset(int preset) {
  hide_all(false);
  for (int n = 0; n < static_cast<int>(panels_.size()); ++n) {
    panels_[n]->setFloating(false);
    panels_[n]->setVisible(kPresets[static_cast<std::size_t>(preset)].seen[static_cast<std::size_t>(n)]);
  }
  keep();
}

void LayoutController::reset() {
  place_panels();
  set_preset(0);
  if (!window_.isMaximized() && !window_.isFullScreen()) {
    window_.resize(kUsualSize);
    fit_into_screen();
  }
  share_room();
  keep();
}

void LayoutController::place_panels() {
  window_.addDockWidget(Qt::LeftDockWidgetArea, parts_.figures);
  window_.addDockWidget(Qt::LeftDockWidgetArea, parts_.checkpoints);
  window_.addDockWidget(Qt::RightDockWidgetArea, parts_.inspector);
  window_.addDockWidget(Qt::BottomDockWidgetArea, parts_.input);
  window_.splitDockWidget(parts_.figures, parts_.checkpoints, Qt::Vertical);
  window_.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  window_.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

// Panels take their share of the window, so that a small one leaves the map its room.
void LayoutController::share_room() {
  const auto share = [](int whole, double part, int least, int most) {
    return std::clamp(static_cast<int>(whole * part), least, most);
  };
  resize_panels({share(window_.width(), 0.145, 176, 320), share(window_.width(), 0.17, 200, 320), input_height()});
  shares_ = true;
  window_.resizeDocks({parts_.figures, parts_.checkpoints}, {420, 300}, Qt::Vertical);
}

// The share of the lower panel: the map has its room first, then the text.
int LayoutController::input_height() const {
  return std::clamp(window_.height() - kMapHeight, parts_.input->least_height(), parts_.input->usual_height());
}

bool LayoutController::has_share() const {
  return std::abs(parts_.input->height() - input_height()) <= kMovedPx;
}

// No part of the window and its frame, which the window manager adds around a window that is shown, lies outside the
// screen that most of it is on. One that wants all of the screen is maximised; one that lies inside stays where it is,
// or where the window manager puts it.
void LayoutController::fit_into_screen() {
  const QScreen* on = QGuiApplication::screenAt(window_.geometry().center());
  on = on == nullptr ? QGuiApplication::primaryScreen() : on;
  if (on == nullptr || window_.isMaximized() || window_.isFullScreen()) {
    return;
  }
  const QSize size = window_.size();
  const QSize frame = window_.isVisible() ? window_.frameGeometry().size() - size : kUsualFrame;
  const QRect screen = on->availableGeometry();
  const QSize room = screen.size() - frame;
  const QSize fitting = size.boundedTo(room);
  if (fitting != size) {
    window_.resize(fitting);
  }
  const QPoint now = window_.frameGeometry().topLeft();
  const QPoint at(std::clamp(now.x(), screen.x(), screen.x() + room.width() - fitting.width()),
                  std::clamp(now.y(), screen.y(), screen.y() + room.height() - fitting.height()));
  if (at != now) {
    window_.move(at);
  }
  if (size.width() > room.width() && size.height() > room.height()) {
    window_.setWindowState(window_.windowState() | Qt::WindowMaximized);
  }
}

// ---- sizes of panels

LayoutController::Sizes LayoutController::sizes() const {
  return {parts_.checkpoints->width(), parts_.inspector->width(), parts_.input->height()};
}

void LayoutController::resize_panels(const Sizes& sizes) {
  window_.resizeDocks({parts_.checkpoints, parts_.inspector}, {sizes[0], sizes[1]}, Qt::Horizontal);
  window_.resizeDocks({parts_.input}, {sizes[2]}, Qt::Vertical);
}

// Panels grow with their text, the map keeps most of the window; as the text shrinks again they give back what they
// took.
void LayoutController::scale_panels() {
  const Sizes room = {window_.width() / 4, window_.width() / 4, window_.height() / 4};
  Sizes wanted{};
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    wanted[n] = std::min(static_cast<int>(unscaled_[n] * scale_), std::max(room[n], static_cast<int>(unscaled_[n])));
  }
  // How many lines their controls take depends on their width, and how high a panel is on its title.
  for (int pass = 0; pass < 3; ++pass) {
    QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    resize_panels(wanted);
  }
  QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  window_.layout()->activate();
  scaled_ = sizes();
}

// What a panel was given while the window kept its size is what was wanted of it: a window that becomes smaller takes
// from its panels, and one that becomes larger again gives it back. The lower one keeps to its share, if it has it.
bool LayoutController::eventFilter(QObject* object, QEvent* event) {
  if (object == &window_ && (event->type() == QEvent::Resize || event->type() == QEvent::Show)) {
    if (window_.isVisible()) {
      QTimer::singleShot(0, this, &LayoutController::restore_panels);
    }
  } else if (event->type() == QEvent::Resize && object != parts_.figures && window_.size() == settled_) {
    chosen_ = sizes();
    shares_ = has_share();
  }
  return QObject::eventFilter(object, event);
}

void LayoutController::restore_panels() {
  if (!settled_.isValid()) {
    chosen_ = sizes();
    shares_ = shares_ || has_share();
  }
  chosen_[2] = shares_ ? input_height() : chosen_[2];
  resize_panels(chosen_);
  QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  settled_ = window_.size();
}

// ---- the look

void LayoutController::set_scale(double scale) {
  const Sizes now = sizes();
  for (std::size_t n = 0; n < now.size(); ++n) {
    unscaled_[n] = std::abs(now[n] - scaled_[n]) > kMovedPx ? now[n] / scale_ : unscaled_[n];
  }
  scaled_ = now;
  scale_ = std::clamp(scale, kMinScale, kMaxScale);
  QFont font = QApplication::font();
  font.setPointSizeF(kPointSize * scale_);
  QApplication::setFont(font);
  for (QDockWidget* panel : panels_) {
    panel->layout()->invalidate();  // its title has another height
    panel->update();
  }
  settings_.setValue(QStringLiteral("scale"), scale_);
  if (parts_.link != nullptr) {
    parts_.link->presenter().set_scale(scale_);
  }
  if (window_.isVisible()) {
    QTimer::singleShot(0, this, &LayoutController::scale_panels);
  }
}

void LayoutController::set_dark(bool dark) {
  dark_ = dark;
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), dark);
  settings_.setValue(QStringLiteral("dark"), dark);
  if (parts_.link != nullptr) {
    parts_.link->presenter().set_dark(dark);
  }
}

bool LayoutController::has_captions() const {
  return settings_.value(QStringLiteral("captions"), true).toBool();
}

void LayoutController::set_captions(bool shown) {
  settings_.setValue(QStringLiteral("captions"), shown);
  show_captions();
}

void LayoutController::show_captions() {
  if (parts_.link != nullptr) {
    parts_.link->presenter().set_captions(has_captions() && !all_hidden_);
    parts_.link->instruments().set_hidden(all_hidden_);
  }
}

void LayoutController::hide_all(bool hidden) {
  if (hidden == all_hidden_) {
    return;
  }
  all_hidden_ = hidden;
  window_.menuBar()->setVisible(!hidden);
  parts_.messages->setVisible(!hidden);
  parts_.view_bar->setVisible(!hidden);
  parts_.options_bar->set_hidden(hidden);
  show_captions();
  if (hidden) {
    hidden_panels_.clear();
    std::copy_if(panels_.begin(), panels_.end(), std::back_inserter(hidden_panels_),
                 [](const QDockWidget* panel) { return !panel->isHidden(); });
  }
  for (QDockWidget* panel : std::as_const(hidden_panels_)) {
    panel->setVisible(!hidden);
  }
  if (hidden && parts_.canvas != nullptr) {
    parts_.canvas->show_focus(false);  // there is nowhere else that keys could go
  }
}

}  // namespace locus::workbench
