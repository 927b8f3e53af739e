// What the Canvas says over its figure: the box at the pointer, and the line that says what the figure shows.
#include <imgui.h>

#include <QElapsedTimer>
#include <algorithm>
#include <cmath>

#include "app/viewport/canvas.h"
#include "app/viewport/imgui_color.h"

namespace locus::viewport {

namespace {

constexpr double kCaptionText = 0.95;       // of the figure's text
constexpr double kStatementGap = 3;         // heights of its text
constexpr double kLargestStatement = 0.06;  // of the canvas's height: more is not taken from the figure
constexpr double kSmallestPart = 0.25;      // of the canvas's height: a caption below leaves the figure the rest
constexpr double kImGuiText = 1.15;         // ImGui's type of the same height as the figure's
constexpr float kLeastBoxLetters = 16;      // a narrower map does not make the box narrower

// `text` in lines of that width, broken at spaces: ImGui breaks numbers at their point.
void add_lines(const std::string& text, float width, std::vector<std::string>& lines) {
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string longer = line + (line.empty() ? "" : " ") + text.substr(begin, end - begin);
    if (!line.empty() && ImGui::CalcTextSize(longer.c_str()).x > width) {
      lines.push_back(std::move(line));
      line = text.substr(begin, end - begin);
    } else {
      line = longer;
    }
    begin = end + 1;
  }
  lines.push_back(std::move(line));
}

}  // namespace

// The figure laid out, with its caption in a margin of it or below it.
void Canvas::lay_out(double width, double height, const figure::Style& style) {
  ++layouts_;
  layout_ = figure::lay_out(shown_, width, height, style, typeface_);
  caption_.reset();
  statement_.reset();
  if (!content_.figure) {
    return;
  }
  const double line = stated_.empty() ? 0 : place_statement(width, height, style);
  place_caption(width, height - line, style);
  if (line > 0) {
    *layout_ = moved_down(*std::move(layout_), line);
    if (caption_ && caption_->below) {
      caption_->area.y += line;
    }
  }
}

// The line at the upper left: beside what the figure draws there where that leaves it room; else the figure makes room
// above itself, of the height that is returned. Large text on a small canvas has no such line.
double Canvas::place_statement(double width, double height, const figure::Style& style) {
  const double size = kCaptionText * style.text_size;
  PlacedCaption line = statement_above(stated_, size, width, typeface_);
  const std::vector<figure::Rect> drawn = drawn_places(*layout_, typeface_);
  // With a gap behind it: beside a title it would be read on.
  const figure::Rect needed{line.area.x, line.area.y, line.area.width + kStatementGap * size, line.area.height};
  const bool free =
      std::ranges::none_of(drawn, [&](const figure::Rect& each) { return !needed.intersected(each).empty(); });
  const double room = free ? 0 : std::ceil(line.area.bottom());
  if (room > kLargestStatement * height) {
    return 0;
  }
  line.below = !free;
  statement_ = std::move(line);
  if (free) {
    return 0;
  }
  layout_ = figure::lay_out(shown_, width, std::max(height - room, 1.0), style, typeface_);
  return room;
}

void Canvas::place_caption(double width, double height, const figure::Style& style) {
  if (content_.caption.empty()) {
    return;
  }
  const double size = kCaptionText * style.text_size;
  caption_ =
      caption_in_margins(content_.caption, size, *layout_, typeface_, statement_ ? statement_->area.bottom() : 0);
  if (caption_) {
    return;
  }
  PlacedCaption below = caption_below(content_.caption, size, width, height, typeface_);
  if (below.area.height <= kSmallestPart * height) {
    layout_ = figure::lay_out(shown_, width, below.area.y, style, typeface_);
    caption_ = std::move(below);
  }
}

// The overlay, and the line above the figure.
void Canvas::draw_overlay() {
  if (overlay_ == nullptr) {
    return;
  }
  OverlayFrame frame;
  frame.figure = figure();
  frame.layout = frame.figure == nullptr ? nullptr : layout();
  frame.laid_out = layouts_;
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  frame.pointer = {static_cast<double>(pointer.x), static_cast<double>(pointer.y)};
  frame.width = static_cast<double>(ImGui::GetIO().DisplaySize.x);
  frame.height = static_cast<double>(ImGui::GetIO().DisplaySize.y);
  frame.text = static_cast<double>(ImGui::GetFontSize()) / kImGuiText;
  frame.statement = statement();
  frame.whole_statement = stated_;
  frame.dpr = dpr();
  frame.dark = content_.dark;
  QElapsedTimer timer;
  timer.start();
  overlay_->draw(frame, imgui_);
  overlay_ms_ = static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void Canvas::report_frame(FrameCost cost) {
  cost.overlay_ms = overlay_ms_;
  if (overlay_ != nullptr) {
    overlay_->measured(cost);
  }
  Q_EMIT frame_drawn(cost.cpu_ms);
}

void Canvas::draw_caption() {
  if (!caption_ || !layout_ || !content_.note.empty()) {  // the note stands where a caption below the figure would
    return;
  }
  ImDrawList* list = ImGui::GetBackgroundDrawList();
  const ImU32 color = imgui_color(layout_->style.muted);
  // ImGui's font is not quite the figure's: a line that is longer in it is made as long as it was measured.
  const auto usual = static_cast<float>(caption_->size * kImGuiText);
  double top = caption_->area.y;
  for (const std::string& line : caption_->lines) {
    const float wide = ImGui::GetFont()->CalcTextSizeA(usual, 1e6F, 0, line.c_str()).x;
    const auto room = static_cast<float>(caption_->area.width);
    const float size = wide > room ? usual * room / wide : usual;
    list->AddText(ImGui::GetFont(), size, ImVec2(static_cast<float>(caption_->area.x), static_cast<float>(top)), color,
                  line.c_str());
    top += figure::TextMetrics::line_height(caption_->size);
  }
}

// The areas that the box at the pointer may take: the map that is pointed at, its part of the grid, what is above and
// below that, the canvas.
std::vector<figure::Rect> Canvas::box_areas() const {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  const figure::Rect canvas{0, 0, static_cast<double>(size.x), static_cast<double>(size.y)};
  const figure::PanelLayout* panel = panel_at(last_);
  return panel == nullptr ? std::vector<figure::Rect>{canvas}
                          : std::vector<figure::Rect>{
                                panel->plot, panel->slot, {panel->slot.x, 0, panel->slot.width, canvas.height}, canvas};
}

void Canvas::draw_tooltip() {
  box_ = {};
  const ImVec2 at = ImGui::GetIO().MousePos;
  const bool said = overlay_ != nullptr && overlay_->says_cell();
  if (content_.tooltip.empty() || said ||
      covered(QPointF(static_cast<double>(at.x), static_cast<double>(at.y)) / dpr())) {
    return;
  }
  const ImGuiStyle& style = ImGui::GetStyle();
  const float letter = ImGui::GetFontSize();
  const std::vector<figure::Rect> areas = box_areas();
  // What is wider than the map has a second line; nothing lies outside the canvas.
  const auto most = static_cast<float>(areas.back().width) - 3 * style.WindowPadding.x;
  const float wrap = std::min(most, std::max(static_cast<float>(areas.front().width) - 2 * style.WindowPadding.x,
                                             kLeastBoxLetters * letter / 2));
  std::vector<std::string> lines;
  for (const std::string& line : content_.tooltip) {
    add_lines(line, wrap, lines);
  }
  float labels = 0;
  float texts = 0;
  for (const Bar& bar : content_.bars) {
    labels = std::max(labels, ImGui::CalcTextSize(bar.label.c_str()).x);
    texts = std::max(texts, ImGui::CalcTextSize(bar.text.c_str()).x);
  }
  const float bar_width = 6 * letter;
  ImVec2 size(content_.bars.empty() ? 0 : labels + letter + bar_width + style.ItemSpacing.x + texts, 0);
  for (const std::string& line : lines) {
    const ImVec2 own = ImGui::CalcTextSize(line.c_str(), nullptr, false, wrap);
    size = {std::max(size.x, own.x), size.y + own.y + style.ItemSpacing.y};
  }
  size.y += static_cast<float>(content_.bars.size()) * (letter + style.ItemSpacing.y) - style.ItemSpacing.y;
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  box_ = box_beside({static_cast<double>(pointer.x), static_cast<double>(pointer.y)},
                    {static_cast<double>(std::ceil(size.x + 2 * style.WindowPadding.x)),
                     static_cast<double>(std::ceil(size.y + 2 * style.WindowPadding.y))},
                    areas);
  ImGui::SetNextWindowPos(ImVec2(static_cast<float>(box_.x), static_cast<float>(box_.y)));
  ImGui::SetNextWindowSize(ImVec2(static_cast<float>(box_.width), static_cast<float>(box_.height)));
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(style.WindowPadding.x + wrap);
  for (const std::string& line : lines) {
    ImGui::TextUnformatted(line.c_str());
  }
  ImGui::PopTextWrapPos();
  ImGui::PushStyleColor(ImGuiCol_PlotHistogram, imgui_color(kFocusColor));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(0, 0));  // else it moves what follows a bar down
  for (const Bar& bar : content_.bars) {
    ImGui::TextUnformatted(bar.label.c_str());
    ImGui::SameLine(style.WindowPadding.x + labels + letter);
    ImGui::ProgressBar(static_cast<float>(bar.share), ImVec2(bar_width, letter), "");
    ImGui::SameLine();
    ImGui::TextUnformatted(bar.text.c_str());
  }
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  ImGui::EndTooltip();
}

}  // namespace locus::viewport
