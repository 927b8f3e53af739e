// QuestionBar: below the figure, when a run would take long or much memory: run it, only its first tokens, or not at
// all. It takes no keyboard: who types goes on, and the question goes with the text that it was about.
#pragma once

#include <QFrame>

#include "app/workbench/state/studio.h"

class QLabel;
class QPushButton;

namespace locus::workbench {

class QuestionBar : public QFrame {
  Q_OBJECT

 public:
  QuestionBar(Studio& studio, QWidget* parent);

 Q_SIGNALS:
  void shortened(const QString& message);  // the text was
  void declined();

 private:
  void refresh();

  Studio& studio_;
  QLabel* says_;
  QPushButton* run_;
  QPushButton* first_;
};

}  // namespace locus::workbench
