// EditOffer: appears below the empty canvas where a view shows what edits change and no column has one. It offers edits
// of the present head, each in a column of its own, and the dialog of edits.
#pragma once

#include "app/workbench/state/edit_actions.h"
#include "app/workbench/widgets/offer_bar.h"

namespace locus::workbench {

class EditOffer : public OfferBar {
  Q_OBJECT

 public:
  EditOffer(Studio& studio, QWidget* parent);

  // Hides the offer together with everything around the figure.
  void set_hidden(bool hidden);

 Q_SIGNALS:
  void edit_chosen(int id, const locus::models::Edit& edit);
  void edits_requested(int id);

 private:
  void refresh();
  void offer(const Checkpoint& column, std::size_t number);

  Studio& studio_;
  QPushButton* dialog_ = nullptr;
  QList<QPushButton*> buttons_;  // one per edit
  QString offered_;              // what the buttons do
  int id_ = 0;                   // of the column that would be edited; 0: none can be
  bool hidden_ = false;
};

}  // namespace locus::workbench
