#include "app/workbench/window/window_commands.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <array>

#include "app/figures/assets.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/export/export.h"
#include "app/workbench/input/find_field.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/state/change_state.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/command_registry.h"
#include "app/workbench/window/file_opener.h"
#include "app/workbench/window/help.h"
#include "app/workbench/window/layout_controller.h"
#include "app/workbench/window/message_bar.h"
#include "app/workbench/window/preferences.h"
#include "app/workbench/window/session_controller.h"
#include "app/workbench/window/window_actions.h"

namespace locus::workbench {

namespace {

constexpr double kScaleStep = 1.1;

const QString kFile = QStringLiteral("&File");
const QString kView = QStringLiteral("&View");
const QString kGo = QStringLiteral("&Go");
const QString kHelp = QStringLiteral("&Help");

QKeySequence control(Qt::Key key) {
  return QKeySequence(Qt::CTRL | key);
}

QKeySequence control_shift(Qt::Key key) {
  return QKeySequence(Qt::CTRL | Qt::SHIFT | key);
}

// A command with the name by which others find it.
void add_named(const WindowParts& p, const QString& name, const QString& menu, const QString& text,
               const QKeySequence& key, std::function<void()> run) {
  p.commands->add({menu, text, key, std::move(run), name});
}

void add(const WindowParts& p, const QString& menu, const QString& text, const QKeySequence& key,
         std::function<void()> run) {
  add_named(p, {}, menu, text, key, std::move(run));
}

void add_file_commands(const WindowParts& p) {
  CommandRegistry& commands = *p.commands;
  add(p, kFile, QStringLiteral("&Open checkpoint folder…"), control(Qt::Key_O), [p] { p.files->ask_folders(); });
  add(p, kFile, QStringLiteral("Open &file…"), control_shift(Qt::Key_O), [p] { p.files->ask_files(); });
  add_named(p, "open-hub", kFile, QStringLiteral("Open from the &hub's cache…"), {}, [p] { p.files->ask_hub(); });
  add_named(p, "make-atlas", kFile, QStringLiteral("Make an &atlas…"), {}, [p] { p.files->make_atlas(); });
  add_named(p, "get-hub", kFile, QStringLiteral("&Get from the hub…"), {}, [p] { p.files->get_from_hub(); });
  add_named(p, "open-remote", kFile, QStringLiteral("Open on another &machine…"), {}, [p] { p.files->ask_remote(); });
  const auto fill_recent = [p](QMenu& menu) { p.files->fill_recent(menu); };
  QMenu* recent = commands.menu(kFile + QStringLiteral("/Open &recent"), fill_recent);
  fill_recent(*recent);
  QObject::connect(p.files, &FileOpener::recent_changed, recent, [fill_recent, recent] { fill_recent(*recent); });
  commands.add_separator(kFile);
  add(p, kFile, QStringLiteral("&New session"), control(Qt::Key_N), [p] { p.sessions->open_new(); });
  add(p, kFile, QStringLiteral("Open se&ssion…"), {}, [p] { p.files->ask_session(); });
  add(p, kFile, QStringLiteral("&Save session"), control(Qt::Key_S), [p] { p.sessions->save(); });
  add(p, kFile, QStringLiteral("Save session &as…"), control_shift(Qt::Key_S), [p] { p.sessions->save_as(); });
  commands.menu(kFile + QStringLiteral("/Earlier s&tates"), [p](QMenu& menu) { p.sessions->fill_states(menu); });
  add(p, kFile, QStringLiteral("&Find missing checkpoints…"), {}, [p] { p.sessions->find_missing(); });
  if (!figures::bundled_session().empty()) {
    add(p, kFile, QStringLiteral("Open the &bundled session"), {},
        [p] { p.sessions->open(figures::bundled_session()); });
  }
  commands.add_separator(kFile);
  const auto written = [p](const auto& files) { p.messages->show_written(files); };
  add_named(p, "export-figure", kFile, QStringLiteral("&Export figure…"), control(Qt::Key_E),
            [p, written] { export_shown(p.window, *p.studio, *p.settings, Contents::kFigure, written); });
  add_named(p, "export-data", kFile, QStringLiteral("Export &data…"), control_shift(Qt::Key_E),
            [p, written] { export_shown(p.window, *p.studio, *p.settings, Contents::kNumbers, written); });
  add_named(p, "export-all", kFile, QStringLiteral("Export all fi&gures of the session…"), {},
            [p] { export_session(p); });
  add_named(p, "copy-figure", kFile, QStringLiteral("&Copy figure"), control_shift(Qt::Key_C),
            [p] { copy_figure(*p.studio, *p.settings, copied(p, QStringLiteral("the figure"))); });
  add_named(p, "copy-command", kFile, QStringLiteral("Copy as command &line"), {},
            [p] { copy_command(*p.studio, copied(p, QStringLiteral("the command line"))); });
  add_named(p, "copy-latex", kFile, QStringLiteral("Copy La&TeX"), {},
            [p] { copy_latex(*p.studio, *p.settings, copied(p, QStringLiteral("the figure's LaTeX"))); });
  commands.add_separator(kFile);
  add(p, kFile, QStringLiteral("&Preferences…"), control(Qt::Key_Comma), [p] { choose_preferences(p); });
  add(p, kFile, QStringLiteral("&Messages of this session…"), {},
      [p] { show_messages(p.window, p.messages->messages()); });
  commands.add_separator(kFile);
  add(p, kFile, QStringLiteral("&Quit"), control(Qt::Key_Q), [p] { p.window->close(); });
}

// The views of one kind have a menu of their own.
void add_views(const WindowParts& p) {
  auto* group = new QActionGroup(p.window);
  for (const views::View* view : views::views()) {
    const QString kind = kView + QLatin1Char('/') + qt(views::title_of(view->info().group));
    p.commands->menu(kind)->setToolTipsVisible(true);
    const auto show = [p, view] {
      change_state(*p.studio, [view](session::ViewState& state) { session::show_view(state, view->info().name); });
    };
    const auto available = [p, view] {
      const auto columns = p.studio->view_input().columns;
      return columns.empty() ? Status() : view->available(columns.front());
    };
    const auto shown = [p, view] { return view == &p.studio->view(); };
    group->addAction(p.commands->add({kind,
                                      qt(view->info().title),
                                      {},
                                      show,
                                      QStringLiteral("view.") + qt(view->info().name),
                                      available,
                                      shown,
                                      qt(view->info().shows)}));
  }
}

void add_panels(const WindowParts& p) {
  constexpr std::array<Qt::Key, 4> kKeys = {Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4};
  for (int n = 0; n < static_cast<int>(p.layout->panels().size()); ++n) {
    p.commands->add(kView, p.layout->panels()[n]->toggleViewAction(), control(kKeys[static_cast<std::size_t>(n)]));
  }
  const QString layouts = kView + QStringLiteral("/La&yout");
  const QList<QString> presets = LayoutController::presets();
  for (int n = 0; n < static_cast<int>(presets.size()); ++n) {
    add_named(p, QStringLiteral("layout-%1").arg(n), layouts, presets[n], {}, [p, n] { p.layout->set_preset(n); });
  }
  p.commands->add_separator(layouts);
  add_named(p, "reset-layout", layouts, QStringLiteral("&Reset layout"), {}, [p] { p.layout->reset(); });
}

void add_view_commands(const WindowParts& p) {
  CommandRegistry& commands = *p.commands;
  add_views(p);
  commands.add_separator(kView);
  const auto possible = [p](const Step* (History::*step)() const) {
    return [p, step] { return (p.studio->history().*step)() ? Status() : Status(usage("there is no such step")); };
  };
  commands.add({kView,
                QStringLiteral("&Undo view change"),
                control(Qt::Key_Z),
                [p] { p.studio->undo(); },
                {},
                possible(&History::previous)});
  commands.add({kView,
                QStringLiteral("&Redo view change"),
                control_shift(Qt::Key_Z),
                [p] { p.studio->redo(); },
                {},
                possible(&History::next)});
  if (p.link != nullptr) {
    add(p, kView, QStringLiteral("&Fit\tF"), {}, [p] { p.link->actions().fit(); });
    add(p, kView, QStringLiteral("&Actual size: one cell a pixel\tCtrl+0"), {}, [p] { p.canvas->zoom_to_cells(); });
    add(p, kView, QStringLiteral("Reset the view\tR"), {}, [p] { p.link->actions().reset(); });
  }
  commands.add_separator(kView);
  add_panels(p);
  add(p, kView, QStringLiteral("F&ull screen"), QKeySequence(Qt::Key_F11),
      [p] { p.window->isFullScreen() ? p.window->showNormal() : p.window->showFullScreen(); });
  add(p, kView, QStringLiteral("&Hide everything but the figure"), control(Qt::Key_B),
      [p] { p.layout->hide_all(!p.layout->hides_all()); });
  commands.add({kView,
                QStringLiteral("&Captions of views"),
                {},
                [p] { p.layout->set_captions(!p.layout->has_captions()); },
                QStringLiteral("captions"),
                {},
                [p] { return p.layout->has_captions(); }});
  commands.add({kView,
                QStringLiteral("&Dark theme"),
                {},
                [p] { p.layout->set_dark(!p.layout->dark()); },
                {},
                {},
                [p] { return p.layout->dark(); }});
  add_named(p, "larger-text", kView, QStringLiteral("&Larger text"), control(Qt::Key_Plus),
            [p] { p.layout->set_scale(p.layout->scale() * kScaleStep); });
  add_named(p, "smaller-text", kView, QStringLiteral("&Smaller text"), control(Qt::Key_Minus),
            [p] { p.layout->set_scale(p.layout->scale() / kScaleStep); });
}

void add_go_commands(const WindowParts& p) {
  CommandRegistry& commands = *p.commands;
  if (p.link != nullptr) {
    add(p, kGo, QStringLiteral("Next layer\t↓"), {}, [p] { p.link->actions().move_layer(1); });
    add(p, kGo, QStringLiteral("Previous layer\t↑"), {}, [p] { p.link->actions().move_layer(-1); });
    add(p, kGo, QStringLiteral("Next head\t→"), {}, [p] { p.link->actions().move_head(1); });
    add(p, kGo, QStringLiteral("Previous head\t←"), {}, [p] { p.link->actions().move_head(-1); });
    commands.add_separator(kGo);
  }
  add(p, kGo, QStringLiteral("&Find in the text, or go to a token…"), control(Qt::Key_F), [p] {
    p.input->show();
    p.input->find().setFocus();
    p.input->find().selectAll();
  });
  commands.menu(kGo + QStringLiteral("/&Figures of this session"), [p](QMenu& menu) { fill_figures(p, menu); });
  add_named(p, "keep-view", kGo, QStringLiteral("&Keep this view in the session…"), control(Qt::Key_D),
            [p] { keep_view(p); });
  add(p, kGo, QStringLiteral("&Any command…"), control(Qt::Key_K), [p] { show_palette(p); });
}

void add_help_commands(const WindowParts& p) {
  add(p, kHelp, QStringLiteral("&What this view shows"), QKeySequence(Qt::Key_F1),
      [p] { show_view_help(p.window, *p.studio); });
  add_named(p, "getting-started", kHelp, QStringLiteral("&Getting started"), {}, [p] { show_welcome(p); });
  add(p, kHelp, QStringLiteral("&Manual"), {}, [p] { show_manual_page(p.window, QStringLiteral("contents")); });
  add(p, kHelp, QStringLiteral("&Keys\t?"), {}, [p] { show_manual_page(p.window, QStringLiteral("keys")); });
  add(p, kHelp, QStringLiteral("&Position encodings"), {},
      [p] { show_manual_page(p.window, QStringLiteral("encodings")); });
  add(p, kHelp, QStringLiteral("Attention is &not explanation"), {},
      [p] { show_manual_page(p.window, QStringLiteral("caution")); });
  add(p, kHelp, QStringLiteral("&About Locus"), {}, [p] { show_about(p.window); });
}

}  // namespace

void add_window_commands(const WindowParts& parts) {
  add_file_commands(parts);
  add_view_commands(parts);
  add_go_commands(parts);
  add_help_commands(parts);
  QObject::connect(parts.studio, &Studio::state_changed, parts.commands, &CommandRegistry::refresh_keys);
}

}  // namespace locus::workbench
