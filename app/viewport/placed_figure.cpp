#include "app/viewport/placed_figure.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace locus::viewport {

namespace {

constexpr double kCaptionText = 0.95;       // of the figure's text size
constexpr double kStatementGap = 3;         // in heights of its text
constexpr double kLargestStatement = 0.06;  // share of the canvas's height the figure gives up for the statement
constexpr double kLargestCaption = 0.25;    // share of the canvas's height the figure gives up for the caption

void follow(const views::Camera& camera, figure::Panel& panel) {
  if (panel.follows_camera) {
    panel.x.view = figure::from_camera(panel.x, camera.x);
    panel.y.view = figure::from_camera(panel.y, camera.y);
  }
}

}  // namespace

void PlacedFigure::show(const CanvasContent& content) {
  has_figure_ = content.figure != nullptr;
  figure_ = has_figure_ ? *content.figure : figure::Figure{};
  caption_text_ = content.caption;
  stale_ = true;
  if (content.home) {
    set_camera(content.camera.value_or(*content.home));
  }
}

void PlacedFigure::set_camera(const views::Camera& camera) {
  for (figure::Panel& panel : figure_.panels) {
    follow(camera, panel);
  }
  stale_ = true;
}

void PlacedFigure::update(const QSize& size, const figure::Style& style, const std::string& statement) {
  if (layout_ && !stale_ && size_ == size && statement_text_ == statement) {
    return;
  }
  statement_text_ = statement;
  lay_out(size.width(), size.height(), style);
  size_ = size;
  stale_ = false;
}

std::optional<figure::Hit> PlacedFigure::hit_at(const figure::Point& point) const {
  const auto hit = layout_ && has_figure_ ? figure::hit_test(*layout_, point.x, point.y) : std::nullopt;
  return hit && hit->panel < figure_.panels.size() ? hit : std::nullopt;
}

const figure::PanelLayout* PlacedFigure::panel_at(const figure::Point& point) const {
  const auto hit = hit_at(point);
  return hit ? &layout_->panels[hit->panel] : nullptr;
}

bool PlacedFigure::shows_text(std::size_t panel) const {
  return std::ranges::any_of(figure_.panels[panel].layers, [](const figure::Layer& layer) {
    return std::holds_alternative<figure::TokenStrip>(layer);
  });
}

void PlacedFigure::lay_out(double width, double height, const figure::Style& style) {
  ++layout_id_;
  layout_ = figure::lay_out(figure_, width, height, style, typeface_);
  caption_.reset();
  statement_.reset();
  if (!has_figure_) {
    return;
  }
  double line = statement_text_.empty() ? 0 : place_statement(width, height, style);
  place_caption(width, height - line, style);
  if (statement_ && line == 0 && !is_free(*statement_)) {  // the caption has moved the figure under it
    line = lay_out_below_statement(width, height, style);
    caption_.reset();
    place_caption(width, height - line, style);
  }
  if (line > 0) {
    *layout_ = moved_down(*std::move(layout_), line);
    if (caption_ && caption_->below) {
      caption_->area.y += line;
    }
  }
}

// The statement stands beside the figure's own texts where there is room. Otherwise the figure is laid out lower; the
// result is by how much. Large text on a small canvas has no statement.
double PlacedFigure::place_statement(double width, double height, const figure::Style& style) {
  statement_ = statement_above(statement_text_, kCaptionText * style.text_size, width, typeface_);
  return is_free(*statement_) ? 0 : lay_out_below_statement(width, height, style);
}

// Whether nothing of the figure lies where the line stands. A gap keeps it apart from a title on the same line.
bool PlacedFigure::is_free(const PlacedCaption& line) const {
  const figure::Rect needed{line.area.x, line.area.y, line.area.width + kStatementGap * line.size, line.area.height};
  return std::ranges::none_of(drawn_places(*layout_, typeface_),
                              [&](const figure::Rect& each) { return !needed.intersected(each).empty(); });
}

// The room that the statement takes from the figure's height; without the statement 0, where that is too much.
double PlacedFigure::lay_out_below_statement(double width, double height, const figure::Style& style) {
  const double room = std::ceil(statement_->area.bottom());
  if (room > kLargestStatement * height) {
    statement_.reset();
    return 0;
  }
  statement_->below = true;
  layout_ = figure::lay_out(figure_, width, std::max(height - room, 1.0), style, typeface_);
  return room;
}

void PlacedFigure::place_caption(double width, double height, const figure::Style& style) {
  if (caption_text_.empty()) {
    return;
  }
  const double size = kCaptionText * style.text_size;
  caption_ = caption_in_margins(caption_text_, size, *layout_, typeface_, statement_ ? statement_->area.bottom() : 0);
  if (caption_) {
    return;
  }
  PlacedCaption below = caption_below(caption_text_, size, width, height, typeface_);
  if (below.area.height <= kLargestCaption * height) {
    layout_ = figure::lay_out(figure_, width, below.area.y, style, typeface_);
    caption_ = std::move(below);
  }
}

}  // namespace locus::viewport
