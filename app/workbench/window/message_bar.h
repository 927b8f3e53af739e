// MessageBar: the status bar: on the left the latest message, on the right an action for it, the running work, memory,
// and Cancel.
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

  // Shows a message in one line, without control characters. Failures stay until the next message, others some seconds.
  void show_message(const QString& message, bool failure = false);
  void show_error(const Error& error);
  // Shows an error of a checkpoint until no shown checkpoint has it.
  void show_checkpoint_failure(const QString& message);
  void show_cancelled();
  void show_written(const Result<std::vector<std::filesystem::path>>& files);
  // Adds a button with an action to the present message.
  void show_action(const QString& words, std::function<void()> run);

  const QString& last_message() const { return last_message_; }
  const QStringList& messages() const { return messages_; }  // of this session, oldest first

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
  QLabel* machines_ = nullptr;  // connections of columns on other machines
  QLabel* work_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QTimer work_timer_;     // runs while there is work
  QTimer machine_timer_;  // runs while a column is on another machine
  std::string lost_;      // latest message about a lost connection
  QString last_message_;
  QString failure_;  // error of a checkpoint, while it is shown
  QStringList messages_;
};

}  // namespace locus::workbench
