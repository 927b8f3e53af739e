// PictureControls: the changes of the input's picture as numbers and as a line of words; visible while a picture is in
// the input.
#pragma once

#include <QWidget>
#include <vector>

#include "app/workbench/state/live_picture.h"
#include "app/workbench/state/studio.h"

class QDoubleSpinBox;
class QLineEdit;
class QToolButton;

namespace locus::workbench {

class PatchPicture;

class PictureControls : public QWidget {
  Q_OBJECT

 public:
  // Dragging `picture` moves, turns and scales it.
  PictureControls(Studio& studio, PatchPicture& picture, QWidget* parent);

 Q_SIGNALS:
  void failed(const QString& message);

 private:
  struct Number {
    models::PictureStep step;
    std::size_t index;
    QDoubleSpinBox* box;
  };
  QDoubleSpinBox* add_number(const char* name, const QString& accessible, const QString& tip, models::PictureStep step,
                             std::size_t index, double step_size);
  void connect_drag(PatchPicture& picture);
  void read_line();
  void show_changes();

  Studio& studio_;
  LivePicture live_;
  std::vector<Number> numbers_;
  QToolButton* mirror_ = nullptr;
  QLineEdit* line_ = nullptr;
  QToolButton* reset_ = nullptr;
};

}  // namespace locus::workbench
