// FileOpener: opens whatever a path is, asks for paths, and remembers those that opened.
#pragma once

#include <QObject>
#include <filesystem>
#include <vector>

class QMenu;
class QSettings;
class QWidget;

namespace locus::workbench {

class InputDock;
class MachineQuestions;
class MessageBar;
class SessionController;
class Studio;

class FileOpener : public QObject {
  Q_OBJECT

 public:
  FileOpener(QWidget& window, Studio& studio, SessionController& sessions, MachineQuestions& machines, InputDock& input,
             MessageBar& messages, QSettings& settings);

  // A session, a checkpoint, a trace, a text, an image, a figure or its recipe.
  void open(const std::filesystem::path& path);
  void open_all(const QStringList& paths);
  // What the window shows first: the paths, or the last session, or the bundled one.
  void open_first(const std::vector<std::filesystem::path>& paths);

  void ask_folders();
  void ask_files();
  void ask_session();
  void ask_hub();
  void get_from_hub();
  void make_atlas();
  void ask_remote();  // a path on another machine
  void fill_recent(QMenu& menu);

 Q_SIGNALS:
  void recent_changed();

 private:
  // What a figure or its recipe shows, as a step that undo() takes back. False: the file says nothing of it.
  bool open_figure(const std::filesystem::path& path);
  void show_atlas(const std::filesystem::path& file);
  void open_checkpoint(const std::filesystem::path& path);
  void remember(const std::filesystem::path& path);
  void remember_opened();
  QString folder() const;

  QWidget& window_;
  Studio& studio_;
  SessionController& sessions_;
  MachineQuestions& machines_;
  InputDock& input_;
  MessageBar& messages_;
  QSettings& settings_;
  std::vector<std::filesystem::path> opening_;  // checkpoints that were asked for; recent once they have opened
};

}  // namespace locus::workbench
