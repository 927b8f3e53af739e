// Widgets for the fields of a view's state, created from the schema of fields.
#pragma once

#include <QWidget>
#include <vector>

#include "app/session/state_fields.h"

class QFormLayout;

namespace locus::workbench {

// A form with the fields of one place. Every widget has its field's name as object name.
class StateForm : public QWidget {
  Q_OBJECT

 public:
  StateForm(const session::StateFields& fields, session::StateField::Place place, QWidget* parent);

  // Shows a state without emitting a signal.
  void show_state(const session::ViewState& state);
  // The state with the latest edited field taken from its widget; invalid values are ignored.
  session::ViewState edited(session::ViewState state) const;

 Q_SIGNALS:
  void changed();

 private:
  struct Row {
    const session::StateField* field = nullptr;
    QWidget* widget = nullptr;
    QWidget* label = nullptr;  // null for check boxes, which have a text
    std::string shown;         // text last shown in a line edit
  };
  void add(QFormLayout& form, const session::StateField& field);
  QWidget* make(const session::StateField& field, std::size_t row);
  void edit(std::size_t row);

  std::vector<Row> rows_;
  std::size_t last_ = 0;  // latest edited row
  bool filling_ = false;
};

}  // namespace locus::workbench
