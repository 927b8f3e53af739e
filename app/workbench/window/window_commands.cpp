#include "app/workbench/window/window_commands.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QKeyEvent>
#include <QMainWindow>
#include <QMenu>
#include <QSettings>
#include <algorithm>
#include <array>
#include <optional>

#include "app/figures/assets.h"
#include "app/session/session.h"
#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_actions.h"
#include "app/workbench/canvas/instruments/instrument_set.h"
#include "app/workbench/canvas/timeline_bar.h"
#include "app/workbench/docks/checkpoints_dock.h"
#include "app/workbench/docks/figures_dock.h"
#include "app/workbench/docks/head_dock.h"
#include "app/workbench/export/clipboard.h"
#include "app/workbench/export/export.h"
#include "app/workbench/input/arc_link.h"
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
const QString kEdit = QStringLiteral("&Edit");
const QString kView = QStringLiteral("&View");
const QString kGo = QStringLiteral("&Go");
const QString kHelp = QStringLiteral("&Help");

const QString kArcs = QStringLiteral("arcs");  // keys of settings
const QString kTimeline = QStringLiteral("timeline");

QKeySequence control(Qt::Key key) {
  return QKeySequence(Qt::CTRL | key);
}

QKeySequence control_shift(Qt::Key key) {
  return QKeySequence(Qt::CTRL | Qt::SHIFT | key);
}

// Adds a command that is found by `name`.
void add_named(CommandRegistry& commands, const QString& name, const QString& menu, const QString& text,
               const QKeySequence& key, std::function<void()> run) {
  commands.add({menu, text, key, std::move(run), name});
}

void add(CommandRegistry& commands, const QString& menu, const QString& text, const QKeySequence& key,
         std::function<void()> run) {
  add_named(commands, {}, menu, text, key, std::move(run));
}

// The first figure of the bundled session with that view; empty: none.
std::optional<session::Bookmark> bundled_figure(const std::string& view) {
  static const auto bundled = session::load_session(figures::bundled_session());
  if (bundled) {
    const auto found =
        std::ranges::find(bundled->bookmarks, view, [](const session::Bookmark& figure) { return figure.state.view; });
    if (found != bundled->bookmarks.end()) {
      return *found;
    }
  }
  return {};
}

// What helps where the columns cannot have a view.
WayOut way_to_view(const views::View& view, Studio& studio, FileOpener& files) {
  if (!view.info().of_runs) {
    return {QStringLiteral("Make an atlas…"), [&files] { files.make_atlas(); }};
  }
  if (const auto figure = bundled_figure(view.info().name)) {
    return {QStringLiteral("Show the bundled figure %1").arg(qt(figure->name)),
            [&studio, figure = *figure] { studio.sessions().show(figure); }};
  }
  return {};
}

// A menu for each group of views.
void add_views(CommandRegistry& commands, QWidget& window, Studio& studio, FileOpener& files) {
  auto* group = new QActionGroup(&window);
  for (const views::View* view : views::views()) {
    const QString kind = kView + QLatin1Char('/') + qt(views::title_of(view->info().group));
    commands.menu(kind)->setToolTipsVisible(true);
    const auto show = [&studio, view] {
      change_state(studio, [view](session::ViewState& state) { session::show_view(state, view->info().name); });
    };
    const auto available = [&studio, view] {
      const auto columns = studio.view_input().columns;
      return columns.empty() ? Status() : view->available(columns.front());
    };
    const auto shown = [&studio, view] { return view == &studio.view(); };
    group->addAction(commands.add({kind,
                                   qt(view->info().title),
                                   {},
                                   show,
                                   QStringLiteral("view.") + qt(view->info().name),
                                   available,
                                   shown,
                                   qt(view->info().shows),
                                   [&studio, &files, view] { return way_to_view(*view, studio, files); }}));
  }
}

void add_panels(CommandRegistry& commands, LayoutController& layout) {
  constexpr std::array<Qt::Key, 4> kKeys = {Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4};
  for (int n = 0; n < static_cast<int>(layout.panels().size()); ++n) {
    commands.add(kView, layout.panels()[n]->toggleViewAction(), control(kKeys[static_cast<std::size_t>(n)]));
  }
  const QString layouts = kView + QStringLiteral("/La&yout");
  const QList<QString> presets = LayoutController::presets();
  for (int n = 0; n < static_cast<int>(presets.size()); ++n) {
    add_named(commands, QStringLiteral("layout-%1").arg(n), layouts, presets[n], {},
              [&layout, n] { layout.set_preset(n); });
  }
  commands.add_separator(layouts);
  commands.add({layouts,
                QStringLiteral("&Text below the map"),
                {},
                [&layout] { layout.set_text_below(!layout.text_below()); },
                QStringLiteral("text-below"),
                {},
                [&layout] { return layout.text_below(); }});
  add_named(commands, "reset-layout", layouts, QStringLiteral("&Reset layout"), {}, [&layout] { layout.reset(); });
}

}  // namespace

void add_open_commands(CommandRegistry& commands, FileOpener& files) {
  add(commands, kFile, QStringLiteral("&Open checkpoint folder…"), control(Qt::Key_O),
      [&files] { files.ask_folders(); });
  add(commands, kFile, QStringLiteral("Open &file…"), control_shift(Qt::Key_O), [&files] { files.ask_files(); });
  add_named(commands, "open-hub", kFile, QStringLiteral("Open from the &hub's cache…"), {},
            [&files] { files.ask_hub(); });
  add_named(commands, "make-atlas", kFile, QStringLiteral("Make an &atlas…"), {}, [&files] { files.make_atlas(); });
  add_named(commands, "get-hub", kFile, QStringLiteral("&Get from the hub…"), {}, [&files] { files.get_from_hub(); });
  add_named(commands, "open-remote", kFile, QStringLiteral("Open on another &machine…"), {},
            [&files] { files.ask_remote(); });
  const auto fill_recent = [&files](QMenu& menu) { files.fill_recent(menu); };
  QMenu* recent = commands.menu(kFile + QStringLiteral("/Open &recent"), fill_recent);
  fill_recent(*recent);
  QObject::connect(&files, &FileOpener::recent_changed, recent, [fill_recent, recent] { fill_recent(*recent); });
  commands.add_separator(kFile);
}

void add_session_commands(CommandRegistry& commands, FileOpener& files, SessionController& sessions) {
  add(commands, kFile, QStringLiteral("&New session"), control(Qt::Key_N), [&sessions] { sessions.open_new(); });
  add(commands, kFile, QStringLiteral("Open se&ssion…"), {}, [&files] { files.ask_session(); });
  add(commands, kFile, QStringLiteral("&Save session"), control(Qt::Key_S), [&sessions] { sessions.save(); });
  add(commands, kFile, QStringLiteral("Save session &as…"), control_shift(Qt::Key_S),
      [&sessions] { sessions.save_as(); });
  commands.menu(kFile + QStringLiteral("/Earlier s&tates"), [&sessions](QMenu& menu) { sessions.fill_states(menu); });
  add(commands, kFile, QStringLiteral("&Find missing checkpoints…"), {}, [&sessions] { sessions.find_missing(); });
  if (!figures::bundled_session().empty()) {
    add(commands, kFile, QStringLiteral("Open the &bundled session"), {},
        [&sessions] { sessions.open(figures::bundled_session()); });
  }
  commands.add_separator(kFile);
}

void add_export_commands(CommandRegistry& commands, QWidget& window, Studio& studio, QSettings& settings,
                         MessageBar& messages) {
  const auto written = [&messages](const auto& files) { messages.show_written(files); };
  add_named(commands, "export-figure", kFile, QStringLiteral("&Export figure…"), control(Qt::Key_E),
            [&, written] { export_shown(&window, studio, settings, Contents::kFigure, written); });
  add_named(commands, "export-data", kFile, QStringLiteral("Export &data…"), control_shift(Qt::Key_E),
            [&, written] { export_shown(&window, studio, settings, Contents::kNumbers, written); });
  add_named(commands, "export-all", kFile, QStringLiteral("Export all fi&gures of the session…"), {},
            [&] { export_session(window, studio, messages); });
  add_named(commands, "copy-figure", kFile, QStringLiteral("&Copy figure"), control_shift(Qt::Key_C),
            [&] { copy_figure(studio, settings, copied(messages, QStringLiteral("the figure"))); });
  add_named(commands, "copy-command", kFile, QStringLiteral("Copy as command &line"), {},
            [&] { copy_command(studio, copied(messages, QStringLiteral("the command line"))); });
  add_named(commands, "copy-latex", kFile, QStringLiteral("Copy La&TeX"), {},
            [&] { copy_latex(studio, settings, copied(messages, QStringLiteral("the figure's LaTeX"))); });
  commands.add_separator(kFile);
}

void add_program_commands(CommandRegistry& commands, QWidget& window, Studio& studio, QSettings& settings,
                          LayoutController& layout, MessageBar& messages) {
  add(commands, kFile, QStringLiteral("&Preferences…"), control(Qt::Key_Comma),
      [&] { choose_preferences(window, settings, studio.columns(), layout); });
  add(commands, kFile, QStringLiteral("&Messages of this session…"), {},
      [&] { show_messages(&window, messages.messages()); });
  commands.add_separator(kFile);
  add(commands, kFile, QStringLiteral("&Quit"), control(Qt::Key_Q), [&] { window.close(); });
}

void add_edit_commands(CommandRegistry& commands, Studio& studio, CheckpointsDock& checkpoints) {
  const auto possible = [&studio](const Step* (History::*step)() const, const char* why) {
    return [&studio, step, why] { return (studio.history().*step)() ? Status() : Status(usage(why)); };
  };
  commands.add({kEdit, QStringLiteral("&Undo"), control(Qt::Key_Z), [&studio] { studio.undo(); },
                QStringLiteral("undo"), possible(&History::previous, "nothing has been changed yet")});
  commands.add({kEdit, QStringLiteral("&Redo"), control_shift(Qt::Key_Z), [&studio] { studio.redo(); },
                QStringLiteral("redo"), possible(&History::next, "nothing has been undone")});
  commands.add_separator(kEdit);
  struct Variation {
    const char* name;
    const char* text;
    const char* tip;
    void (CheckpointsDock::*run)();
    Status (CheckpointsDock::*can)() const;
  };
  for (const Variation& each :
       {Variation{"what-if", "&What if…", "The chosen checkpoint with another RoPE base or scaling, as its own column",
                  &CheckpointsDock::ask_what_if, &CheckpointsDock::can_vary},
        Variation{"edits", "&Edits…",
                  "The chosen checkpoint with moved tokens, ablated heads, masked cells or a typed bias",
                  &CheckpointsDock::ask_edits, &CheckpointsDock::can_edit},
        Variation{"own-text", "&Another column with its own text…", "The chosen checkpoint on another text",
                  &CheckpointsDock::ask_own_text, &CheckpointsDock::can_vary}}) {
    commands.add({kEdit,
                  QString::fromUtf8(each.text),
                  {},
                  [&checkpoints, run = each.run] { (checkpoints.*run)(); },
                  QLatin1String(each.name),
                  [&checkpoints, can = each.can] { return (checkpoints.*can)(); },
                  {},
                  QString::fromUtf8(each.tip)});
  }
}

void add_view_commands(CommandRegistry& commands, QWidget& window, Studio& studio, FileOpener& files) {
  add_views(commands, window, studio, files);
  commands.add_separator(kView);
}

void add_canvas_commands(CommandRegistry& commands, viewport::Canvas& canvas, CanvasActions& actions) {
  add(commands, kView, QStringLiteral("&Fit\tF"), {}, [&actions] { actions.fit(); });
  add(commands, kView, QStringLiteral("&Actual size: one cell a pixel\tCtrl+0"), {},
      [&canvas] { canvas.zoom_to_cells(); });
  add(commands, kView, QStringLiteral("Reset the view\tR"), {}, [&actions] { actions.reset(); });
}

void add_layout_commands(CommandRegistry& commands, QWidget& window, LayoutController& layout) {
  commands.add_separator(kView);
  add_panels(commands, layout);
  add(commands, kView, QStringLiteral("F&ull screen"), QKeySequence(Qt::Key_F11),
      [&window] { window.isFullScreen() ? window.showNormal() : window.showFullScreen(); });
  commands.add({kView,
                QStringLiteral("F&old figures and checkpoints"),
                QKeySequence(Qt::Key_F9),
                [&layout] { layout.fold(!layout.folds()); },
                QStringLiteral("fold"),
                {},
                [&layout] { return layout.folds(); }});
  add(commands, kView, QStringLiteral("&Hide everything but the figure"), control(Qt::Key_B),
      [&layout] { layout.hide_all(!layout.hides_all()); });
  commands.add({kView,
                QStringLiteral("&Captions of views"),
                {},
                [&layout] { layout.set_captions(!layout.has_captions()); },
                QStringLiteral("captions"),
                {},
                [&layout] { return layout.has_captions(); }});
  commands.add({kView,
                QStringLiteral("&Dark theme"),
                {},
                [&layout] { layout.set_dark(!layout.dark()); },
                {},
                {},
                [&layout] { return layout.dark(); }});
  add_named(commands, "larger-text", kView, QStringLiteral("&Larger text"), control(Qt::Key_Plus),
            [&layout] { layout.set_scale(layout.scale() * kScaleStep); });
  add_named(commands, "smaller-text", kView, QStringLiteral("&Smaller text"), control(Qt::Key_Minus),
            [&layout] { layout.set_scale(layout.scale() / kScaleStep); });
}

void add_arc_commands(CommandRegistry& commands, InputDock& input, QSettings& settings) {
  input.arcs().set_on(settings.value(kArcs, true).toBool());
  commands.add({kView,
                QStringLiteral("&Arcs above the tokens"),
                control_shift(Qt::Key_A),
                [&input, &settings] {
                  input.arcs().set_on(!input.arcs().is_on());
                  settings.setValue(kArcs, input.arcs().is_on());
                },
                QStringLiteral("arcs"),
                {},
                [&input] { return input.arcs().is_on(); },
                QStringLiteral("What the token under the pointer reads, and in grey what reads it")});
}

void add_timeline_commands(CommandRegistry& commands, TimelineBar& timeline, QSettings& settings) {
  if (settings.contains(kTimeline)) {
    timeline.set_wanted(settings.value(kTimeline).toBool());
  }
  commands.add({kView,
                QStringLiteral("&Timeline below the figure"),
                control(Qt::Key_T),
                [&timeline, &settings] {
                  timeline.set_wanted(!timeline.is_wanted());
                  settings.setValue(kTimeline, timeline.is_wanted());
                },
                QStringLiteral("timeline-shown"),
                {},
                [&timeline] { return timeline.is_wanted(); }});
  commands.add({kView, QStringLiteral("&Play layers, frames or steps"), control_shift(Qt::Key_T),
                [&timeline] { timeline.toggle_play(); }, QStringLiteral("play"),
                [&timeline] { return timeline.can_play(); }, [&timeline] { return timeline.is_playing(); }});
}

void add_wipe_command(CommandRegistry& commands, Studio& studio, InstrumentSet& instruments) {
  commands.add({kView,
                QStringLiteral("&Wipe between a column and the reference\tW"),
                {},
                [&instruments] { instruments.press(QKeyEvent(QEvent::KeyPress, Qt::Key_W, Qt::NoModifier)); },
                QStringLiteral("wipe"),
                [&studio]() -> Status {
                  return studio.checkpoints().shown().size() > 1 ? Status()
                                                                 : usage("a wipe needs two columns: tick another one");
                },
                [&instruments] { return instruments.wipe().has_value(); },
                QStringLiteral("A line that can be dragged: left of it the column, right of it the reference")});
}

void add_card_commands(CommandRegistry& commands, HeadDock& card) {
  commands.add({kView,
                QStringLiteral("Ca&rd of the head"),
                control(Qt::Key_H),
                [&card] { card.is_seen() ? card.hide() : card.show_card(); },
                QStringLiteral("head-card"),
                {},
                [&card] { return card.is_seen(); }});
}

void add_head_commands(CommandRegistry& commands, Studio& studio, CanvasActions& actions) {
  add(commands, kGo, QStringLiteral("Next layer\t↓"), {}, [&actions] { actions.move_layer(1); });
  add(commands, kGo, QStringLiteral("Previous layer\t↑"), {}, [&actions] { actions.move_layer(-1); });
  add(commands, kGo, QStringLiteral("Next head\t→"), {}, [&actions] { actions.move_head(1); });
  add(commands, kGo, QStringLiteral("Previous head\t←"), {}, [&actions] { actions.move_head(-1); });
  commands.add({kGo,
                QStringLiteral("Layers by &depth\tShift+U"),
                {},
                [&actions] { actions.toggle_by_depth(); },
                QStringLiteral("by-depth"),
                [&actions] { return actions.can_link_by_depth(); },
                [&studio] { return studio.state().by_depth; },
                QStringLiteral("Columns of different depth show the layers that lie as deep")});
  commands.add_separator(kGo);
}

void add_go_commands(CommandRegistry& commands, QMainWindow& window, Studio& studio, InputDock& input,
                     FiguresDock& figures) {
  add_named(commands, "go-text", kGo, QStringLiteral("The &text"), control(Qt::Key_L), [&] { input.give_keyboard(); });
  add(commands, kGo, QStringLiteral("&Find in the text, or go to a token…"), control(Qt::Key_F), [&] {
    input.show();
    input.find().setFocus();
    input.find().selectAll();
  });
  commands.menu(kGo + QStringLiteral("/&Figures of this session"),
                [&](QMenu& menu) { fill_figures(menu, studio, figures); });
  add_named(commands, "keep-view", kGo, QStringLiteral("&Keep this view in the session…"), control(Qt::Key_D),
            [&] { keep_view(window, studio); });
  add(commands, kGo, QStringLiteral("&Any command…"), control(Qt::Key_K), [&] { show_palette(window, studio, input); });
}

void add_help_commands(CommandRegistry& commands, QWidget& window, Studio& studio,
                       const std::function<void()>& show_start) {
  add(commands, kHelp, QStringLiteral("&What this view shows"), QKeySequence(Qt::Key_F1),
      [&window, &studio] { show_view_help(&window, studio); });
  add_named(commands, "getting-started", kHelp, QStringLiteral("&Getting started"), {}, show_start);
  add(commands, kHelp, QStringLiteral("&Manual"), {},
      [&window] { show_manual_page(&window, QStringLiteral("contents")); });
  add(commands, kHelp, QStringLiteral("&Keys\t?"), {},
      [&window] { show_manual_page(&window, QStringLiteral("keys")); });
  add(commands, kHelp, QStringLiteral("&Position encodings"), {},
      [&window] { show_manual_page(&window, QStringLiteral("encodings")); });
  add(commands, kHelp, QStringLiteral("Attention is &not explanation"), {},
      [&window] { show_manual_page(&window, QStringLiteral("caution")); });
  add(commands, kHelp, QStringLiteral("&About Locus"), {}, [&window] { show_about(&window); });
}

}  // namespace locus::workbench
