// Asks for the paths of checkpoints of a session that were not found. Does not block the window.
#pragma once

#include <QDialog>
#include <filesystem>
#include <vector>

class QLabel;
class QListWidget;
class QPushButton;

namespace locus::workbench {

class MissingDialog : public QDialog {
  Q_OBJECT

 public:
  MissingDialog(const std::vector<std::filesystem::path>& missing, QWidget* parent);

  // Updates the list of missing checkpoints; closes the dialog when it is empty.
  void set_missing(const std::vector<std::filesystem::path>& missing);

 Q_SIGNALS:
  void located(const QString& from, const QString& to);

 private:
  void locate();

  QLabel* text_ = nullptr;
  QListWidget* list_ = nullptr;
  QPushButton* locate_ = nullptr;
};

}  // namespace locus::workbench
