// OfferBar: a bar beside the figure with a sentence and buttons, in as many lines as a narrow window takes, in the
// colours of a tooltip. It does not take the keyboard from the figure.
#pragma once

#include <QFrame>
#include <QString>

class QLabel;
class QPushButton;

namespace locus::workbench {

class OfferBar : public QFrame {
 public:
  // The label of the sentence is called `object_name` and "-says".
  OfferBar(QWidget* parent, const char* object_name, const QString& accessible);

 protected:
  QLabel& says() { return *says_; }
  // A button behind those that are there.
  QPushButton* add_button(const QString& object_name, const QString& words, const QString& tip);

 private:
  QLabel* says_;
};

}  // namespace locus::workbench
