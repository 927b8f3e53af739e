// EditActions: what the runs of a column can do otherwise at a place of its map, as edits. Each is made in a column
// beside the untouched one.
#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

// An edit as a menu offers it.
struct EditChoice {
  const char* name;  // of the action
  QString text;
  models::Edit edit;
};

class EditActions : public QObject {
  Q_OBJECT

 public:
  explicit EditActions(Studio& studio) : studio_(studio) {}

  // Whether the runs of that column can be edited: it is neither a trace nor an encoder–decoder.
  bool can_edit(std::size_t column) const;
  // What can be changed at a place of a column that can be edited: its head, its cell, the chosen band of pairs.
  std::vector<EditChoice> choices(const views::Selection& there, std::size_t column) const;
  // Opens one more column: checkpoint `id` with this edit after its own.
  void open_beside(int id, const models::Edit& edit);
  // The cells between two corners see each other no more. The edit joins those of the column beside, where there is
  // one.
  void cut_edges(const views::Selection& from, const views::Selection& to, std::size_t column);

 Q_SIGNALS:
  void reported(const QString& message, bool failure);  // what was done, or why it was not

 private:
  Studio& studio_;
};

}  // namespace locus::workbench
