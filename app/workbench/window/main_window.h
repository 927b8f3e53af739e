// The main window: docks around the canvas, menus, status bar, settings.
#pragma once

#include <QList>
#include <QMainWindow>
#include <QTimer>
#include <array>
#include <filesystem>
#include <memory>

#include "app/workbench/studio/journal.h"
#include "app/workbench/studio/studio.h"
#include "app/workbench/window/run_workbench.h"

class QDialog;
class QDockWidget;
class QLabel;
class QMenu;
class QProgressBar;
class QPushButton;
class QSettings;
class QVulkanInstance;

namespace locus::viewport {
class Canvas;
}

namespace locus::workbench {

class CanvasLink;
struct CanvasBox;
struct CanvasPlace;
class CheckpointsDock;
class FiguresDock;
class InputDock;
class InspectorDock;
class OptionsBar;
class ViewBar;
struct Command;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // `vulkan` may be null: the canvas then says why, and everything else works.
  MainWindow(const WorkbenchOptions& options, QVulkanInstance* vulkan, const StudioOptions& studio);
  ~MainWindow() override;

  Studio& studio() { return *studio_; }
  viewport::Canvas* canvas() { return canvas_; }  // null without Vulkan
  // Opens whatever the path is: session, checkpoint, trace, text or image.
  void open_path(const std::filesystem::path& path);
  // False: it is none, or the user keeps the session that is there.
  bool open_session(const std::filesystem::path& path);
  // Says where a checkpoint of the session that was not found is now; those that lie beside it are found too.
  void relocate(const std::filesystem::path& from, const std::filesystem::path& to);
  // The paths of the options, or the last session, or the bundled one.
  void open_first();
  QString last_message() const { return last_message_; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  static constexpr const char* kLastSession = "last.locus.json";

  void make_canvas(QVulkanInstance* vulkan);
  void set_centre();
  void leave_canvas(bool forward);
  void make_docks();
  void make_status();
  void make_menus();
  void make_file_menu();
  void make_export_menu(QMenu* menu);
  void make_view_menu();
  void make_go_menu();
  void make_help_menu();
  QAction* add_action(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run);
  // Everything that can be done now: entries of the menus, places to go to, options of the view.
  std::vector<Command> commands();
  void add_place_commands(std::vector<Command>& list);
  void add_option_commands(std::vector<Command>& list);
  void add_state_commands(std::vector<Command>& list);
  bool can_be_set(const std::string& field) const;
  bool can_be_shown(models::Quantity quantity) const;
  void show_palette();
  void show_canvas_menu(const CanvasPlace& place, const QPoint& at);
  void add_views_menu(QMenu& menu, const views::Selection& there);
  void fill_recent();
  void fill_bookmarks();
  void fill_views();
  void remember(const std::filesystem::path& path);
  void ask_open();
  void ask_open_folder();
  void ask_session();
  void ask_hub();
  void ask_own_text(int id);
  void ask_what_if(int id);
  void ask_edits(int id);
  // One more column: that one with this edit after its own.
  void open_edited(int id, const std::string& edit);
  // The cells of the rectangle see each other no more.
  void cut_edges(const CanvasBox& box);
  void add_edits_menu(QMenu& menu, const views::Selection& there, std::size_t column);
  void show_welcome();
  bool save_session();     // false: nothing was saved
  bool save_session_as();  // asks for the file
  bool save_session_to(const std::filesystem::path& path);
  void new_session();
  // Whether another session may take the place of this one: changes of a file are asked for, everything is kept as an
  // earlier state.
  bool may_replace();
  bool may_close();
  bool ask_changes();
  Answer ask(const std::string& question, bool can_save);
  bool keep_last_session();
  void keep_journal();
  void offer_recovery();
  void return_to(const std::filesystem::path& state);
  void fill_states();
  void show_title();
  void remember_opened();
  void keep_view();
  void ask_missing();
  void set_theme(bool dark);
  void set_ui_hidden(bool hidden);
  void show_captions();
  QList<QDockWidget*> docks() const;
  void add_layouts(QMenu* menu);  // panels, each with its key, and layouts of them
  void set_layout(std::size_t preset);
  void reset_layout();
  void place_docks();
  void size_docks();
  void fit_into_screen();
  void keep_layout();
  void set_scale(double scale);
  std::array<int, 3> panel_sizes() const;  // the widths of the left and the right panels, the height of the lower one
  void scale_panels();
  void note_panel(const QObject* object);  // its size has changed
  void restore_panels();
  void show_at_start(QDialog* dialog);
  void say_written(const Result<std::vector<std::filesystem::path>>& files);
  void ask_export_all();
  // What a figure or its recipe shows, as a step that undo() takes back. False: the file says nothing of it.
  bool open_figure(const std::filesystem::path& path);
  void choose_preferences();
  void show_work();
  void say(const QString& message, bool failure = false);
  void say_cancelled();
  bool holds(const QString& failure) const;
  void drop_failure();
  // A button beside what was just said, that does something about it.
  void offer(const QString& words, std::function<void()> help);
  bool trigger_shortcut(const QKeyEvent& event);
  void restore_layout();
  QString folder() const;
  std::filesystem::path config_file(const char* name) const;

  const WorkbenchOptions options_;
  std::filesystem::path config_dir_;
  std::unique_ptr<QSettings> settings_;
  std::unique_ptr<Studio> studio_;
  viewport::Canvas* canvas_ = nullptr;
  QWidget* canvas_holder_ = nullptr;
  OptionsBar* options_bar_ = nullptr;
  CanvasLink* link_ = nullptr;
  ViewBar* view_bar_ = nullptr;
  CheckpointsDock* checkpoints_ = nullptr;
  FiguresDock* figures_ = nullptr;
  InputDock* input_ = nullptr;
  InspectorDock* inspector_ = nullptr;
  QMenu* recent_menu_ = nullptr;
  QMenu* states_menu_ = nullptr;
  QMenu* go_menu_ = nullptr;
  QMenu* bookmarks_menu_ = nullptr;
  QList<QAction*> view_actions_;  // one a view
  QAction* undo_ = nullptr;
  QAction* redo_ = nullptr;
  QAction* dark_action_ = nullptr;
  QAction* captions_action_ = nullptr;
  QAction* hide_action_ = nullptr;
  QLabel* latency_ = nullptr;
  QLabel* memory_ = nullptr;
  QLabel* device_ = nullptr;
  QLabel* work_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QPushButton* help_ = nullptr;  // see offer()
  QTimer work_timer_;
  QString last_message_;
  QString failure_;       // of a checkpoint, while it stands in the status bar
  QStringList messages_;  // the last of this session
  std::unique_ptr<Journal> journal_;
  QTimer journal_timer_;
  std::vector<std::filesystem::path> opening_;  // asked for by the user; recent once they have opened
  bool dark_ = false;
  double scale_ = 1;
  std::array<double, 3> panels_{};      // as panel_sizes(), of text of scale 1
  std::array<int, 3> scaled_panels_{};  // what they were made by the last scale_panels()
  std::array<int, 3> chosen_panels_{};  // as panel_sizes(), while the window has had its size
  QSize settled_;                       // that size
  bool ui_hidden_ = false;
  QList<QDockWidget*> hidden_docks_;  // with the UI: they come back with it
};

}  // namespace locus::workbench
