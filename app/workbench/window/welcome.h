// Welcome: steps to begin with, each a click, which closes it. Shown at the first start and by Help > Getting started.
#pragma once

#include <QDialog>

namespace locus::workbench {

class Welcome : public QDialog {
  Q_OBJECT

 public:
  // Without figures of a session to choose from, that step is left out.
  Welcome(bool has_figures, QWidget* parent);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void figure_wanted();      // of the bundled session
  void text_wanted();        // to type one
  void checkpoint_wanted();  // to open one's own
  void manual_wanted();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void fit();
};

}  // namespace locus::workbench
