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

#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/inspector_dock.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/widgets/theme.h"

namespace locus::workbench {

namespace {

constexpr double kUsualShare = 0.8;  // of the screen: the first size of the window
constexpr QSize kLeastUsual(1200, 750);
constexpr QSize kMostUsual(2200, 1400);
constexpr QSize kUsualFrame(10, 40);
constexpr int kLayoutVersion = 2;  // of the stored places of panels: older ones have the text below the map
constexpr int kMapHeight = 692;    // of map, options and bars; only height beyond that goes to a text below the map
constexpr double kMinScale = 0.6;
constexpr double kMaxScale = 3;
constexpr double kPointSize = 10;  // of text of scale 1
constexpr int kMovedPx = 2;        // a larger difference means that the user has resized a panel

// A predefined arrangement: its menu text and visible panels (figures, checkpoints, input, inspector).
struct Preset {
  const char* text;
  std::array<bool, 4> seen;
};
constexpr std::array<Preset, 3> kPresets = {{{"&All panels", {true, true, true, true}},
                                             {"&Map and text", {false, false, true, false}},
                                             {"Map and &values", {false, true, false, true}}}};

// Whether the user, or the program, has put a panel away; one that has never been shown is not.
bool is_away(const QDockWidget& panel) {
  return panel.isHidden() && panel.testAttribute(Qt::WA_WState_ExplicitShowHide);
}

// Passes changes of hints on through all layouts, each of which tells the next.
void settle_layouts() {
  constexpr int kLevels = 4;
  for (int level = 0; level < kLevels; ++level) {
    QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  }
}

// The first size of the window on that screen.
QSize usual_size(const QScreen* screen) {
  const QSize room = screen == nullptr ? kLeastUsual : screen->availableGeometry().size() * kUsualShare;
  return room.expandedTo(kLeastUsual).boundedTo(kMostUsual);
}

}  // namespace

LayoutController::LayoutController(QMainWindow& window, QSettings& settings, FiguresDock& figures,
                                   CheckpointsDock& checkpoints, InputDock& input, InspectorDock& inspector)
    : window_(window),
      settings_(settings),
      figures_(figures),
      checkpoints_(checkpoints),
      input_(input),
      inspector_(inspector),
      panels_{&figures, &checkpoints, &input, &inspector} {
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
  text_below_ = settings_.value(QStringLiteral("text-below"), false).toBool();
  place_panels();
  window_.resize(usual_size(QGuiApplication::primaryScreen()));
  window_.restoreGeometry(settings_.value(QStringLiteral("geometry")).toByteArray());
  fit_into_screen();
  set_dark(settings_.value(QStringLiteral("dark"), false).toBool());
  Q_EMIT captions_changed(has_captions());
  set_scale(settings_.value(QStringLiteral("scale"), 1.0).toDouble());
  share_room();  // depends on the size of text
  shares_ = !window_.restoreState(settings_.value(QStringLiteral("layout")).toByteArray(), kLayoutVersion);
  shares_widths_ = shares_;
  fold(settings_.value(QStringLiteral("folded"), false).toBool());
}

// What is hidden for a while is not stored as hidden.
void LayoutController::keep() {
  if (!all_hidden_ && !folded_ && !text_hidden_) {
    settings_.setValue(QStringLiteral("layout"), window_.saveState(kLayoutVersion));
  }
  settings_.setValue(QStringLiteral("geometry"), window_.saveGeometry());
}

void LayoutController::end() {
  const bool folded = folded_;
  hide_all(false);
  fold(false);
  want_text(true);
  keep();
  settings_.setValue(QStringLiteral("folded"), folded);
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
  fold(false);
  text_hidden_ = false;
  for (int n = 0; n < static_cast<int>(panels_.size()); ++n) {
    panels_[n]->setFloating(false);
    panels_[n]->setVisible(kPresets[static_cast<std::size_t>(preset)].seen[static_cast<std::size_t>(n)]);
  }
  keep();
}

void LayoutController::reset() {
  set_preset(0);
  set_text_below(false);
  if (!window_.isMaximized() && !window_.isFullScreen()) {
    window_.resize(usual_size(window_.screen()));
    fit_into_screen();
  }
  share_room();
  keep();
}

void LayoutController::set_text_below(bool below) {
  text_below_ = below;
  settings_.setValue(QStringLiteral("text-below"), below);
  place_panels();
  share_room();
  // Once more with its new width, on which the number of lines of its controls depends.
  QTimer::singleShot(0, this, [this] {
    settle_layouts();
    share_room();
    keep();
  });
}

void LayoutController::fold(bool folded) {
  if (folded == folded_ || all_hidden_) {
    return;
  }
  folded_ = folded;
  if (folded) {
    folded_panels_.clear();
    for (QDockWidget* panel : {static_cast<QDockWidget*>(&figures_), static_cast<QDockWidget*>(&checkpoints_)}) {
      if (!is_away(*panel)) {
        folded_panels_.append(panel);
      }
    }
  }
  for (QDockWidget* panel : std::as_const(folded_panels_)) {
    panel->setVisible(!folded);
  }
  keep();
}

void LayoutController::fit_column() {
  if (shares_ && !text_below_) {
    share_column();
  }
}

void LayoutController::widen_inspector(int width) {
  wanted_ = width;
  if (shares_widths_) {
    window_.resizeDocks({&inspector_}, {shared_widths()[1]}, Qt::Horizontal);
  }
}

void LayoutController::want_text(bool wanted) {
  if (wanted == text_wanted_) {
    return;  // the user may have shown or hidden it since
  }
  text_wanted_ = wanted;
  if (wanted && text_hidden_) {
    text_hidden_ = false;
    all_hidden_ ? hidden_panels_.append(&input_) : input_.show();
  } else if (!wanted && !is_away(input_)) {
    text_hidden_ = true;
    input_.hide();
  }
}

void LayoutController::place_panels() {
  window_.addDockWidget(Qt::LeftDockWidgetArea, &figures_);
  window_.addDockWidget(Qt::LeftDockWidgetArea, &checkpoints_);
  window_.addDockWidget(Qt::RightDockWidgetArea, &inspector_);
  window_.splitDockWidget(&figures_, &checkpoints_, Qt::Vertical);
  if (text_below_) {
    window_.addDockWidget(Qt::BottomDockWidgetArea, &input_);
  } else {
    window_.splitDockWidget(&checkpoints_, &input_, Qt::Vertical);
  }
  window_.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  window_.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

// Widths of the left and right panels in proportion to the window, so that a small window leaves room for the map. With
// larger text they may have a quarter of it each.
std::array<int, 2> LayoutController::shared_widths() const {
  const int whole = window_.width();
  const auto share = [&](double part, int least, int most) {
    const int usual = std::clamp(static_cast<int>(whole * part), least, most);
    return std::max(usual, std::min(static_cast<int>(usual * scale_), whole / 4));
  };
  const int left = text_below_ ? share(0.145, 176, 320) : share(0.21, 280, 440);
  const int right = share(0.17, 200, 320);
  return {left, std::max(right, std::min(wanted_, whole / 4))};
}

void LayoutController::share_room() {
  const auto [left, right] = shared_widths();
  resize_panels({left, right, input_height()});
  shares_ = true;
  shares_widths_ = true;
  share_column();
}

// The figures and checkpoints have their parts of the left column, and a text beside the map the rest of it.
void LayoutController::share_column() {
  const int whole = window_.height();
  if (text_below_) {
    window_.resizeDocks({&figures_, &checkpoints_}, {whole * 7, whole * 5}, Qt::Vertical);
    return;
  }
  const int figures = whole * 28 / 100;
  const int checkpoints = std::min(std::max(whole * 20 / 100, 120), checkpoints_.usual_height());
  window_.resizeDocks({&figures_, &checkpoints_, &input_}, {figures, checkpoints, whole - figures - checkpoints},
                      Qt::Vertical);
}

// Height of a text below the map: what the map leaves.
int LayoutController::input_height() const {
  return text_below_ ? std::clamp(window_.height() - kMapHeight, input_.least_height(), input_.usual_height())
                     : input_.height();
}

bool LayoutController::has_share() const {
  return text_below_ ? std::abs(input_.height() - input_height()) <= kMovedPx : shares_;
}

// Widths, and heights in the left column, are the user's choice once a separator has changed one.
void LayoutController::follow_separator(bool released) {
  const std::array<int, 5> now = {sizes()[0], sizes()[1], figures_.height(), checkpoints_.height(), input_.height()};
  if (!released) {
    before_ = now;
    return;
  }
  shares_widths_ = shares_widths_ && now[0] == before_[0] && now[1] == before_[1];
  shares_ = shares_ && (text_below_ || std::equal(now.begin() + 2, now.end(), before_.begin() + 2));
}

// Moves and shrinks the window until it and its frame lie within the screen that holds its centre. A window larger than
// the screen is maximised; one inside the screen is left alone.
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
  const bool beside = checkpoints_.isHidden() && !text_below_;
  return {beside ? input_.width() : checkpoints_.width(), inspector_.width(), input_.height()};
}

void LayoutController::resize_panels(const Sizes& sizes) {
  // The panel of the left column that is seen gives it its width.
  QDockWidget* left = &checkpoints_;
  for (QDockWidget* panel : {static_cast<QDockWidget*>(&figures_), static_cast<QDockWidget*>(&input_)}) {
    left = left->isHidden() && (panel != &input_ || !text_below_) ? panel : left;
  }
  window_.resizeDocks({left, &inspector_}, {sizes[0], sizes[1]}, Qt::Horizontal);
  if (text_below_) {
    window_.resizeDocks({&input_}, {sizes[2]}, Qt::Vertical);
  }
}

// Scales panels with their text, up to a quarter of the window each; smaller text restores the former sizes.
void LayoutController::scale_panels() {
  const Sizes room = {window_.width() / 4, window_.width() / 4, window_.height() / 4};
  Sizes wanted{};
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    wanted[n] = std::min(static_cast<int>(unscaled_[n] * scale_), std::max(room[n], static_cast<int>(unscaled_[n])));
  }
  // The number of lines of controls depends on their width, and the height of a panel on its title: repeated passes.
  for (int pass = 0; pass < 3; ++pass) {
    QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    resize_panels(wanted);
  }
  fit_column();
  QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  window_.layout()->activate();
  scaled_ = sizes();
}

// Sizes given to panels while the window keeps its size are the user's choice. A shrinking window takes from its
// panels; when it grows again they get back their chosen sizes. The text keeps its share, if it has it.
bool LayoutController::eventFilter(QObject* object, QEvent* event) {
  if (object == &window_ && (event->type() == QEvent::Resize || event->type() == QEvent::Show)) {
    if (window_.isVisible()) {
      QTimer::singleShot(0, this, &LayoutController::restore_panels);
    }
  } else if (object == &window_ &&
             (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonRelease)) {
    follow_separator(event->type() == QEvent::MouseButtonRelease);
  } else if (event->type() == QEvent::Resize && object != &figures_ && window_.size() == present_size_) {
    chosen_ = sizes();
    shares_ = has_share();
  }
  return QObject::eventFilter(object, event);
}

void LayoutController::restore_panels() {
  if (!present_size_.isValid()) {
    chosen_ = sizes();
    shares_ = shares_ || has_share();
  }
  chosen_[2] = shares_ ? input_height() : chosen_[2];
  if (shares_widths_) {
    chosen_[0] = shared_widths()[0];
    chosen_[1] = shared_widths()[1];
  }
  resize_panels(chosen_);
  if (shares_) {
    share_column();
  }
  settle_layouts();
  if (shares_ && text_below_) {  // once more with its new width, on which the number of lines of its controls depends
    chosen_[2] = input_height();
    resize_panels(chosen_);
    settle_layouts();
  }
  present_size_ = window_.size();
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
    panel->layout()->invalidate();  // the height of its title has changed
    panel->update();
  }
  settings_.setValue(QStringLiteral("scale"), scale_);
  Q_EMIT scale_changed(scale_);
  if (window_.isVisible()) {
    QTimer::singleShot(0, this, &LayoutController::scale_panels);
  }
}

void LayoutController::set_dark(bool dark) {
  dark_ = dark;
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), dark);
  settings_.setValue(QStringLiteral("dark"), dark);
  Q_EMIT dark_changed(dark);
}

bool LayoutController::has_captions() const {
  return settings_.value(QStringLiteral("captions"), true).toBool();
}

void LayoutController::set_captions(bool shown) {
  settings_.setValue(QStringLiteral("captions"), shown);
  Q_EMIT captions_changed(shown && !all_hidden_);
}

void LayoutController::hide_all(bool hidden) {
  if (hidden == all_hidden_) {
    return;
  }
  all_hidden_ = hidden;
  window_.menuBar()->setVisible(!hidden);
  Q_EMIT all_hidden(hidden);
  Q_EMIT captions_changed(has_captions() && !hidden);
  if (hidden) {
    hidden_panels_.clear();
    std::copy_if(panels_.begin(), panels_.end(), std::back_inserter(hidden_panels_),
                 [](const QDockWidget* panel) { return !panel->isHidden(); });
  }
  for (QDockWidget* panel : std::as_const(hidden_panels_)) {
    panel->setVisible(!hidden);
  }
}

}  // namespace locus::workbench
