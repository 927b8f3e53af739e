// EditsDialog: what a column's runs do otherwise than its checkpoint says: a list of edits with an on/off box each, and
// a line to type another, which runs as it is typed, in one more column beside the untouched one. Does not block the
// window.
#pragma once

#include <QDialog>
#include <QTimer>
#include <optional>
#include <string>

#include "models/api/edits.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;

namespace locus::workbench {

class Studio;

// An edit as it is offered to begin with: "ALiBi's bias", "bias all.all -d*2^(-8*h/H)". {T} stands for the number
// of tokens, {P} for the layer and head that the column shows.
struct EditPreset {
  const char* name;
  const char* text;
};

class EditsDialog : public QDialog {
  Q_OBJECT

 public:
  // Edits the column `id` in place where it has edits, and otherwise a column that is opened next to it.
  EditsDialog(Studio& studio, int id, QWidget* parent);

 private:
  std::string shown_head() const;
  void add_row(const std::string& text, bool on);
  void take_typed();
  void remove_chosen();
  void apply();
  void apply_soon();
  // The edits that are on, and what is typed where it can be read.
  models::Edits edits();
  // What is typed; empty where nothing is, or what it says is refused: then the line under it says why.
  std::optional<models::Edit> typed();

  Studio& studio_;
  const int id_;
  int column_ = 0;  // with the edits; 0: none yet
  QListWidget* list_ = nullptr;
  QLineEdit* line_ = nullptr;
  QComboBox* presets_ = nullptr;
  QLabel* says_ = nullptr;
  QTimer moved_;
  bool typing_ = false;  // what is typed on and on is one step for undo()
};

// Opens the dialog, unless the column has gone.
void show_edits(Studio& studio, int id, QWidget* parent);

}  // namespace locus::workbench
