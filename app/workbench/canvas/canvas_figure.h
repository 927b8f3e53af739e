// CanvasFigure: the scheduler's figure as the canvas shows it, with the user's choices of plots, room for the profiles,
// and the reference in every column while Shift is held.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/plots/read_out.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class CanvasFigure {
 public:
  explicit CanvasFigure(Studio& studio) : studio_(studio) {}

  // Null: there is none.
  std::shared_ptr<const figure::Figure> shown();
  // Whether maps leave room above and to their right.
  void set_room(bool room) { room_ = room; }
  // The title of this column has a mark, where there are several.
  void mark_column(std::size_t column) { column_ = column; }
  // Every column shows the reference instead: the difference is what moves.
  void set_shows_reference(bool on) { shows_reference_ = on; }
  bool shows_reference() const { return shows_reference_; }

  // From this place on, as the camera counts, maps show the reference's cells; empty: nowhere.
  void set_wipe(const std::optional<double>& at) { wipe_ = at; }

  // Whether a newer figure is being made, or the runs for it.
  bool is_stale() const;
  // Whether points of the figure are places of the present columns.
  bool can_point() const;
  // The selection at a point of the figure, as its view defines it.
  views::Selection pick(const views::ViewInput& input, const figure::Hit& hit) const;
  // The value under the pointer, independent of the colour scale; empty: no data there.
  std::optional<views::ReadOut> read(const figure::Hit& hit);
  // The panel shown in place of this one: its column shows the reference. Empty: it shows itself.
  std::optional<std::size_t> reference_panel(std::size_t panel) const;
  // The same for a point of the figure, which may be beyond the wipe.
  std::optional<std::size_t> reference_at(const figure::Hit& hit) const;
  // The same input with the reference in every column.
  static views::ViewInput with_reference_only(const views::ViewInput& input);

  // One sentence about the figure. `input` has at least one column.
  const std::string& statement(const views::ViewInput& input);

 private:
  std::shared_ptr<const figure::Figure> chosen();
  std::shared_ptr<const figure::Figure> marked(const std::shared_ptr<const figure::Figure>& made);
  std::shared_ptr<const figure::Figure> with_wipe(const std::shared_ptr<const figure::Figure>& made);
  // The panel of the reference in the row of this one; empty: it is that, or has none.
  std::optional<std::size_t> beside(const figure::Figure& made, std::size_t panel) const;
  // The column that a panel shows; empty: a difference, or several.
  std::optional<std::size_t> column_of(const figure::Figure& made, std::size_t panel) const;

  Studio& studio_;
  bool room_ = false;
  std::size_t column_ = 0;
  bool shows_reference_ = false;
  std::optional<double> wipe_;
  struct Chosen {
    std::shared_ptr<const figure::Figure> of;  // the scheduler's
    session::PlotChoices plots;
    bool room = false;
    std::shared_ptr<const figure::Figure> figure;
  };
  Chosen chosen_;
  struct Marked {
    std::shared_ptr<const figure::Figure> of;
    std::size_t column = 0;
    std::shared_ptr<const figure::Figure> figure;
  };
  Marked marked_;
  struct Wiped {
    std::shared_ptr<const figure::Figure> of;
    std::vector<double> edges;  // of its panels, NaN for those without
    std::shared_ptr<const figure::Figure> figure;
  };
  Wiped wiped_;
  struct Statement {
    std::shared_ptr<const figure::Figure> of;
    std::int64_t measured = 0;  // layers of the columns' heads
    std::string text;
  };
  Statement statement_;
};

}  // namespace locus::workbench
