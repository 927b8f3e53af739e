// Welcome: first steps, each a button that closes the dialog. Shown at the first start and by Help > Getting started.
#pragma once

#include <QDialog>

namespace locus::workbench {

class Welcome : public QDialog {
  Q_OBJECT

 public:
  // `has_figures`: offers a figure of the bundled session.
  Welcome(bool has_figures, QWidget* parent);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void figure_wanted();      // of the bundled session
  void text_wanted();        // to type a text
  void checkpoint_wanted();  // to open a checkpoint
  void manual_wanted();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void fit();
};

}  // namespace locus::workbench
