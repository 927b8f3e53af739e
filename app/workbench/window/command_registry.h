// CommandRegistry: the table of the window's commands. Menus, the palette, the canvas's context menu and the keys of
// the canvas use it.
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

// Property of a command's QAction: the reason why it is disabled.
constexpr const char* kReasonProperty = "reason";

// Object name of the child of a command's QAction that does what helps while it is disabled, if anything does.
constexpr const char* kWayOut = "way-out";

// What can be done instead of a command that is disabled.
struct WayOut {
  QString text;  // empty: nothing
  std::function<void()> run;
};

struct MenuCommand {
  QString menu;      // path of its menu: "&File", "&View/La&yout"
  QString text;      // with mnemonic and, after a tab, a key handled by the canvas
  QKeySequence key;  // works everywhere in the window, also while menus are hidden
  std::function<void()> run;
  QString name{};                     // object name of its QAction
  std::function<Status()> enabled{};  // empty: always; an error message becomes the tooltip
  std::function<bool()> checked{};    // empty: not checkable
  QString tip{};                      // tooltip while it is enabled
  std::function<WayOut()> way_out{};  // asked while it is disabled
};

class CommandRegistry : public QObject {
  Q_OBJECT

 public:
  explicit CommandRegistry(QMainWindow& window) : window_(window) {}

  // Adds a command. Menus and commands appear in the order in which they are added.
  QAction* add(MenuCommand command);
  // Adds an existing action with a key.
  void add(const QString& menu, QAction* action, const QKeySequence& key);
  void add_separator(const QString& menu);
  // Adds or finds a menu; `fill`, if any, fills it each time before it is shown.
  QMenu* menu(const QString& path, const std::function<void(QMenu&)>& fill = {});

  // The action of that object name; null: there is none.
  QAction* find(const char* name) const;
  // Updates which commands are enabled and checked. Menus do this before they are shown; commands with keys need it
  // after every change, since the key of a disabled command does nothing.
  void refresh_keys();
  void refresh_all();
  // Runs the action with this key. False: there is none.
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
