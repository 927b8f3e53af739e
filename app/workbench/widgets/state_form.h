// Widgets of the fields of a view's state, one per field, made from the list of fields alone.
#pragma once

#include <QWidget>
#include <vector>

#include "app/session/state_fields.h"

class QFormLayout;

namespace locus::workbench {

// The fields of one place, below each other. Every widget has its field's name as object name.
class StateForm : public QWidget {
  Q_OBJECT

 public:
  StateForm(const session::StateFields& fields, session::StateField::Place place, QWidget* parent);

  // Shows a state; emits nothing.
  void show_state(const session::ViewState& state);
  // The state with the field that was edited last as its widget has it; what cannot be is left as it was.
  session::ViewState edited(session::ViewState state) const;

 Q_SIGNALS:
  void changed();

 private:
  struct Row {
    const session::StateField* field = nullptr;
    QWidget* widget = nullptr;
    QWidget* label = nullptr;  // null for check boxes, which are their own
    std::string shown;         // of a line, as it was filled
  };
  void add(QFormLayout& form, const session::StateField& field);
  QWidget* make(const session::StateField& field, std::size_t row);
  void edit(std::size_t row);

  std::vector<Row> rows_;
  std::size_t last_ = 0;  // the row that was edited
  bool filling_ = false;
};

}  // namespace locus::workbench
