// LivePicture: a gesture that changes the picture of the input continuously, for example dragging it. Intermediate
// pictures are run and drawn as time permits, the last one always. The whole gesture is one step for undo().
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

class LivePicture : public QObject {
  Q_OBJECT

 public:
  LivePicture(Studio& studio, QObject* parent);

  // Begins with the changes that the input has, which before() gives until the next gesture.
  void begin();
  const models::PictureChanges& before() const { return before_; }
  void show(const models::PictureChanges& changes);
  void end() { apply(); }

  // begin(), show() and end() at once.
  void make(const models::PictureChanges& changes);

 private:
  void apply();

  Studio& studio_;
  bool begun_ = false;  // the step for undo() exists
  models::PictureChanges before_;
  std::optional<models::PictureChanges> next_;
  QTimer patience_;
};

// The number `index` of the last step of this kind; its initial value where there is none.
models::PictureNumber number_of(const models::PictureChanges& changes, models::PictureStep step, std::size_t index = 0);
// The changes with that number replaced: in the last step of this kind, which is left out where all its numbers are
// initial; a new one stands at the end, but before a shift at the end, so that shifts are along the sides of what is
// seen.
models::PictureChanges with_number(models::PictureChanges changes, models::PictureStep step, std::size_t index,
                                   models::PictureNumber number);

}  // namespace locus::workbench
