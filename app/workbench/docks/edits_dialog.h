// EditsDialog: the edits of a column, each with an on/off box, and a line to type another one, which runs while it is
// typed, in a column beside the unedited one. Does not block the window.
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

// A template of an edit: "ALiBi's bias", "bias all.all -d*2^(-8*h/H)". {T} stands for the number of tokens, {P} for the
// layer and head that the column shows.
struct EditPreset {
  const char* name;
  const char* text;
};

class EditsDialog : public QDialog {
  Q_OBJECT

 public:
  // Edits the column `id` in place if it has edits, otherwise a new column beside it.
  EditsDialog(Studio& studio, int id, QWidget* parent);

 private:
  std::string shown_head() const;
  void add_row(const std::string& text, bool on);
  void take_typed();
  void remove_chosen();
  void apply();
  void apply_soon();
  // The edits that are on, and the typed one if it is valid.
  models::Edits edits();
  // The typed edit; empty: nothing is typed, or it is invalid and the line below it says why.
  models::Edits typed();

  Studio& studio_;
  const int id_;
  int column_ = 0;  // column with the edits; 0: none yet
  QListWidget* list_ = nullptr;
  QLineEdit* line_ = nullptr;
  QComboBox* presets_ = nullptr;
  QLabel* error_label_ = nullptr;
  QTimer moved_;
  bool typing_ = false;  // continued typing is one step for undo()
};

// Opens the dialog, unless the column was closed.
void show_edits(Studio& studio, int id, QWidget* parent);

}  // namespace locus::workbench
