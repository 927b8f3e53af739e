// CanvasTooltip: the tooltip of the place under the pointer: the number that is drawn there, by its name; then head and
// tokens; then, small, other scores; and the measured head as bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/viewport/canvas_content.h"
#include "app/workbench/canvas/canvas_figure.h"
#include "app/workbench/canvas/canvas_pointer.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class CanvasTooltip {
 public:
  CanvasTooltip(Studio& studio, CanvasFigure& figure, const CanvasPointer& pointer)
      : studio_(studio), figure_(figure), pointer_(pointer) {}

  // Both are empty while the pointer is not on the figure. `input` has at least one column.
  viewport::Tooltip text(const views::ViewInput& input) const;
  // Starts the measurement of the head if it has not been measured.
  std::vector<viewport::Bar> bars(const views::ViewInput& input) const;

 private:
  struct PointedTokens {
    std::optional<views::Token> asked_query;
    std::optional<views::Token> asked_key;
    std::int64_t query = views::kNone;  // index in the column under the pointer
    std::int64_t key = views::kNone;
  };
  PointedTokens pointed_tokens(const views::ViewInput& input, const views::Column& column) const;
  static void add_tokens(const models::Trace& trace, const PointedTokens& at, std::vector<std::string>& lines);
  void add_heads(const views::ViewInput& input, const models::Trace& trace, std::vector<std::string>& lines) const;
  void add_scores(const views::ViewInput& input, const PointedTokens& at, std::optional<models::Quantity> drawn,
                  std::vector<std::string>& lines) const;

  Studio& studio_;
  CanvasFigure& figure_;
  const CanvasPointer& pointer_;
};

}  // namespace locus::workbench
