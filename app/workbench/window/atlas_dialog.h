// AtlasDialog: makes the atlas of an open checkpoint over a folder of texts, on a thread of its own, with progress and
// Stop. The file is opened as a column once it holds something, and followed as it grows. Does not block the window;
// closing it stops the work, and what was measured is kept in the file, from which the same settings go on.
#pragma once

#include <QDialog>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "models/api/atlas_run.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace locus::workbench {

class AtlasDialog : public QDialog {
  Q_OBJECT

 public:
  struct Choice {
    std::string name;
    std::filesystem::path path;
  };
  // `choices`: the checkpoints that are open; `folder`: where files are looked for first.
  AtlasDialog(std::vector<Choice> choices, const QString& folder, QWidget* parent);
  ~AtlasDialog() override;

 Q_SIGNALS:
  void begun(const QString& file);  // the file is there, with some windows in it

 private:
  void add_fields();
  // A line with a button that asks for its path.
  QLineEdit* add_path(const char* name, const QString& label, const QString& placeholder, const QString& button,
                      QString (AtlasDialog::*ask)());
  QString ask_texts();
  QString ask_file();
  models::AtlasOptions options() const;
  void start();
  void stop() { work_.request_stop(); }
  void show_progress(const models::AtlasProgress& progress);
  void show_end(const Result<models::AtlasSummary>& made);
  void tell_begun();
  void set_busy(bool busy);

  std::vector<Choice> choices_;
  QString folder_;
  QComboBox* model_ = nullptr;
  QLineEdit* texts_ = nullptr;
  QSpinBox* windows_ = nullptr;
  QSpinBox* length_ = nullptr;
  QLineEdit* file_ = nullptr;
  QProgressBar* bar_ = nullptr;
  QLabel* says_ = nullptr;
  QPushButton* start_ = nullptr;
  QPushButton* stop_ = nullptr;
  QString told_;  // the file of which begun() was said
  std::jthread work_;
};

}  // namespace locus::workbench
