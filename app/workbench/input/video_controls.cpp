#include "app/workbench/input/video_controls.h"

#include <QDoubleSpinBox>
#include <QSignalBlocker>
#include <QSpinBox>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"

namespace locus::workbench {

namespace {

constexpr int kVideoGapPx = 3;
constexpr int kFpsDecimals = 3;
constexpr double kFpsStep = 0.5;

}  // namespace

VideoControls::VideoControls(Studio& studio, QWidget* parent) : QWidget(parent), studio_(studio) {
  setLayout(new FlowLayout(this, kVideoGapPx));
  layout()->setContentsMargins(0, 0, 0, 0);
  fps_ = make_spin_box<QDoubleSpinBox>(
      this, "video-fps", QStringLiteral("Frames a second of videos"), 0.0, models::kMaxVideoFps, 0.0,
      QStringLiteral("Frames a second that are taken of videos, within the least and the most of the model's "
                     "processor; 0: its own, mostly 2"));
  fps_->setDecimals(kFpsDecimals);
  fps_->setSingleStep(kFpsStep);
  fps_->setSuffix(QStringLiteral(" frames a second"));
  fps_->setSpecialValueText(QStringLiteral("frames a second: the model's"));
  count_ = make_spin_box<QSpinBox>(this, "video-frames", QStringLiteral("Frames of videos"), 0,
                                   static_cast<int>(models::kMaxTakenFrames), 0,
                                   QStringLiteral("Frames that are taken of each video; 0: by frames a second"));
  count_->setSuffix(QStringLiteral(" frames"));
  count_->setSpecialValueText(QStringLiteral("frames: by the second"));
  for (QAbstractSpinBox* const box : {static_cast<QAbstractSpinBox*>(fps_), static_cast<QAbstractSpinBox*>(count_)}) {
    box->setKeyboardTracking(false);
    layout()->addWidget(box);
  }
  connect(fps_, &QDoubleSpinBox::valueChanged, this, [this](double fps) {
    take(fps > 0 ? models::VideoFrames{fps, {}} : models::VideoFrames{});
  });
  connect(count_, &QSpinBox::valueChanged, this, [this](int count) {
    take(count > 0 ? models::VideoFrames{{}, count} : models::VideoFrames{});
  });
  connect(&studio_, &Studio::input_changed, this, &VideoControls::show_frames);
  show_frames();
}

// One of the two counts: the other one goes back.
void VideoControls::take(const models::VideoFrames& frames) {
  models::Input next = studio_.input();
  if (!next.videos.empty() && next.video_frames != frames) {
    next.video_frames = frames;
    studio_.inputs().set_input(next);
  }
}

void VideoControls::show_frames() {
  const models::Input& input = studio_.input();
  const QSignalBlocker fps(fps_);
  const QSignalBlocker count(count_);
  fps_->setValue(input.video_frames.fps.value_or(0));
  count_->setValue(static_cast<int>(input.video_frames.count.value_or(0)));
  setVisible(!input.videos.empty());
}

}  // namespace locus::workbench
