// The commands of the window's menus, in groups by what they act on. Menus list them in the order in which they are
// added.
#pragma once

#include <functional>

class QMainWindow;
class QSettings;
class QWidget;

namespace locus::viewport {
class Canvas;
}

namespace locus::workbench {

class CanvasActions;
class CheckpointsDock;
class CommandRegistry;
class FileOpener;
class FiguresDock;
class HeadDock;
class InstrumentSet;
class InputDock;
class LayoutController;
class MessageBar;
class SessionController;
class Studio;
class TimelineBar;

// ---- menu File
void add_open_commands(CommandRegistry& commands, FileOpener& files);
void add_session_commands(CommandRegistry& commands, FileOpener& files, SessionController& sessions);
void add_export_commands(CommandRegistry& commands, QWidget& window, Studio& studio, QSettings& settings,
                         MessageBar& messages);
void add_program_commands(CommandRegistry& commands, QWidget& window, Studio& studio, QSettings& settings,
                          LayoutController& layout, MessageBar& messages);
// ---- menu Edit
void add_edit_commands(CommandRegistry& commands, Studio& studio, CheckpointsDock& checkpoints);
// ---- menu View
void add_view_commands(CommandRegistry& commands, QWidget& window, Studio& studio, FileOpener& files);
void add_canvas_commands(CommandRegistry& commands, viewport::Canvas& canvas, CanvasActions& actions);
void add_wipe_command(CommandRegistry& commands, Studio& studio, InstrumentSet& instruments);
void add_layout_commands(CommandRegistry& commands, QWidget& window, LayoutController& layout);
void add_arc_commands(CommandRegistry& commands, InputDock& input, QSettings& settings);
void add_card_commands(CommandRegistry& commands, HeadDock& card);
void add_timeline_commands(CommandRegistry& commands, TimelineBar& timeline, QSettings& settings);
// ---- menu Go
void add_head_commands(CommandRegistry& commands, Studio& studio, CanvasActions& actions);
void add_go_commands(CommandRegistry& commands, QMainWindow& window, Studio& studio, InputDock& input,
                     FiguresDock& figures);
// ---- menu Help
void add_help_commands(CommandRegistry& commands, QWidget& window, Studio& studio,
                       const std::function<void()>& show_start);

}  // namespace locus::workbench
