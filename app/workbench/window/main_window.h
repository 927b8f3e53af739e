// MainWindow: the canvas with docks around it. It makes the parts of the window and connects them; what they do is
// theirs: see window_parts.h.
#pragma once

#include <QMainWindow>
#include <filesystem>
#include <memory>
#include <string>

#include "app/workbench/state/studio.h"
#include "app/workbench/window/run_workbench.h"
#include "app/workbench/window/window_parts.h"

class QSettings;
class QVulkanInstance;

namespace locus::workbench {

class MachineQuestions;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // `vulkan` may be null: the canvas then says why, and everything else works.
  MainWindow(const WorkbenchOptions& options, QVulkanInstance* vulkan, const StudioOptions& studio);
  ~MainWindow() override;

  Studio& studio() { return *studio_; }
  viewport::Canvas* canvas() { return parts_.canvas; }  // null without Vulkan
  // Opens whatever the path is: session, checkpoint, trace, text or image.
  void open_path(const std::filesystem::path& path);
  // False: it is none, or the user keeps the session that is there.
  bool open_session(const std::filesystem::path& path);
  // The paths of the options, or the last session, or the bundled one.
  void open_first();
  QString last_message() const;

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
  void connect_canvas();
  void connect_docks();
  void leave_canvas(bool forward);

  const WorkbenchOptions options_;
  std::unique_ptr<QSettings> settings_;
  std::unique_ptr<Studio> studio_;
  WindowParts parts_;
  std::unique_ptr<SessionController> sessions_;
  std::unique_ptr<MachineQuestions> machines_;
  std::unique_ptr<FileOpener> files_;
  std::unique_ptr<LayoutController> layout_;
  std::unique_ptr<EditActions> edits_;
  std::unique_ptr<CommandRegistry> commands_;
};

}  // namespace locus::workbench
