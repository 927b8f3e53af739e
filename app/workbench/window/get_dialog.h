// GetDialog: downloads a model from the Hugging Face Hub into the hub's cache on this machine, after showing its size.
// It contacts the network only when its buttons are pressed. Does not block the window; closing it stops the download
// and keeps what is complete.
#pragma once

#include <QDialog>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

#include "models/hub/get.h"

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QTreeWidget;

namespace locus::workbench {

class GetDialog : public QDialog {
  Q_OBJECT

 public:
  explicit GetDialog(QWidget* parent);
  ~GetDialog() override;

 Q_SIGNALS:
  void fetched(const QString& folder);

 private:
  void look_up();
  void fetch();
  void stop();
  void show_plan();
  void say(const QString& text);
  // Runs `work` on a thread of its own, then `done` here with its result, unless the dialog was closed.
  template <class T>
  void start(std::function<Result<T>(const StopToken&, const Progress&)> work, std::function<void(Result<T>)> done);
  void show_progress(const ProgressReport& report);
  void set_busy(bool busy);

  QLineEdit* name_ = nullptr;
  QPushButton* look_ = nullptr;
  QTreeWidget* files_ = nullptr;
  QProgressBar* bar_ = nullptr;
  QLabel* status_label_ = nullptr;
  QPushButton* fetch_ = nullptr;
  QPushButton* stop_ = nullptr;
  std::optional<hub::HubSettings> settings_;  // used for the plan
  std::optional<hub::DownloadPlan> plan_;
  std::jthread work_;
};

}  // namespace locus::workbench
