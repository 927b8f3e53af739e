// The input: a text editor whose text runs while it is typed, with the tokens below it, or an image.
#pragma once

#include <QDockWidget>
#include <filesystem>
#include <string_view>
#include <vector>

#include "app/workbench/state/studio.h"

class QLabel;
class QMenu;
class QSplitter;
class QStackedWidget;

namespace locus::workbench {

class ArcLink;
class ExactEditor;
class FindField;
class IdsInput;
class IdsPanel;
class PatchPicture;
class RulerLink;
class TokenStrip;

class InputDock : public QDockWidget {
  Q_OBJECT

 public:
  InputDock(Studio& studio, const std::filesystem::path& samples, QWidget* parent);

  // Opens a text file; `any`: even if it does not look like text. False: it cannot be read, and failed() has the
  // reason.
  bool open_text(const std::filesystem::path& path, bool any = false);
  void open_image(const std::filesystem::path& path);
  void open_video(const std::filesystem::path& path);
  ExactEditor& editor() { return *editor_; }
  // Shows the text, or the ids, and gives them the keyboard.
  void give_keyboard();
  // Height of the panel, including its title, with room for one line of text and a row of tokens, or for four lines.
  int least_height() const;
  int usual_height() const;
  // The field that finds a text, a token or a cell.
  FindField& find() { return *find_; }
  // Chooses the column whose tokens are shown.
  void set_column(std::size_t column);
  IdsInput& ids() { return *ids_input_; }
  ArcLink& arcs() { return *arcs_; }

 Q_SIGNALS:
  void failed(const QString& message);
  void no_text(const QString& path);  // after failed(): open_text() with `any` opens it
  void left_editor();                 // Esc: the keyboard goes to the canvas

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  // Puts a placeholder at the caret of the ids, and the file among those of its placeholders.
  void insert_into_ids(const std::filesystem::path& path, bool video,
                       std::vector<std::filesystem::path> models::Input::*files);
  // Puts the mark at the caret of the text, and the file among those of its marks; or into the ids.
  void insert_file(const std::filesystem::path& path, std::string_view mark,
                   std::vector<std::filesystem::path> models::Input::*files);
  void open(const std::filesystem::path& path);
  void show_input();
  void show_page(QWidget* page);
  void show_tokens();
  void say_what_is_read();
  void show_beyond(const std::shared_ptr<const models::Trace>& trace);
  void choose_file();
  void pin(std::int64_t token);  // a token of the strip as the query; −1: none
  views::Token known(std::int64_t token) const;
  std::int64_t own(const views::Token& token) const;
  std::int64_t own_key(const views::Token& key) const;
  void show_menu(std::int64_t token, const QPoint& at);
  void show_pointed();  // and pinned tokens, in the strip and in the text
  void add_sample(QMenu& menu, const std::filesystem::path& file);
  QWidget* make_bar(const std::filesystem::path& samples);
  void make_room(bool ruler);
  void share_room();

  Studio& studio_;
  ExactEditor* editor_ = nullptr;
  QSplitter* splitter_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  PatchPicture* picture_ = nullptr;
  IdsPanel* ids_ = nullptr;
  IdsInput* ids_input_ = nullptr;
  QLabel* count_ = nullptr;
  FindField* find_ = nullptr;
  TokenStrip* strip_ = nullptr;
  RulerLink* ruler_ = nullptr;
  ArcLink* arcs_ = nullptr;
  std::size_t column_ = 0;
  bool filling_ = false;
  bool shared_by_hand_ = false;  // the user has moved the splitter
  int before_ruler_ = 0;         // height of the panel before the ruler was shown
};

}  // namespace locus::workbench
