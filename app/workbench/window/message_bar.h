// MessageBar: the status bar. On the left what was said last; on the right a button that does something about it, what
// the machine computes and keeps, and Cancel.
#pragma once

#include <QStatusBar>
#include <QStringList>
#include <QTimer>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace locus::workbench {

class Studio;

class MessageBar : public QStatusBar {
  Q_OBJECT

 public:
  // `device`: where models run.
  MessageBar(Studio& studio, const std::string& device, QWidget* parent);

  // One line, without control characters. A failure stays until another message, others for some seconds.
  void show_message(const QString& message, bool failure = false);
  void show_error(const Error& error);
  // A failure of a checkpoint, which goes when no shown checkpoint has it any more.
  void show_checkpoint_failure(const QString& message);
  void show_cancelled();
  void show_written(const Result<std::vector<std::filesystem::path>>& files);
  // A button beside the present message, which does something about it.
  void show_action(const QString& words, std::function<void()> run);

  const QString& last_message() const { return last_message_; }
  const QStringList& messages() const { return messages_; }  // the latest of this session, oldest first

 Q_SIGNALS:
  void memory_limit_requested();

 private:
  void add_widgets(const std::string& device);
  void connect_studio();
  void drop_message();
  void show_too_large(const QString& message);
  void show_work();
  void show_machines();
  void show_device();
  void offer_reconnect(const std::string& lost);
  bool is_held(const QString& failure) const;

  Studio& studio_;
  QPushButton* action_ = nullptr;
  std::string device_;
  QLabel* where_ = nullptr;  // the device, and once the engine is loaded its matrix products
  bool device_shown_ = false;
  QLabel* latency_ = nullptr;
  QLabel* memory_ = nullptr;
  QLabel* machines_ = nullptr;  // of columns on other machines
  QLabel* work_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QTimer work_timer_;     // runs while there is work
  QTimer machine_timer_;  // runs while a column is on another machine
  std::string lost_;      // what was said last of a lost line
  QString last_message_;
  QString failure_;  // of a checkpoint, while it is shown
  QStringList messages_;
};

}  // namespace locus::workbench
