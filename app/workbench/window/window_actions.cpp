#include "app/workbench/window/window_actions.h"

#include <QFileDialog>
#include <QInputDialog>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <algorithm>

#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/head_dock.h"
#include "app/workbench/export/export.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/palette_sources.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kMaxListed = 40;  // figures in a menu; the panel lists all of them

void show_panel(FiguresDock& panel) {
  panel.show();
  panel.raise();
}

// A second command for a head: its card.
std::vector<Command> with_cards(const std::vector<Command>& heads, HeadDock* card) {
  std::vector<Command> all;
  for (const Command& head : heads) {
    all.push_back(head);
    if (head.available && card != nullptr) {
      all.push_back({QStringLiteral("Card of head %1").arg(head.name.section(QLatin1Char(' '), 1)),
                     QStringLiteral("what it does on this text"), [run = head.run, card] {
                       run();
                       card->show_card();
                     }});
    }
  }
  return all;
}

}  // namespace

void export_session(QWidget& window, Studio& studio, MessageBar& messages) {
  const QString folder =
      QFileDialog::getExistingDirectory(&window, QStringLiteral("A folder for the figures of the session"));
  if (!folder.isEmpty()) {
    export_all(studio, folder.toStdString(), [&messages](const auto& files) { messages.show_written(files); });
  }
}

Copied copied(MessageBar& messages, const QString& what) {
  return [&messages, what](const Status& done) {
    done ? messages.show_message(QStringLiteral("%1 is on the clipboard").arg(what))
         : messages.show_error(done.error());
  };
}

void keep_view(QWidget& window, Studio& studio) {
  bool ok = false;
  const QString name = QInputDialog::getText(&window, QStringLiteral("Keep this view"), QStringLiteral("Name"),
                                             QLineEdit::Normal, qt(studio.view().info().title), &ok);
  if (ok && !name.isEmpty()) {
    studio.sessions().add_bookmark(name.toStdString());
  }
}

void show_palette(QMainWindow& window, Studio& studio, InputDock& input) {
  std::vector<Command> list;
  for (QAction* action : window.menuBar()->actions()) {
    append(list, menu_commands(action->text().remove(QLatin1Char('&')) + QStringLiteral(": "), *action->menu()));
  }
  if (QMenu* samples = input.findChild<QMenu*>(QStringLiteral("samples"))) {
    append(list, menu_commands(QStringLiteral("Sample: "), *samples));
  }
  append(list, switch_commands(QStringLiteral("Input: "), input));
  append(list, button_commands(QStringLiteral("Input: "), input));
  append(list, place_commands(studio));
  append(list, option_commands(studio, window));
  append(list, state_commands(studio, window));
  auto* card = window.findChild<HeadDock*>(QStringLiteral("head-dock"));
  const auto of_words = [&studio, card](const QString& words) {
    std::vector<Command> typed = with_cards(head_commands(studio, words), card);
    append(typed, edit_commands(studio, words));
    return typed;
  };
  auto* palette = new CommandPalette(std::move(list), of_words, &window);
  palette->show();
  palette->activateWindow();
}

void fill_figures(QMenu& menu, Studio& studio, FiguresDock& panel) {
  menu.clear();
  const auto& figures = studio.sessions().document().figures();
  for (std::size_t n = 0; n < std::min(figures.size(), kMaxListed); ++n) {
    menu.addAction(qt(figures[n].name), &panel, [&studio, figure = figures[n]] { studio.sessions().show(figure); });
  }
  if (figures.size() > kMaxListed) {
    menu.addAction(QStringLiteral("and %1 more, in the panel").arg(figures.size() - kMaxListed), &panel,
                   [&panel] { show_panel(panel); });
  }
  if (menu.isEmpty()) {
    menu.addAction(QStringLiteral("none yet"))->setEnabled(false);
  }
}

}  // namespace locus::workbench
