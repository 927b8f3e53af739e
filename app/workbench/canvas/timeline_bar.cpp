#include "app/workbench/canvas/timeline_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>
#include <algorithm>
#include <map>
#include <utility>

#include "app/session/shared_options.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kTickMs = 450;
constexpr int kStepMs = 700;
constexpr const char* kFrameOption = "frame";  // of views: −1 shows all

std::optional<std::int64_t> step_in_name(const std::filesystem::path& path) {
  static const QRegularExpression kName(QStringLiteral(R"(^(?:step|checkpoint)[-_]?(\d{1,18})(?:\.\w+)?$)"),
                                        QRegularExpression::CaseInsensitiveOption);
  const QRegularExpressionMatch match = kName.match(qt(path.filename().string()));
  return match.hasMatch() ? std::optional(static_cast<std::int64_t>(match.captured(1).toLongLong())) : std::nullopt;
}

}  // namespace

std::vector<SeriesStep> series_of(const CheckpointList& checkpoints) {
  std::map<std::string, std::vector<SeriesStep>> series;  // by their folder
  for (const Checkpoint& each : checkpoints.all()) {
    const bool plain = each.entry.edits.empty() && !each.entry.text && each.entry.overrides == models::Overrides();
    const auto step = plain ? step_in_name(each.entry.path) : std::nullopt;
    if (step) {
      std::vector<SeriesStep>& list = series[each.entry.path.parent_path().string()];
      if (std::ranges::find(list, *step, &SeriesStep::step) == list.end()) {
        list.push_back({each.id, *step});
      }
    }
  }
  std::vector<SeriesStep> longest;
  for (auto& [folder, list] : series) {
    if (list.size() > std::max<std::size_t>(longest.size(), 1)) {
      longest = list;
    }
  }
  std::ranges::sort(longest, {}, &SeriesStep::step);
  return longest;
}

TimelineBar::TimelineBar(Studio& studio, QWidget* parent) : QWidget(parent), studio_(studio) {
  give_name(this, "timeline", QStringLiteral("Timeline"));
  auto* line = make_layout<QHBoxLayout>(this, 0);
  line->setContentsMargins(6, 0, 6, 0);
  play_ = make_named<QToolButton>(this, "timeline-play", QStringLiteral("Play"));
  play_->setAutoRaise(true);
  connect(play_, &QToolButton::clicked, this, &TimelineBar::toggle_play);
  line->addWidget(play_);
  axis_ = make_named<QComboBox>(this, "timeline-axis", QStringLiteral("What the timeline goes through"),
                                QStringLiteral("Layers of the model, frames of a video, or steps of the training"));
  connect(axis_, &QComboBox::activated, this, [this] {
    chosen_ = static_cast<Axis>(axis_->currentData().toInt());
    refresh();
  });
  line->addWidget(axis_);
  slider_ = new QSlider(Qt::Horizontal, this);
  give_name(slider_, "timeline-slider", QStringLiteral("Layer, frame or step; arrows, Home and End"));
  slider_->setPageStep(4);
  connect(slider_, &QSlider::valueChanged, this, [this](int place) {
    if (!filling_) {
      go_to(place);
    }
  });
  line->addWidget(slider_, 1);
  label_ = make_label(this, "timeline-label");
  label_->setWordWrap(false);
  line->addWidget(label_);
  for (const auto change : {&Studio::state_changed, &Studio::runs_changed, &Studio::checkpoints_changed}) {
    connect(&studio_, change, this, &TimelineBar::refresh);
  }
  connect(&studio_, &Studio::state_changed, &moving_, &QTimer::stop);
  moving_.setSingleShot(true);
  moving_.setInterval(kStepMs);
  tick_.setInterval(kTickMs);
  connect(&tick_, &QTimer::timeout, this, &TimelineBar::play_next);
  refresh();
  if (parent != nullptr) {
    parent->window()->installEventFilter(this);
  }
}

void TimelineBar::set_wanted(bool wanted) {
  wanted_ = wanted;
  refresh();
}

bool TimelineBar::is_wanted() const {
  constexpr int kSmallScreen = 800;
  return wanted_.value_or(window()->height() > kSmallScreen);
}

bool TimelineBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == window()) {
    show_or_hide();
  }
  return QWidget::eventFilter(watched, event);
}

void TimelineBar::show_or_hide() {
  setVisible(is_wanted() && !hidden_ && count() > 1);
}

void TimelineBar::set_hidden(bool hidden) {
  hidden_ = hidden;
  refresh();
}

// ---- the place

bool TimelineBar::has(Axis axis) const {
  return axis == Axis::kLayers   ? studio_.view().info().uses_layer
         : axis == Axis::kFrames ? frames() > 1
                                 : !series_.empty();
}

TimelineBar::Axis TimelineBar::axis() const {
  if (chosen_ && has(*chosen_)) {
    return *chosen_;
  }
  return has(Axis::kFrames) ? Axis::kFrames : has(Axis::kLayers) || series_.empty() ? Axis::kLayers : Axis::kSteps;
}

int TimelineBar::frames() const {
  const bool has_option = std::ranges::any_of(studio_.view().info().controls,
                                              [](const auto& control) { return control.name == kFrameOption; });
  if (!has_option) {
    return 0;
  }
  std::int64_t most = 0;
  for (const Checkpoint* const each : studio_.checkpoints().shown()) {
    for (const models::ImageSpan& span : each->trace->images()) {
      most = span.video < 0 ? most : std::max(most, span.frame + 1);
    }
  }
  return static_cast<int>(most);
}

int TimelineBar::count() const {
  switch (axis()) {
    case Axis::kFrames:
      return frames() + 1;  // all of them first
    case Axis::kSteps:
      return static_cast<int>(series_.size());
    case Axis::kLayers:
      break;
  }
  const bool any = studio_.view().info().uses_layer && !studio_.checkpoints().shown().empty();
  return any ? studio_.checkpoints().largest_layer(studio_.state().side, studio_.state().by_depth) + 1 : 0;
}

int TimelineBar::place() const {
  if (axis() == Axis::kLayers) {
    return static_cast<int>(studio_.state().layer);
  }
  if (axis() == Axis::kFrames) {
    const auto own = studio_.state().options.find(studio_.state().view);
    const auto frame =
        own == studio_.state().options.end() ? Result<std::int64_t>(-1) : own->second.integer(kFrameOption, -1);
    return static_cast<int>(std::clamp<std::int64_t>(frame.ok() ? *frame + 1 : 0, 0, frames()));
  }
  const auto shown = std::ranges::find_if(series_, [this](const SeriesStep& each) {
    const Checkpoint* checkpoint = studio_.checkpoints().find(each.id);
    return checkpoint != nullptr && checkpoint->entry.shown;
  });
  return shown == series_.end() ? 0 : static_cast<int>(shown - series_.begin());
}

// The entries of the list are what there is to go through.
void TimelineBar::list_axes() {
  const QSignalBlocker blocked(axis_);
  axis_->clear();
  for (const auto& [axis, name] :
       {std::pair(Axis::kLayers, QStringLiteral("layers")), std::pair(Axis::kFrames, QStringLiteral("frames")),
        std::pair(Axis::kSteps, QStringLiteral("steps"))}) {
    if (has(axis)) {
      axis_->addItem(name, static_cast<int>(axis));
    }
  }
  axis_->setCurrentIndex(axis_->findData(static_cast<int>(axis())));
  axis_->setVisible(axis_->count() > 1);
}

void TimelineBar::refresh() {
  series_ = series_of(studio_.checkpoints());
  list_axes();
  const int places = count();
  show_or_hide();
  if (places < 2) {
    tick_.stop();
    show_playing();
    return;
  }
  const int now = std::clamp(place(), 0, places - 1);
  filling_ = true;
  slider_->setRange(0, places - 1);
  slider_->setValue(now);
  filling_ = false;
  switch (axis()) {
    case Axis::kLayers:
      label_->setText(QStringLiteral("layer %1 of %2").arg(now).arg(places));
      break;
    case Axis::kFrames:
      label_->setText(now == 0 ? QStringLiteral("all %1 frames").arg(places - 1)
                               : QStringLiteral("frame %1 of %2").arg(now - 1).arg(places - 1));
      break;
    case Axis::kSteps:
      label_->setText(QStringLiteral("step %1, %2 of %3")
                          .arg(series_[static_cast<std::size_t>(now)].step)
                          .arg(now + 1)
                          .arg(places));
  }
  // The longest of its words, so that the slider keeps its length.
  label_->setMinimumWidth(std::max(label_->minimumWidth(), label_->sizeHint().width()));
  slider_->setAccessibleDescription(label_->text());
  show_playing();
}

void TimelineBar::go_to(int place) {
  if (axis() == Axis::kSteps) {
    const std::vector<SeriesStep> series = series_;
    const auto wanted = static_cast<std::size_t>(std::clamp(place, 0, static_cast<int>(series.size()) - 1));
    studio_.columns().set_shown(series[wanted].id, true);
    for (std::size_t n = 0; n < series.size(); ++n) {
      const Checkpoint* checkpoint = studio_.checkpoints().find(series[n].id);
      if (n != wanted && checkpoint != nullptr && checkpoint->entry.shown) {
        studio_.columns().set_shown(series[n].id, false);
      }
    }
    return;
  }
  session::ViewState state = studio_.state();
  if (axis() == Axis::kFrames) {
    session::set_option(state, state.view, kFrameOption, std::int64_t{place} - 1);
  } else {
    state.layer = place;
  }
  moving_.isActive() ? studio_.amend(state) : studio_.change(state);
  moving_.start();
}

// ---- playing

Status TimelineBar::can_play() const {
  return count() > 1 ? Status()
                     : usage("this view has no layers or frames to play, and no steps of a training are open");
}

void TimelineBar::toggle_play() {
  if (tick_.isActive()) {
    tick_.stop();
  } else if (count() > 1) {
    if (place() >= count() - 1) {
      go_to(0);
    }
    tick_.start();
  }
  show_playing();
}

// A figure that takes longer is waited for.
void TimelineBar::play_next() {
  if (studio_.checkpoints().waiting() || studio_.scheduler().is_stale()) {
    return;
  }
  const int next = place() + 1;
  if (next < count()) {
    go_to(next);
  }
  if (next >= count() - 1) {
    tick_.stop();
    show_playing();
  }
}

void TimelineBar::show_playing() {
  const bool plays = tick_.isActive();
  play_->setText(plays ? QStringLiteral("⏸") : QStringLiteral("▶"));
  play_->setAccessibleName(plays ? QStringLiteral("Pause") : QStringLiteral("Play"));
  play_->setToolTip(plays ? QStringLiteral("Pause (Ctrl+Shift+T)") : QStringLiteral("Play (Ctrl+Shift+T)"));
}

void TimelineBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space) {
    toggle_play();
  } else {
    QWidget::keyPressEvent(event);
  }
}

}  // namespace locus::workbench
