// MachineQuestions: asks before a machine is reached that a session, a figure or a recipe names: once for each.
// Machines that the user agreed to, or named, are remembered.
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

  // The user named this path: its machine may be reached from now on. Nothing for a path of this machine.
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
