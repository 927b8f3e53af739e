// QuestionBar: appears below the figure if a run would take long or much memory, and offers to run it, only its first
// tokens, or not at all. It does not take the keyboard; typing on replaces the question.
#pragma once

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/offer_bar.h"

namespace locus::workbench {

class QuestionBar : public OfferBar {
  Q_OBJECT

 public:
  QuestionBar(Studio& studio, QWidget* parent);

 Q_SIGNALS:
  void shortened(const QString& message);  // the text was shortened
  void declined();

 private:
  void refresh();

  Studio& studio_;
  QPushButton* run_;
  QPushButton* first_;
};

}  // namespace locus::workbench
