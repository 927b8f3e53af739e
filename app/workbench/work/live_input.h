// LiveInput: the input of the models and the time to run it: a typed text runs at once if figures are faster than
// keystrokes, and otherwise after a pause in typing.
#pragma once

#include <QObject>
#include <QTimer>
#include <filesystem>
#include <string>
#include <vector>

#include "models/api/model.h"

namespace locus::workbench {

class LiveInput : public QObject {
  Q_OBJECT

 public:
  // Inputs whose run and figure take less need no pause: few people type ten characters per second.
  static constexpr double kQuickMs = 100;

  // `debounce_ms`: length of the pause, used while they take longer or their time is unknown.
  explicit LiveInput(int debounce_ms);

  const models::Input& value() const { return value_; }
  bool empty() const;
  // Sets a typed text: due() follows in the next turn of the event loop or, if figures are slow, after a pause. The
  // same text does nothing.
  void type(const std::string& text);
  // The same for an input of which another part is typed.
  void type(const models::Input& input);
  // These ids with the files of the present ones, each at its placeholder; without files where there are no ids now. A
  // placeholder that is -1 has no files.
  models::Input with_ids(const std::vector<std::int64_t>& ids, std::int64_t image, std::int64_t video);
  // Sets another input; due() follows at once.
  void set(const models::Input& input);
  // Sets another input without due(): the caller runs it.
  void put(const models::Input& input);
  // Ends a pause: flush() runs the typed text now, forget() drops the run.
  void flush();
  void forget() { debounce_.stop(); }
  bool waiting() const { return debounce_.isActive(); }

  // Notes the work on run and figure, when a figure is there. It counts once for an input, and not while the input
  // waits to run: the figure is of the input before.
  void note_work(double ms);

 Q_SIGNALS:
  void changed();
  void due();

 private:
  models::Input value_;
  std::vector<std::filesystem::path> removed_;  // pictures whose markers were deleted, newest last
  std::vector<std::filesystem::path> removed_videos_;
  QTimer debounce_;
  const int pause_ms_;
  bool untimed_ = false;       // the work on the present input has not been noted
  double took_ms_ = kQuickMs;  // the work on the latest input
};

}  // namespace locus::workbench
