// TimelineBar: a slider below the figure that moves or plays the layer, the frames of a video in views that show one at a
// time, or the training steps of a series of open checkpoints or atlases. Layers and frames of a run are drawn from what
// it keeps; nothing runs again for them.
#pragma once

#include <QString>
#include <QTimer>
#include <QWidget>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/workbench/state/studio.h"

class QComboBox;
class QLabel;
class QSlider;
class QToolButton;

namespace locus::workbench {

// One checkpoint of a series.
struct SeriesStep {
  int id = 0;
  std::int64_t step = 0;

  friend bool operator==(const SeriesStep&, const SeriesStep&) = default;
};
// The open checkpoints that are steps of one training, in the order of their steps: files or folders called step50,
// step-50 or checkpoint-50 in one folder, read in the same way. The longest such series; empty: there are no two.
std::vector<SeriesStep> series_of(const CheckpointList& checkpoints);

class TimelineBar : public QWidget {
  Q_OBJECT

 public:
  TimelineBar(Studio& studio, QWidget* parent);

  // Whether the user wants it; until one has said so, a small window gives its line to the figure. It is shown where
  // the view has layers or frames, or there is a series.
  void set_wanted(bool wanted);
  bool is_wanted() const;
  // Hides it together with everything around the figure.
  void set_hidden(bool hidden);
  bool is_playing() const { return tick_.isActive(); }
  // Plays from the present place, from the beginning where that is the end; again: pauses.
  void toggle_play();
  // Why there is nothing to play; ok: there is.
  Status can_play() const;

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  // Reacts to the window's height.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  enum class Axis { kLayers, kFrames, kSteps };
  bool has(Axis axis) const;
  // The one that the user chose last, where it is there; otherwise frames before layers, and those before steps.
  Axis axis() const;
  // Groups of frames of the longest shown video; 0 where the view has no option for one of them.
  int frames() const;
  void list_axes();
  int count() const;
  int place() const;
  void refresh();
  void show_or_hide();
  void go_to(int place);
  void play_next();
  void show_playing();

  Studio& studio_;
  QToolButton* play_ = nullptr;
  QComboBox* axis_ = nullptr;  // shown where there are several
  QSlider* slider_ = nullptr;
  QLabel* label_ = nullptr;
  std::vector<SeriesStep> series_;
  QTimer tick_;                 // while it plays
  QTimer moving_;               // while it runs, moves are one step for undo()
  std::optional<bool> wanted_;  // by the user
  std::optional<Axis> chosen_;  // likewise
  bool hidden_ = false;
  bool filling_ = false;
};

}  // namespace locus::workbench
