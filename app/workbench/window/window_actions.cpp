#include "app/workbench/window/window_actions.h"

#include <QFileDialog>
#include <QInputDialog>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <algorithm>

#include "app/figures/assets.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/file_opener.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/palette_sources.h"
#include "app/workbench/window/session_controller.h"
#include "app/workbench/window/start_dialog.h"
#include "app/workbench/window/welcome.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kMaxListed = 40;  // figures in a menu; the panel is a list to look through

void show_figures(const WindowParts& parts) {
  parts.figures->show();
  parts.figures->raise();
}

}  // namespace

void export_session(const WindowParts& parts) {
  const QString folder =
      QFileDialog::getExistingDirectory(parts.window, QStringLiteral("A folder for the figures of the session"));
  if (!folder.isEmpty()) {
    export_all(*parts.studio, folder.toStdString(),
               [messages = parts.messages](const auto& files) { messages->show_written(files); });
  }
}

Copied copied(const WindowParts& parts, const QString& what) {
  return [messages = parts.messages, what](const Status& done) {
    done ? messages->show_message(QStringLiteral("%1 is on the clipboard").arg(what))
         : messages->show_error(done.error());
  };
}

void keep_view(const WindowParts& parts) {
  bool ok = false;
  const QString name = QInputDialog::getText(parts.window, QStringLiteral("Keep this view"), QStringLiteral("Name"),
                                             QLineEdit::Normal, qt(parts.studio->view().info().title), &ok);
  if (ok && !name.isEmpty()) {
    parts.studio->add_bookmark(name.toStdString());
  }
}

void show_palette(const WindowParts& parts) {
  std::vector<Command> list;
  for (QAction* action : parts.window->menuBar()->actions()) {
    append(list, menu_commands(action->text().remove(QLatin1Char('&')) + QStringLiteral(": "), *action->menu()));
  }
  if (QMenu* samples = parts.input->findChild<QMenu*>(QStringLiteral("samples"))) {
    append(list, menu_commands(QStringLiteral("Sample: "), *samples));
  }
  append(list, switch_commands(QStringLiteral("Input: "), *parts.input));
  append(list, place_commands(*parts.studio));
  append(list, option_commands(*parts.studio, *parts.window));
  append(list, state_commands(*parts.studio, *parts.window));
  auto* palette = new CommandPalette(std::move(list), parts.window);
  palette->show();
  palette->activateWindow();
}

void show_welcome(const WindowParts& parts) {
  auto* welcome = new Welcome(!figures::bundled_session().empty(), parts.window);
  QObject::connect(welcome, &Welcome::figure_wanted, parts.window, [parts] {
    if (parts.studio->document().figures().empty() && !parts.sessions->open(figures::bundled_session())) {
      return;
    }
    if (!parts.studio->document().figures().empty()) {
      parts.studio->show(session::Bookmark(parts.studio->document().figures().front()));
    }
    show_figures(parts);
  });
  QObject::connect(welcome, &Welcome::text_wanted, parts.window, [parts] {
    parts.input->show();
    parts.window->activateWindow();
    parts.input->editor().setFocus();
    parts.input->editor().selectAll();
  });
  QObject::connect(welcome, &Welcome::checkpoint_wanted, parts.files, &FileOpener::ask_folders);
  QObject::connect(welcome, &Welcome::manual_wanted, parts.window,
                   [parts] { show_manual_page(parts.window, QStringLiteral("contents")); });
  show_at_start(*welcome, *parts.window);
}

void fill_figures(const WindowParts& parts, QMenu& menu) {
  menu.clear();
  const auto& figures = parts.studio->document().figures();
  for (std::size_t n = 0; n < std::min(figures.size(), kMaxListed); ++n) {
    menu.addAction(qt(figures[n].name), parts.window,
                   [studio = parts.studio, figure = figures[n]] { studio->show(figure); });
  }
  if (figures.size() > kMaxListed) {
    menu.addAction(QStringLiteral("and %1 more, in the panel").arg(figures.size() - kMaxListed), parts.window,
                   [parts] { show_figures(parts); });
  }
  if (menu.isEmpty()) {
    menu.addAction(QStringLiteral("none yet"))->setEnabled(false);
  }
}

}  // namespace locus::workbench
