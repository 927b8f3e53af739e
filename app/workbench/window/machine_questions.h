// MachineQuestions: asks once before connecting to a machine named by a session, figure or recipe. Machines that the
// user has allowed or typed are remembered.
#pragma once

#include <QObject>
#include <filesystem>
#include <set>
#include <string>

class QSettings;
class QWidget;

namespace locus::workbench {

class MessageBar;
class Studio;

class MachineQuestions : public QObject {
  Q_OBJECT

 public:
  MachineQuestions(QWidget& window, Studio& studio, MessageBar& messages, QSettings& settings);

  // Allows the machine of a path that the user has typed or chosen; does nothing for local paths.
  void named(const std::filesystem::path& path);

 private:
  void wanted(const QString& machine);
  void ask(const QString& machine);
  void agree(const QString& machine);

  QWidget& window_;
  Studio& studio_;
  MessageBar& messages_;
  QSettings& settings_;
  std::set<QString> asked_;
};

}  // namespace locus::workbench
