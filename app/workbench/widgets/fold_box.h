// FoldBox: a titled group of controls that folds to its title by a click on it, or by Space.
#pragma once

#include <QGroupBox>

namespace locus::workbench {

class FoldBox : public QGroupBox {
 public:
  FoldBox(const char* object_name, const QString& title, QWidget* parent);

  bool is_folded() const { return !isChecked(); }
  void set_folded(bool folded) { setChecked(!folded); }

 protected:
  void changeEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void fit();
};

// Unfolds the box that contains the control, if any.
void unfold_around(QWidget& control);

}  // namespace locus::workbench
