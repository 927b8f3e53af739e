// EditActions: edits of the model offered at a place of a map. Each opens a column beside the unedited one.
#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

// An entry of a menu of edits.
struct EditChoice {
  const char* name;  // of the action
  QString text;
  models::Edit edit;
};

// Whether the view shows what edits change, and the columns, which it could show, have none.
bool lacks_edit(const Studio& studio);

// "edits[2].head: expected …" without the place in a list: the message where a single edit was typed.
std::string message_of_one_edit(const Error& error);

class EditActions : public QObject {
  Q_OBJECT

 public:
  explicit EditActions(Studio& studio) : studio_(studio) {}

  // Whether runs of that column can be edited: not those of traces and encoder–decoders.
  bool can_edit(std::size_t column) const;
  // Edits of the head, the cell and the chosen band of rotary pairs at a place, or of a mixer's head and of what its key
  // writes and its query finds. Requires can_edit(column).
  std::vector<EditChoice> choices(const views::Selection& there, std::size_t column) const;
  // Opens a column of checkpoint `id` with this edit added.
  void open_beside(int id, const models::Edit& edit);
  // Masks the attention of the cells between two corners, in the column beside if there is one.
  void cut_edges(const views::Selection& from, const views::Selection& to, std::size_t column);

 Q_SIGNALS:
  void reported(const QString& message, bool failure);  // result or error

 private:
  Studio& studio_;
};

}  // namespace locus::workbench
