// The input: a text editor that runs the model as one types, with the tokens beneath it, or an image.
#pragma once

#include <QDockWidget>
#include <filesystem>

#include "app/workbench/state/studio.h"

class QLabel;
class QLayout;
class QSplitter;
class QStackedWidget;

namespace locus::workbench {

class ExactEditor;
class FindField;
class IdsPanel;
class PatchPicture;
class RulerLink;
class TokenStrip;

class InputDock : public QDockWidget {
  Q_OBJECT

 public:
  InputDock(Studio& studio, const std::filesystem::path& samples, QWidget* parent);

  // False when it cannot be read; failed() says why.
  bool open_text(const std::filesystem::path& path, bool any = false);
  void open_image(const std::filesystem::path& path);
  ExactEditor& editor() { return *editor_; }
  // The panel's height, its title included, with room for a line of text above a row of tokens, and for four lines.
  int least_height() const;
  int usual_height() const;
  // The field for a text to find, a token or a cell to go to.
  FindField& find() { return *find_; }
  // The column whose tokens are shown.
  void set_column(std::size_t column);
  // The input as ids, those of the text so far, with the keyboard in their editor.
  void type_ids();
  // The ids that a folder's tokenizer makes of the text typed last. What it lacks is said by failed().
  void borrow_from(const std::filesystem::path& folder);

 Q_SIGNALS:
  void failed(const QString& message);
  void no_text(const QString& path);  // after failed(): its bytes can be read all the same
  void left_editor();                 // Esc: the canvas takes the keyboard

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void open(const std::filesystem::path& path);
  void show_input();
  void show_page(QWidget* page);
  void show_tokens();
  void show_beyond(const std::shared_ptr<const models::Trace>& trace);
  void choose_file();
  void pin(std::int64_t token);  // of the strip, as the query; −1: none
  views::Token known(std::int64_t token) const;
  std::int64_t own(const views::Token& token) const;
  std::int64_t own_key(const views::Token& key) const;
  void show_menu(std::int64_t token, const QPoint& at);
  void show_pointed();  // and what is pinned: in the strip and in the text
  void add_ids_button(QLayout& layout, QWidget* bar);
  void connect_ids();
  void fill_lenders();
  void borrow(const Checkpoint& lender);
  template <class Tokens>
  void take_ids(const Result<Tokens>& tokens);
  QWidget* make_bar(const std::filesystem::path& samples);
  void make_room(bool ruler);
  void share_room();

  Studio& studio_;
  ExactEditor* editor_ = nullptr;
  QSplitter* splitter_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  PatchPicture* picture_ = nullptr;
  IdsPanel* ids_ = nullptr;
  QLabel* count_ = nullptr;
  FindField* find_ = nullptr;
  TokenStrip* strip_ = nullptr;
  RulerLink* ruler_ = nullptr;
  std::size_t column_ = 0;
  bool filling_ = false;
  bool shared_by_hand_ = false;  // the splitter has been moved
  int before_ruler_ = 0;         // the panel's height
};

}  // namespace locus::workbench
