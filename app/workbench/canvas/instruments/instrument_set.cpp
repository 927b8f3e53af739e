#include "app/workbench/canvas/instruments/instrument_set.h"

#include <imgui.h>

#include <QKeyEvent>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/workbench/canvas/instruments/free_places.h"
#include "app/workbench/canvas/instruments/hud.h"
#include "app/workbench/canvas/instruments/instruments.h"
#include "app/workbench/canvas/instruments/measure.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "app/workbench/canvas/instruments/wipe_line.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kMaxKeys = 64;  // waiting keys: a hidden window draws no frames
constexpr ImGuiWindowFlags kBareWindow = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground |
                                         ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                         ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav |
                                         ImGuiWindowFlags_NoBringToFrontOnFocus;

// Dear ImGui cuts the position and the size of a window to whole pixels each, and with them its lower border.
figure::Rect on_pixels(const figure::Rect& area) {
  const double left = std::floor(area.x);
  const double top = std::floor(area.y);
  return {left, top, std::ceil(area.right()) - left, std::ceil(area.bottom()) - top};
}

}  // namespace

InstrumentSet::InstrumentSet(Studio& studio, viewport::Canvas& canvas)
    : studio_(studio),
      canvas_(canvas),
      there_(&canvas),
      gesture_(studio),
      instruments_(make_instruments()),
      redraw_([this] { canvas_.request_frames(); }) {
  canvas_.set_overlay(this);
  connect(&gesture_, &Gesture::head_clicked, this, &InstrumentSet::head_clicked);
  if (auto* wipe = static_cast<WipeLine*>(find("wipe"))) {
    wipe->set_moved([this] { canvas_.invalidate(); });
  }
}

InstrumentSet::~InstrumentSet() {
  if (there_) {
    there_->set_overlay(nullptr);
  }
}

InstrumentFrame InstrumentSet::frame_of(const viewport::OverlayFrame& canvas, viewport::ImGuiBridge& imgui,
                                        bool focused) {
  return {canvas,        imgui,           studio_,          gesture_, studio_.view(), snapshot_.input, snapshot_.home,
          snapshot_.hit, snapshot_.hover, snapshot_.column, focused,  drawn_,         redraw_,         closes_menus_};
}

// The last frame, with what the canvas shows now.
viewport::OverlayFrame InstrumentSet::last_canvas() const {
  viewport::OverlayFrame frame = last_;
  frame.statement = canvas_.placed().statement();
  frame.figure = canvas_.figure();
  frame.layout = frame.figure != nullptr && canvas_.layout_is_current() ? canvas_.layout() : nullptr;
  frame.figure = frame.layout == nullptr ? nullptr : frame.figure;
  return frame;
}

void InstrumentSet::show(CanvasSnapshot snapshot) {
  snapshot_ = std::move(snapshot);
  statement_ = hidden_ ? std::string() : snapshot_.statement;
  const viewport::OverlayFrame canvas = last_canvas();
  const InstrumentFrame frame = frame_of(canvas, canvas_.imgui(), false);
  for (const auto& each : instruments_) {
    each->update(frame);
  }
  say();
}

void InstrumentSet::set_hidden(bool hidden) {
  hidden_ = hidden;
  statement_ = hidden_ ? std::string() : snapshot_.statement;
  if (hidden) {
    leave();
  }
  canvas_.invalidate();
}

// ---- a frame

void InstrumentSet::draw(const viewport::OverlayFrame& canvas, viewport::ImGuiBridge& imgui) {
  last_ = canvas;
  seen_.clear();
  has_menu_ = false;
  gesture_.hold(ImGui::IsAnyItemActive());
  if (hidden_) {
    return;
  }
  if (canvas.layout == nullptr) {
    drawn_.clear();
  } else if (drawn_of_ != canvas.laid_out) {
    drawn_ = viewport::drawn_places(*canvas.layout, canvas_.placed().typeface());
    drawn_of_ = canvas.laid_out;
    QTimer::singleShot(0, this, &InstrumentSet::say);
  }
  std::vector<figure::Rect> taken = drawn_;
  if (canvas.statement != nullptr) {
    taken.push_back(canvas.statement->area);
  }
  if (canvas_.placed().caption() != nullptr) {
    taken.push_back(canvas_.placed().caption()->area);
  }
  for (const auto& each : instruments_) {
    const InstrumentFrame frame = frame_of(canvas, imgui, each.get() == focus_);
    if (!each->offered(frame)) {
      continue;
    }
    each->draw_below(frame);
    Seen seen{each.get(), each->areas(frame, taken)};
    std::ranges::transform(seen.areas, seen.areas.begin(), on_pixels);
    taken.insert(taken.end(), seen.areas.begin(), seen.areas.end());
    seen_.push_back(std::move(seen));
  }
  for (const Seen& seen : seen_) {
    draw_areas(seen, canvas, imgui);
  }
  has_menu_ = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  closes_menus_ = false;
  if (!keys_.empty()) {
    QTimer::singleShot(0, this, &InstrumentSet::press_next);
  }
}

void InstrumentSet::draw_areas(const Seen& seen, const viewport::OverlayFrame& canvas, viewport::ImGuiBridge& imgui) {
  const InstrumentFrame frame = frame_of(canvas, imgui, seen.instrument == focus_);
  for (std::size_t n = 0; n < seen.areas.size(); ++n) {
    const figure::Rect& area = seen.areas[n];
    if (area.empty()) {
      continue;
    }
    ImGui::SetNextWindowPos(paint::from(area));
    ImGui::SetNextWindowSize(paint::at(area.width, area.height));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
    const std::string window = seen.instrument->name() + "-" + std::to_string(n);
    ImGui::Begin(window.c_str(), nullptr, kBareWindow);
    ImGui::PopStyleVar(2);
    seen.instrument->draw(frame, n, area);
    ImGui::End();
    if (n == seen.instrument->focused_area()) {
      paint::focus(frame, *ImGui::GetForegroundDrawList(), area);
    }
  }
}

bool InstrumentSet::covers(const figure::Point& at) const {
  return std::ranges::any_of(seen_, [&](const Seen& seen) {
    return std::ranges::any_of(seen.areas, [&](const figure::Rect& area) { return area.contains(at.x, at.y); });
  });
}

bool InstrumentSet::says_cell() const {
  const auto* measure = static_cast<const MeasureLines*>(find("measure"));
  return !areas_of("lens").empty() || (measure != nullptr && !hidden_ && measure->going_on());
}

void InstrumentSet::measured(const viewport::FrameCost& cost) {
  cost_ = cost;
  if (auto* hud = static_cast<Hud*>(find("hud"))) {
    hud->add(cost);
  }
}

void InstrumentSet::pull_measure(const figure::Hit& from, const figure::Hit& to, bool finished) {
  if (auto* measure = static_cast<MeasureLines*>(find("measure"))) {
    measure->pull(frame_of(last_canvas(), canvas_.imgui(), false), from, to, finished);
    toggled_ = measure;
    canvas_.request_frames();
  }
}

bool InstrumentSet::wants_room() const {
  return !hidden_ &&
         std::ranges::any_of(instruments_, [&](const auto& each) { return each->wants_room(studio_.state()); });
}

std::optional<double> InstrumentSet::wipe() const {
  const auto* wipe = static_cast<const WipeLine*>(find("wipe"));
  return hidden_ || wipe == nullptr ? std::nullopt : wipe->at();
}

// ---- keyboard

// Whether the shown figure has not been drawn yet: the places of its parts are unknown.
bool InstrumentSet::waits() const {
  return canvas_.figure() != nullptr && !canvas_.layout_is_current();
}

bool InstrumentSet::press(const QKeyEvent& event) {
  if (hidden_) {
    return false;
  }
  if (has_menu_ && event.key() == Qt::Key_Escape) {
    closes_menus_ = true;
    canvas_.request_frames();
    return true;
  }
  const bool tab = event.key() == Qt::Key_Tab || event.key() == Qt::Key_Backtab;
  const bool ours = focus_ != nullptr ? !tab : toggled_by(event.key()) != nullptr;
  if (keys_.empty() && !(ours && waits())) {
    return press_now(event);
  }
  if (keys_.size() < kMaxKeys) {
    keys_.emplace_back(event.clone());
  }
  canvas_.request_frames();
  return true;
}

// Handles one key per frame, so that its effect is drawn before the next one.
void InstrumentSet::press_next() {
  if (keys_.empty() || waits()) {
    return;
  }
  const std::unique_ptr<QKeyEvent> event = std::move(keys_.front());
  keys_.pop_front();
  if (!press_now(*event)) {
    Q_EMIT unused(event.get());
  }
  canvas_.request_frames();
}

bool InstrumentSet::press_now(const QKeyEvent& event) {
  const viewport::OverlayFrame canvas = last_canvas();
  const bool plain = (event.modifiers() & ~Qt::ShiftModifier & ~Qt::KeypadModifier) == Qt::NoModifier;
  if (event.key() == Qt::Key_Tab || event.key() == Qt::Key_Backtab) {
    return plain && move_focus(event.key() == Qt::Key_Tab);
  }
  if (focus_ != nullptr) {
    const InstrumentFrame frame = frame_of(canvas, canvas_.imgui(), true);
    if (focus_->press(frame, {event.key(), event.modifiers()})) {
      say();
      canvas_.request_frames();
      return true;
    }
    if (event.key() == Qt::Key_Escape) {
      focus_ = nullptr;  // keys that wait go to the canvas
      say();
      canvas_.request_frames();
      return true;
    }
  }
  Instrument* wanted = plain ? toggled_by(event.key()) : nullptr;
  if (wanted == nullptr) {
    return false;
  }
  const InstrumentFrame frame = frame_of(canvas, canvas_.imgui(), false);
  if (!event.modifiers().testFlag(Qt::ShiftModifier)) {
    wanted->toggle(frame);
  } else if (!wanted->toggle_with_shift(frame)) {
    return false;
  }
  toggled_ = wanted;
  canvas_.invalidate();  // wants_room() may have changed
  say();
  return true;
}

Instrument* InstrumentSet::toggled_by(int key) const {
  const auto found = std::ranges::find_if(
      instruments_, [&](const auto& each) { return each->toggle_key() != 0 && each->toggle_key() == key; });
  return found == instruments_.end() ? nullptr : found->get();
}

bool InstrumentSet::move_focus(bool forward) {
  std::vector<Instrument*> stops{nullptr};  // the figure itself
  for (const Seen& seen : seen_) {
    if (seen.instrument->takes_keys() && !seen.areas.empty()) {
      stops.push_back(seen.instrument);
    }
  }
  const auto now = std::ranges::find(stops, focus_);
  const auto place = now == stops.end() ? std::ptrdiff_t{0} : now - stops.begin();
  const auto next = place + (forward ? 1 : -1);
  const bool stays = next >= 0 && next < static_cast<std::ptrdiff_t>(stops.size());
  focus_ = stays ? stops[static_cast<std::size_t>(next)] : nullptr;
  say();
  canvas_.request_frames();
  return stays;
}

void InstrumentSet::leave() {
  keys_.clear();
  if (focus_ != nullptr) {
    focus_ = nullptr;
    say();
    canvas_.request_frames();
  }
}

// Reports the instrument that has the keyboard, else the one shown last by its key.
void InstrumentSet::say() {
  if (waits() && (focus_ != nullptr || toggled_ != nullptr)) {
    return;  // what they say of the figure is known once it is drawn
  }
  const viewport::OverlayFrame canvas = last_canvas();
  const InstrumentFrame frame = frame_of(canvas, canvas_.imgui(), focus_ != nullptr);
  const Instrument* speaker = focus_ != nullptr ? focus_ : toggled_;
  const std::string value = speaker != nullptr && !hidden_ && (focus_ != nullptr || speaker->offered(frame))
                                ? (speaker->offered(frame) ? speaker->said(frame) : std::string())
                                : std::string();
  const bool silent = speaker == nullptr || (focus_ == nullptr && value.empty());
  Q_EMIT said(silent ? QString() : QString::fromStdString(speaker->title()), QString::fromStdString(value));
}

// ---- for tests

std::vector<figure::Rect> InstrumentSet::areas_of(const std::string& name) const {
  const auto found = std::ranges::find_if(seen_, [&](const Seen& seen) { return seen.instrument->name() == name; });
  return found == seen_.end() ? std::vector<figure::Rect>() : found->areas;
}

std::string InstrumentSet::focused() const {
  return focus_ == nullptr ? std::string() : focus_->name();
}

Instrument* InstrumentSet::find(const std::string& name) const {
  const auto found = std::ranges::find_if(instruments_, [&](const auto& each) { return each->name() == name; });
  return found == instruments_.end() ? nullptr : found->get();
}

}  // namespace locus::workbench
