#include "app/workbench/work/live_input.h"

#include <utility>

#include "app/workbench/work/text_pictures.h"

namespace locus::workbench {

LiveInput::LiveInput(int debounce_ms) : pause_ms_(debounce_ms) {
  debounce_.setSingleShot(true);
  connect(&debounce_, &QTimer::timeout, this, &LiveInput::due);
}

bool LiveInput::empty() const {
  return !value_.ids && !value_.image && value_.videos.empty() && !value_.pixels &&
         (!value_.text || value_.text->empty());
}

void LiveInput::type(const std::string& text) {
  if (value_.text == text) {
    return;
  }
  models::Input input;
  input.text = text;
  input.images = pictures_after(value_.text.value_or(""), text, value_.images, removed_);
  input.videos = pictures_after(value_.text.value_or(""), text, value_.videos, removed_videos_, kVideoMark);
  input.picture = input.images.empty() ? models::PictureChanges() : value_.picture;
  input.video_frames = input.videos.empty() ? models::VideoFrames() : value_.video_frames;
  input.decoder_text = value_.decoder_text;
  input.decoder_ids = value_.decoder_ids;
  input.position_start = value_.position_start;
  type(input);
}

models::Input LiveInput::with_ids(const std::vector<std::int64_t>& ids, std::int64_t image, std::int64_t video) {
  models::Input input;
  input.ids = ids;
  if (value_.ids && image >= 0) {
    input.images = files_of_ids(*value_.ids, ids, image, value_.images, removed_);
    input.picture = input.images.empty() ? models::PictureChanges() : value_.picture;
  }
  if (value_.ids && video >= 0) {
    input.videos = files_of_ids(*value_.ids, ids, video, value_.videos, removed_videos_);
    input.video_frames = input.videos.empty() ? models::VideoFrames() : value_.video_frames;
  }
  input.decoder_text = value_.decoder_text;
  input.decoder_ids = value_.decoder_ids;
  input.position_start = value_.position_start;
  return input;
}

void LiveInput::type(const models::Input& input) {
  value_ = input;
  untimed_ = true;
  debounce_.start(took_ms_ < kQuickMs ? 0 : pause_ms_);
  Q_EMIT changed();
}

void LiveInput::set(const models::Input& input) {
  put(input);
  Q_EMIT due();
}

void LiveInput::put(const models::Input& input) {
  debounce_.stop();
  value_ = input;
  untimed_ = true;
  Q_EMIT changed();
}

void LiveInput::flush() {
  if (debounce_.isActive()) {
    debounce_.stop();
    Q_EMIT due();
  }
}

void LiveInput::note_work(double ms) {
  if (!waiting() && std::exchange(untimed_, false)) {
    took_ms_ = ms;
  }
}

}  // namespace locus::workbench
