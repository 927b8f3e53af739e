#include "app/workbench/canvas/edit_offer.h"

#include <QLabel>
#include <QLayout>
#include <QPushButton>
#include <algorithm>

#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kMaxOffered = 3;  // edits, beside the dialog that has all

}  // namespace

EditOffer::EditOffer(Studio& studio, QWidget* parent)
    : OfferBar(parent, "edit-offer", QStringLiteral("Edits to look at")), studio_(studio) {
  dialog_ = add_button(QStringLiteral("offer-edits"), QStringLiteral("Edits…"),
                       QStringLiteral("All kinds of edits, typed or from a list, which run as they are typed"));
  connect(dialog_, &QPushButton::clicked, this, [this] { Q_EMIT edits_requested(id_); });
  connect(&studio_, &Studio::checkpoints_changed, this, &EditOffer::refresh);
  connect(&studio_, &Studio::runs_changed, this, &EditOffer::refresh);
  connect(&studio_, &Studio::state_changed, this, &EditOffer::refresh);
  refresh();
}

void EditOffer::set_hidden(bool hidden) {
  hidden_ = hidden;
  refresh();
}

void EditOffer::refresh() {
  const auto columns = studio_.checkpoints().shown();
  const EditActions actions(studio_);
  std::size_t number = 0;
  while (number < columns.size() && !actions.can_edit(number)) {
    ++number;
  }
  const bool shown = !hidden_ && lacks_edit(studio_) && number < columns.size();
  if (shown) {
    offer(*columns[number], number);
  }
  setVisible(shown);
}

void EditOffer::offer(const Checkpoint& column, std::size_t number) {
  views::Selection head;
  head.head = std::max<std::int64_t>(views::head_of_column(studio_.view_input(), number).head, 0);
  std::vector<EditChoice> choices = EditActions(studio_).choices(head, number);
  choices.resize(std::min(choices.size(), kMaxOffered));
  QString offered = qt(column.name) + QString::number(column.id);
  for (const EditChoice& choice : choices) {
    offered += QLatin1Char('\n') + choice.text;
  }
  if (offered == offered_) {  // a button must not go from under the pointer
    return;
  }
  offered_ = offered;
  id_ = column.id;
  says().setText(QStringLiteral("Edit %1:").arg(qt(column.name)));
  layout()->removeWidget(dialog_);  // it stays the last
  for (QPushButton* button : buttons_) {
    button->hide();
    button->deleteLater();  // its signal may be what brought us here
  }
  buttons_.clear();
  for (const EditChoice& choice : choices) {
    auto* button = add_button(QStringLiteral("offer-") + QLatin1String(choice.name), choice.text,
                              QStringLiteral("In a column beside %1").arg(qt(column.name)));
    connect(button, &QPushButton::clicked, this,
            [this, id = column.id, edit = choice.edit] { Q_EMIT edit_chosen(id, edit); });
    button->show();
    buttons_ << button;
  }
  layout()->addWidget(dialog_);
}

}  // namespace locus::workbench
