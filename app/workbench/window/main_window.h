// MainWindow: the canvas with docks around it. It creates the parts of the window and connects them.
#pragma once

#include <QMainWindow>
#include <filesystem>
#include <memory>
#include <string>

#include "app/workbench/state/studio.h"
#include "app/workbench/window/run_workbench.h"

class QSettings;
class QStackedWidget;
class QVulkanInstance;

namespace locus::viewport {
class Canvas;
}

namespace locus::workbench {

class CanvasLink;
class CheckpointsDock;
class CommandRegistry;
class EditActions;
class EditOffer;
class EffectStrip;
class FileOpener;
class FigurePictures;
class FiguresDock;
class HeadDock;
class InputDock;
class InspectorDock;
class LayoutController;
class MachineQuestions;
class MessageBar;
class OptionsBar;
class SessionController;
class StartPage;
class TimelineBar;
class ViewBar;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // Without Vulkan (null) a message takes the place of the canvas; everything else works.
  MainWindow(const WorkbenchOptions& options, QVulkanInstance* vulkan, const StudioOptions& studio);
  ~MainWindow() override;

  Studio& studio() { return *studio_; }
  viewport::Canvas* canvas() { return canvas_; }  // null without Vulkan
  // Opens a session, checkpoint, trace, text or image.
  void open_path(const std::filesystem::path& path);
  // False: the file is no session, or the user chose to keep the present one.
  bool open_session(const std::filesystem::path& path);
  // Opens the paths of the options, else the last session, else the bundled one.
  void open_first();
  QString last_message() const;
  // Closes the window without a question; the session is kept for the next start.
  void end();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_canvas(QVulkanInstance* vulkan);
  void make_centre();
  void make_docks();
  void add_commands();
  void connect_layout();
  void connect_canvas();
  void connect_docks();
  void leave_canvas(bool forward);
  void focus_canvas();
  // The page of first steps takes the place of the canvas, and gives it back.
  void show_start();
  void leave_start();
  void make_start();

  const WorkbenchOptions options_;
  bool ends_ = false;  // without a question
  std::unique_ptr<QSettings> settings_;
  std::unique_ptr<Studio> studio_;
  QStackedWidget* centre_ = nullptr;  // the canvas with its options; the start page
  StartPage* start_ = nullptr;        // made when it is first shown
  std::size_t start_depth_ = 0;       // steps for undo() when it was shown
  QWidget* canvas_holder_ = nullptr;
  viewport::Canvas* canvas_ = nullptr;  // null without Vulkan
  CanvasLink* link_ = nullptr;          // null without Vulkan
  ViewBar* view_bar_ = nullptr;
  EffectStrip* effects_ = nullptr;
  EditOffer* offer_ = nullptr;
  OptionsBar* options_bar_ = nullptr;
  TimelineBar* timeline_ = nullptr;
  FiguresDock* figures_ = nullptr;
  CheckpointsDock* checkpoints_ = nullptr;
  InputDock* input_ = nullptr;
  InspectorDock* inspector_ = nullptr;
  HeadDock* head_ = nullptr;
  bool card_waits_ = false;  // until not everything is hidden
  MessageBar* messages_ = nullptr;
  std::unique_ptr<FigurePictures> pictures_;
  std::unique_ptr<SessionController> sessions_;
  std::unique_ptr<MachineQuestions> machines_;
  std::unique_ptr<FileOpener> files_;
  std::unique_ptr<LayoutController> layout_;
  std::unique_ptr<EditActions> edits_;
  std::unique_ptr<CommandRegistry> commands_;
};

}  // namespace locus::workbench
