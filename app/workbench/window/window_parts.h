// What the main window is made of, for the objects that work on several parts of it.
#pragma once

class QMainWindow;
class QSettings;
class QWidget;

namespace locus::viewport {
class Canvas;
}

namespace locus::workbench {

class CanvasLink;
class CheckpointsDock;
class CommandRegistry;
class EditActions;
class FileOpener;
class FiguresDock;
class InputDock;
class InspectorDock;
class LayoutController;
class MessageBar;
class OptionsBar;
class SessionController;
class Studio;
class ViewBar;

// Pointers are filled in as the parts are made; the window owns all of them.
struct WindowParts {
  QMainWindow* window = nullptr;
  QSettings* settings = nullptr;
  Studio* studio = nullptr;
  QWidget* canvas_holder = nullptr;
  viewport::Canvas* canvas = nullptr;  // null without Vulkan
  CanvasLink* link = nullptr;          // null without Vulkan
  ViewBar* view_bar = nullptr;
  OptionsBar* options_bar = nullptr;
  FiguresDock* figures = nullptr;
  CheckpointsDock* checkpoints = nullptr;
  InputDock* input = nullptr;
  InspectorDock* inspector = nullptr;
  MessageBar* messages = nullptr;
  SessionController* sessions = nullptr;
  FileOpener* files = nullptr;
  LayoutController* layout = nullptr;
  EditActions* edits = nullptr;
  CommandRegistry* commands = nullptr;
};

}  // namespace locus::workbench
