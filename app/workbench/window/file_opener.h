// FileOpener: opens paths of any kind, asks for paths, and remembers recent ones.
#pragma once

#include <QObject>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

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

  // Opens a session, checkpoint, trace, text, image, figure or recipe.
  void open(const std::filesystem::path& path);
  void open_all(const QStringList& paths);
  // Opens what the window shows first: the paths, else the last session, else the bundled one.
  void open_first(const std::vector<std::filesystem::path>& paths);

  // The base of adapters that are opened from now on; empty: as they say.
  void set_base(std::string base) { base_ = std::move(base); }

  void ask_folders();
  void ask_files();
  void ask_session();
  void ask_hub();
  void get_from_hub();
  void make_atlas();
  void ask_remote();  // a path on another machine
  void fill_recent(QMenu& menu);

  QStringList recent() const;  // latest first

 Q_SIGNALS:
  void recent_changed();
  void opening();  // the user opens something

 private:
  // Shows what a figure or recipe shows, as a step for undo(). False: the file contains no recipe.
  bool open_figure(const std::filesystem::path& path);
  void show_atlas(const std::filesystem::path& file);
  void open_checkpoint(const std::filesystem::path& path);
  void remember(const std::filesystem::path& path);
  void remember_opened();
  // Takes a path that is no checkpoint off the list, which would keep it with a reason that has no room there.
  void drop_unopened(int id, const Error& error);
  // Asks for the base of an adapter, and opens the adapter with it.
  void ask_base(int id);
  QString folder() const;

  QWidget& window_;
  Studio& studio_;
  SessionController& sessions_;
  MachineQuestions& machines_;
  InputDock& input_;
  MessageBar& messages_;
  QSettings& settings_;
  std::string base_;
  std::vector<std::filesystem::path> opening_;  // requested checkpoints; added to the recent ones once open
};

}  // namespace locus::workbench
