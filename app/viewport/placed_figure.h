// PlacedFigure: the figure of the canvas with the camera applied, its layout in device pixels, and the two texts that
// share the canvas with it: the statement at the upper left and the caption in a margin.
#pragma once

#include <QSize>
#include <cstdint>
#include <optional>
#include <string>

#include "app/viewport/canvas_content.h"
#include "app/viewport/canvas_room.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/layout.h"
#include "renderers/text/typeface.h"

namespace locus::viewport {

class PlacedFigure {
 public:
  // Takes the figure, the camera and the caption. The layout is out of date until the next update().
  void show(const CanvasContent& content);
  void set_camera(const views::Camera& camera);
  void mark_stale() { stale_ = true; }
  // Computes the layout for a canvas of that size (device pixels) if figure, size or statement have changed.
  void update(const QSize& size, const figure::Style& style, const std::string& statement);

  // As it is seen through the camera; null: there is none.
  const figure::Figure* figure() const { return has_figure_ ? &figure_ : nullptr; }
  // Null before the first update().
  const figure::Layout* layout() const { return layout_ ? &*layout_ : nullptr; }
  // Whether layout() belongs to figure() as it is now.
  bool is_current() const { return layout_ && !stale_; }
  // Increases with every new layout.
  std::uint64_t layout_id() const { return layout_id_; }

  // `point` in device pixels. Until the next update() the layout is that of the previous figure: panels that the
  // present figure does not have are never hit.
  std::optional<figure::Hit> hit_at(const figure::Point& point) const;
  const figure::PanelLayout* panel_at(const figure::Point& point) const;
  bool shows_text(std::size_t panel) const;

  // Null: not shown. Statement: `below` is set if the figure was moved down to make room for it.
  const PlacedCaption* statement() const { return statement_ ? &*statement_ : nullptr; }
  const PlacedCaption* caption() const { return caption_ ? &*caption_ : nullptr; }
  const std::string& statement_text() const { return statement_text_; }
  const text::Typeface& typeface() const { return typeface_; }

 private:
  void lay_out(double width, double height, const figure::Style& style);
  double place_statement(double width, double height, const figure::Style& style);
  double lay_out_below_statement(double width, double height, const figure::Style& style);
  bool is_free(const PlacedCaption& line) const;
  void place_caption(double width, double height, const figure::Style& style);

  figure::Figure figure_;
  bool has_figure_ = false;
  std::string caption_text_;
  std::string statement_text_;
  std::optional<figure::Layout> layout_;
  bool stale_ = true;
  std::uint64_t layout_id_ = 0;
  QSize size_;  // of the canvas, at the last layout
  std::optional<PlacedCaption> caption_;
  std::optional<PlacedCaption> statement_;
  text::Typeface typeface_;
};

}  // namespace locus::viewport
