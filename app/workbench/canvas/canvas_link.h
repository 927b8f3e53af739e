// CanvasLink: what the Studio knows, put on the Canvas; what is done to the Canvas, told to the Studio. Keys of the
// canvas (assets/manual/keys.md) are here.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <optional>

#include "app/viewport/canvas.h"
#include "app/views/shared/plots/read_out.h"
#include "app/workbench/canvas/instruments/instrument_set.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

// Cells of a map between two corners.
struct CanvasBox {
  views::Selection from;
  views::Selection to;
};

// What a menu on the canvas is about.
struct CanvasPlace {
  views::Selection selection;
  std::optional<float> value;  // that the figure shows there
};

class CanvasLink : public QObject {
  Q_OBJECT

 public:
  CanvasLink(Studio& studio, viewport::Canvas& canvas);

  void set_dark(bool dark);
  void set_scale(double scale);
  void set_captions(bool shown);     // a line beside the figure that says what it shows
  void set_instruments(bool shown);  // else the figure stands alone
  InstrumentSet& instruments() { return instruments_; }
  std::size_t column() const { return column_; }
  void set_column(std::size_t column);

  // What keys and menus share.
  void move_layer(int by);  // of the chosen column alone, where that is unlinked
  void move_head(int by);
  // The chosen column shows a layer and head of its own, or follows the others again.
  void toggle_unlinked();
  void fit();
  void reset();
  void normalise_range();
  void unpin();
  void refresh();

 Q_SIGNALS:
  void column_changed(std::size_t column);
  void help_requested();
  void menu_requested(const locus::workbench::CanvasPlace& place, const QPoint& global);
  // A rectangle of cells was pulled with Ctrl held.
  void box_chosen(const locus::workbench::CanvasBox& box);
  // The edit that the chosen cell of that column stands for is to be a column.
  void edit_chosen(std::size_t column, const locus::models::Edit& edit);
  void tab_pressed(bool forward);     // to the next control of the window
  void key_unused(QKeyEvent* event);  // not a canvas key: perhaps a shortcut of the window

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void hover(const figure::Hit& hit);
  void inspect(const views::ViewInput& input);
  void leave();
  void click(const figure::Hit& hit);
  void drag(const figure::Hit& from, const figure::Hit& to);
  void lasso(const std::vector<figure::Hit>& loop, bool add);
  void box(const figure::Hit& from, const figure::Hit& to, bool finished);
  void choose(const views::Selection& picked);
  // At a place of the figure; without one, of the pinned cell.
  void ask_menu(const std::optional<figure::Hit>& hit, const QPoint& global);
  void press(QKeyEvent* event);
  void press_unused(QKeyEvent* event);
  void release(QKeyEvent* event);
  bool press_plain(int key);
  bool press_in_list(int key);
  bool press_edit(int key);
  std::optional<views::HeadRef> own_head() const;
  void change_moving(const session::ViewState& state);
  void set_camera(const views::Camera& camera);
  void set_flicker(bool on);
  void follow_column();
  std::string message() const;
  std::string note() const;
  std::string work() const;  // what is done, and how long it takes
  // Another figure is to take the place of the one that is shown.
  bool is_stale() const;
  // Whether points of the figure that is shown are places of the columns as they are.
  bool can_point() const;
  std::vector<viewport::Outline> outlines(const views::ViewInput& input) const;
  std::vector<std::string> tooltip(const views::ViewInput& input) const;
  // What the head under the pointer does.
  std::vector<viewport::Bar> bars(const views::ViewInput& input) const;
  // The scheduler's figure under what is chosen of it, with room for profiles.
  std::shared_ptr<const figure::Figure> chosen_figure();
  std::shared_ptr<const figure::Figure> shown_figure();
  std::optional<views::ReadOut> read_under_pointer() const;
  std::optional<float> value_under_pointer() const;
  struct PointedTokens {
    std::optional<views::Token> asked_query;
    std::optional<views::Token> asked_key;
    std::int64_t query = views::kNone;
    std::int64_t key = views::kNone;
  };
  PointedTokens pointed_tokens(const views::ViewInput& input, const views::Column& column) const;
  void say_heads(const views::ViewInput& input, const models::Trace& trace, std::vector<std::string>& lines) const;
  void say_scores(const views::ViewInput& input, const PointedTokens& at, std::optional<models::Quantity> drawn,
                  std::vector<std::string>& lines) const;
  std::optional<std::size_t> reference_panel(std::size_t panel) const;
  static views::ViewInput reference_alone(const views::ViewInput& input);
  views::Selection pick(const views::ViewInput& input, const figure::Hit& hit) const;
  void state_figure(const views::ViewInput& input);

  Studio& studio_;
  viewport::Canvas& canvas_;
  InstrumentSet instruments_;
  struct Chosen {
    std::shared_ptr<const figure::Figure> of;
    session::PlotChoices plots;
    bool room = false;
    std::shared_ptr<const figure::Figure> figure;
  };
  Chosen chosen_;
  std::shared_ptr<const figure::Figure> stated_of_;
  bool stated_measured_ = false;
  std::string stated_;                           // of that figure
  std::shared_ptr<const figure::Figure> drawn_;  // as the canvas shows it
  std::optional<figure::Hit> hover_hit_;
  views::Selection hover_;
  std::optional<CanvasBox> box_;  // that is being pulled
  std::size_t column_ = 0;
  int column_id_ = 0;  // of its checkpoint, with which it goes
  bool flicker_ = false;
  QTimer moving_;  // runs while the camera moves
  // Since when the figure is stale, however many runs that takes; after a while it is dimmed.
  QElapsedTimer stale_;
  QTimer patience_;
  bool late_ = false;
  bool dark_ = false;
  double scale_ = 1;
  bool captions_ = true;
};

}  // namespace locus::workbench
