#include "app/workbench/window/command_registry.h"

#include <QAction>
#include <QKeyEvent>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <utility>

#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

QMenu* CommandRegistry::menu(const QString& path, const std::function<void(QMenu&)>& fill) {
  if (QMenu* known = menus_.value(path)) {
    return known;
  }
  const qsizetype slash = path.lastIndexOf(QLatin1Char('/'));
  QMenu* made = slash < 0 ? window_.menuBar()->addMenu(path) : menu(path.left(slash))->addMenu(path.mid(slash + 1));
  menus_.insert(path, made);
  connect(made, &QMenu::aboutToShow, this, [this, path, made, fill] {
    for (const Entry& entry : entries_) {
      if (entry.command.menu == path) {
        refresh(entry);
      }
    }
    if (fill) {
      fill(*made);
    }
  });
  return made;
}

QAction* CommandRegistry::add(MenuCommand command) {
  auto* action = new QAction(command.text, &window_);
  action->setObjectName(command.name);
  action->setShortcut(command.key);
  action->setCheckable(static_cast<bool>(command.checked));
  connect(action, &QAction::triggered, this, [run = command.run] { run(); });
  if (command.way_out) {
    auto* other = new QAction(action);
    other->setObjectName(QLatin1String(kWayOut));
    connect(other, &QAction::triggered, this, [way_out = command.way_out] {
      if (const WayOut way = way_out(); way.run) {
        way.run();
      }
    });
  }
  menu(command.menu)->addAction(action);
  window_.addAction(action);  // works while the menu bar is hidden
  entries_.push_back({std::move(command), action});
  return action;
}

void CommandRegistry::add(const QString& path, QAction* action, const QKeySequence& key) {
  action->setShortcut(key);
  menu(path)->addAction(action);
  window_.addAction(action);
}

void CommandRegistry::add_separator(const QString& path) {
  menu(path)->addSeparator();
}

QAction* CommandRegistry::find(const char* name) const {
  return window_.findChild<QAction*>(QLatin1String(name));
}

void CommandRegistry::refresh(const Entry& entry) {
  const Status enabled = entry.command.enabled ? entry.command.enabled() : Status();
  if (entry.command.enabled) {
    entry.action->setEnabled(enabled.ok());
    const QString reason = enabled.ok() ? QString() : qt(enabled.error().message);
    entry.action->setToolTip(enabled.ok() ? entry.command.tip : reason);
    entry.action->setProperty(kReasonProperty, reason);
    if (auto* other = entry.action->findChild<QAction*>(QLatin1String(kWayOut))) {
      other->setText(enabled.ok() ? QString() : entry.command.way_out().text);
    }
  }
  if (entry.command.checked) {
    entry.action->setChecked(entry.command.checked());
  }
}

void CommandRegistry::refresh_keys() {
  for (const Entry& entry : entries_) {
    if (!entry.command.key.isEmpty()) {
      refresh(entry);
    }
  }
}

void CommandRegistry::refresh_all() {
  for (const Entry& entry : entries_) {
    refresh(entry);
  }
}

bool CommandRegistry::trigger(const QKeyEvent& event) const {
  const QKeySequence pressed(event.keyCombination());
  for (QAction* action : window_.findChildren<QAction*>()) {
    const bool anywhere = action->shortcutContext() != Qt::WidgetShortcut;
    if (anywhere && action->isEnabled() && action->shortcuts().contains(pressed)) {
      action->trigger();
      return true;
    }
  }
  return false;
}

}  // namespace locus::workbench
