// IdsInput: the input as ids instead of a text: typed, drawn at random, or from the tokenizer of another checkpoint.
#pragma once

#include <QObject>
#include <filesystem>

#include "app/workbench/input/ids_panel.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class ExactEditor;

class IdsInput : public QObject {
  Q_OBJECT

 public:
  // Both widgets must outlive it; the panel becomes its parent.
  IdsInput(Studio& studio, IdsPanel& panel, ExactEditor& editor);

  // Switches to ids, those of the present text if there are any, with the keyboard in their panel.
  void begin();
  // Takes the ids that a folder's tokenizer gives the editor's text; failed() follows if it has none.
  void borrow_from(const std::filesystem::path& folder);

 Q_SIGNALS:
  void failed(const QString& message);

 private:
  void fill_lenders();
  void bound_vocabulary();
  void borrow(const Checkpoint& lender);
  template <class Tokens>
  void take(const Result<Tokens>& tokens);

  Studio& studio_;
  IdsPanel& panel_;
  ExactEditor& editor_;
};

}  // namespace locus::workbench
