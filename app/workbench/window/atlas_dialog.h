// AtlasDialog: measures the atlas of an open checkpoint over a folder of texts, on a thread of its own, with progress
// and Stop. Its file is opened as a column after the first measurements and followed as it grows. Does not block the
// window. Closing it stops the work; the file keeps the measurements, and the same settings continue them.
#pragma once

#include <QDialog>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "models/api/atlas_run.h"

class QCheckBox;
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
    std::shared_ptr<const models::Model> model = {};  // null: all statistics are offered
  };
  // `choices`: the open checkpoints; `folder`: initial folder of file dialogs.
  AtlasDialog(std::vector<Choice> choices, const QString& folder, QWidget* parent);
  ~AtlasDialog() override;

 Q_SIGNALS:
  void begun(const QString& file);  // the file exists and contains some windows

 private:
  void add_fields();
  // A line edit with a button that asks for its path.
  QLineEdit* add_path(const char* name, const QString& label, const QString& placeholder, const QString& button,
                      QString (AtlasDialog::*ask)());
  // A box for each statistic, all ticked; those that the checkpoint does not have are disabled and say why.
  QWidget* make_statistics();
  void show_statistics();
  // Why the chosen checkpoint does not have it.
  Status lack_of(const models::AtlasStatistic& statistic) const;
  std::vector<std::string> chosen_statistics() const;
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
  std::vector<QCheckBox*> statistics_;  // in the order of models::atlas_statistics()
  QLineEdit* file_ = nullptr;
  QProgressBar* bar_ = nullptr;
  QLabel* status_label_ = nullptr;
  QPushButton* start_ = nullptr;
  QPushButton* stop_ = nullptr;
  bool busy_ = false;
  QString told_;  // the file that begun() was emitted for
  std::jthread work_;
};

}  // namespace locus::workbench
