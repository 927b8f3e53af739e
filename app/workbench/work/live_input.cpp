#include "app/workbench/work/live_input.h"

#include <algorithm>
#include <utility>

#include "app/workbench/work/text_pictures.h"

namespace locus::workbench {

LiveInput::LiveInput(int debounce_ms) : pause_ms_(debounce_ms) {
  debounce_.setSingleShot(true);
  connect(&debounce_, &QTimer::timeout, this, &LiveInput::due);
}

bool LiveInput::empty() const {
  return !value_.ids && !value_.image && !value_.pixels && (!value_.text || value_.text->empty());
}

void LiveInput::start_watch() {
  since_.start();
  measuring_ = true;
}

void LiveInput::type(const std::string& text) {
  if (value_.text == text) {
    return;
  }
  models::Input input;
  input.text = text;
  input.images = pictures_after(value_.text.value_or(""), text, value_.images, removed_);
  input.decoder_text = value_.decoder_text;
  input.decoder_ids = value_.decoder_ids;
  input.position_start = value_.position_start;
  type(input);
}

void LiveInput::type(const models::Input& input) {
  value_ = input;
  start_watch();
  waited_ms_ = took_ms_ < kQuickMs ? 0 : pause_ms_;
  debounce_.start(waited_ms_);
  Q_EMIT changed();
}

void LiveInput::set(const models::Input& input) {
  put(input);
  Q_EMIT due();
}

void LiveInput::put(const models::Input& input) {
  debounce_.stop();
  value_ = input;
  waited_ms_ = 0;
  start_watch();
  Q_EMIT changed();
}

void LiveInput::flush() {
  if (debounce_.isActive()) {
    debounce_.stop();
    waited_ms_ = static_cast<int>(since_.elapsed());
    Q_EMIT due();
  }
}

std::optional<double> LiveInput::take_elapsed_ms() {
  // A figure drawn while an input waits belongs to the previous input.
  if (waiting() || !std::exchange(measuring_, false)) {
    return std::nullopt;
  }
  const double elapsed = static_cast<double>(since_.nsecsElapsed()) / 1e6;
  took_ms_ = std::max(0.0, elapsed - waited_ms_);
  return elapsed;
}

}  // namespace locus::workbench
