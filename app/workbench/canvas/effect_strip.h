// EffectStrip: below each edited column of the canvas, what its edits change: the prediction behind the chosen token
// before and after, the divergence there, and how many tokens have another first choice. Of more columns than two, the
// edited ones share the width and are named. Hidden while nothing is edited.
#pragma once

#include <QWidget>
#include <vector>

#include "app/workbench/state/studio.h"
#include "app/workbench/work/edit_effects.h"

class QHBoxLayout;
class QLabel;

namespace locus::workbench {

class EffectStrip : public QWidget {
  Q_OBJECT

 public:
  EffectStrip(Studio& studio, QWidget* parent);

  // Hides the strip together with everything around the figure.
  void set_hidden(bool hidden);

 private:
  void refresh();
  QString text_of(const Checkpoint& column, std::size_t number) const;

  Studio& studio_;
  EditEffects effects_;
  QHBoxLayout* line_ = nullptr;
  std::vector<QLabel*> labels_;  // one a shown column
  bool hidden_ = false;
};

}  // namespace locus::workbench
