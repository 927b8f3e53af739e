// CommandRegistry: one table of what the window can do. Its menus are made of it, and through them the palette, the
// menu of the canvas and the keys that arrive at the canvas.
#pragma once

#include <QHash>
#include <QKeySequence>
#include <QObject>
#include <QString>
#include <functional>
#include <vector>

#include "core/base/result.h"

class QAction;
class QKeyEvent;
class QMainWindow;
class QMenu;

namespace locus::workbench {

// The property of a command's action that says why it is not enabled.
constexpr const char* kReasonProperty = "reason";

struct MenuCommand {
  QString menu;      // where it stands: "&File", "&View/La&yout"
  QString text;      // with its mnemonic and, behind a tab, a key that the canvas handles itself
  QKeySequence key;  // works wherever the keyboard is, also while the menus are hidden
  std::function<void()> run;
  QString name{};                     // of its QAction
  std::function<Status()> enabled{};  // empty: always; the message of an error is shown as its tool tip
  std::function<bool()> checked{};    // empty: it has no box
  QString tip{};                      // while it is enabled
};

class CommandRegistry : public QObject {
  Q_OBJECT

 public:
  explicit CommandRegistry(QMainWindow& window) : window_(window) {}

  // Menus and commands appear in the order in which they are added.
  QAction* add(MenuCommand command);
  // A command that somebody else has made, of this key.
  void add(const QString& menu, QAction* action, const QKeySequence& key);
  void add_separator(const QString& menu);
  // A menu; `fill`, where there is one, fills it each time before it is seen.
  QMenu* menu(const QString& path, const std::function<void(QMenu&)>& fill = {});

  // The command of that name; null: there is none.
  QAction* find(const char* name) const;
  // Brings what is enabled and checked up to date: done for a menu before it is seen, and to be done for commands with
  // keys when something has changed, since a disabled command's key does nothing.
  void refresh_keys();
  void refresh_all();
  // Runs the action of the window that has this key. False: none has.
  bool trigger(const QKeyEvent& event) const;

 private:
  struct Entry {
    MenuCommand command;
    QAction* action = nullptr;
  };
  static void refresh(const Entry& entry);

  QMainWindow& window_;
  QHash<QString, QMenu*> menus_;
  std::vector<Entry> entries_;
};

}  // namespace locus::workbench
