// The card of one head: a small map of it on the present text, its measurements, what it reads most, and on request the
// effect of removing it and the heads that are most like it in the open checkpoints. It follows the chosen head while it
// is shown; slow parts run on the worker, with their progress and Cancel in the status bar.
#pragma once

#include <QDockWidget>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/workbench/state/studio.h"
#include "app/workbench/work/head_card.h"
#include "app/workbench/work/head_likeness.h"

class QGridLayout;
class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace locus::workbench {

class ShareBar;

class HeadDock : public QDockWidget {
  Q_OBJECT

 public:
  HeadDock(Studio& studio, QWidget* parent);

  // Chooses the column whose head it is about.
  void set_column(std::size_t column);
  // Shows the card of the chosen head, before the panels that share its place.
  void show_card();
  bool is_seen() const { return seen_; }
  // The head that the card is about; empty: none is chosen.
  std::optional<views::HeadRef> head() const;

 Q_SIGNALS:
  // Asks for the command line that draws the map of the column's head.
  void copy_requested(std::size_t column, const locus::views::HeadRef& head);
  void left();  // Esc: the card is closed, and the keyboard goes to the canvas

 protected:
  bool event(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  // What the card is about; a change of it forgets what was measured.
  struct About {
    std::weak_ptr<const models::Trace> trace;
    std::string name;
    views::HeadRef head;
  };
  struct NumberRow {
    QLabel* name = nullptr;
    ShareBar* bar = nullptr;
    QLabel* text = nullptr;
  };
  QWidget* make_body();
  NumberRow add_row(QGridLayout& grid, const char* object_name, const QString& name);
  static void set_row(const NumberRow& row, double share, const QString& text);

  void follow();
  // The column of the card alone, with its head; without columns: none is chosen.
  views::ViewInput own_input() const;
  HeadRun own_run(const views::Column& column) const;
  void ask_card(const views::ViewInput& input);
  void ask_shares(const views::ViewInput& input);
  void ask_effect();
  void ask_alike();
  void drop_all();
  void show_numbers();
  void show_map();
  void show_reads(const Result<HeadCard>& card);
  void show_shares(const Result<PlaceAndWord>& shares);
  void show_effect(const Result<HeadEffect>& effect);
  void show_alike(const Result<std::vector<LikeHeads>>& alike);
  void go_to(const QTreeWidgetItem& item);
  void open_map();

  Studio& studio_;
  std::size_t column_ = 0;
  bool seen_ = false;  // shown, and not behind another panel
  std::optional<About> about_;
  std::optional<Field> map_;
  QLabel* title_ = nullptr;
  QLabel* picture_ = nullptr;
  QLabel* missing_ = nullptr;  // why there are no numbers
  QWidget* content_ = nullptr;
  std::vector<NumberRow> numbers_;  // previous, first, induction, distance
  std::vector<NumberRow> shares_;   // place, word, both
  QLabel* shares_said_ = nullptr;
  std::vector<NumberRow> reads_;
  QLabel* reads_said_ = nullptr;
  QLabel* keys_ = nullptr;  // its sink, and the heads with the same key head
  QLabel* pairs_ = nullptr;
  QPushButton* measure_ = nullptr;
  QLabel* effect_ = nullptr;
  QPushButton* find_ = nullptr;
  QLabel* alike_said_ = nullptr;
  QTreeWidget* alike_ = nullptr;
};

}  // namespace locus::workbench
