// VideoControls: which frames of the input's videos are taken; visible while a video is in the input.
#pragma once

#include <QWidget>

#include "app/workbench/state/studio.h"

class QDoubleSpinBox;
class QSpinBox;

namespace locus::workbench {

class VideoControls : public QWidget {
  Q_OBJECT

 public:
  VideoControls(Studio& studio, QWidget* parent);

 private:
  void take(const models::VideoFrames& frames);
  void show_frames();

  Studio& studio_;
  QDoubleSpinBox* fps_ = nullptr;  // 0: as the model's processor does
  QSpinBox* count_ = nullptr;
};

}  // namespace locus::workbench
