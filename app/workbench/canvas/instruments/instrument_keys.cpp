// The keyboard on the canvas's instruments: which has it, and what it says to a screen reader.
#include <QKeyEvent>
#include <algorithm>
#include <utility>

#include "app/workbench/canvas/instruments/instrument_set.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kMaxKeys = 64;  // that wait: no frame is drawn while the window is hidden

}  // namespace

// Whether the figure that is shown has not been drawn yet: nobody knows where its parts are.
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

// One key a frame: what it changes is drawn before the next one.
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

// Of the one that has the keyboard; else of the one that was shown last by its key, which has no stop of its own.
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

}  // namespace locus::workbench
