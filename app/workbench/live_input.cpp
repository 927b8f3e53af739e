#include "app/workbench/live_input.h"

#include <utility>

namespace locus::workbench {

LiveInput::LiveInput(int debounce_ms) {
  debounce_.setSingleShot(true);
  debounce_.setInterval(debounce_ms);
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
  input.decoder_text = value_.decoder_text;
  input.decoder_ids = value_.decoder_ids;
  input.position_start = value_.position_start;
  type(input);
}

void LiveInput::type(const models::Input& input) {
  value_ = input;
  start_watch();
  debounce_.start();
  Q_EMIT changed();
}

void LiveInput::set(const models::Input& input) {
  put(input);
  Q_EMIT due();
}

void LiveInput::put(const models::Input& input) {
  debounce_.stop();
  value_ = input;
  start_watch();
  Q_EMIT changed();
}

void LiveInput::flush() {
  if (debounce_.isActive()) {
    debounce_.stop();
    Q_EMIT due();
  }
}

std::optional<double> LiveInput::take_elapsed_ms() {
  if (!std::exchange(measuring_, false)) {
    return std::nullopt;
  }
  return static_cast<double>(since_.nsecsElapsed()) / 1e6;
}

}  // namespace locus::workbench
