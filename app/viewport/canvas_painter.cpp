#include "app/viewport/canvas_painter.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "app/viewport/imgui_color.h"
#include "app/viewport/imgui_context.h"
#include "renderers/figure/panel_decor.h"

namespace locus::viewport {

namespace {

constexpr int kDimmed = 150;            // of 255: opacity of the background's colour over a figure that is out of date
constexpr float kLeastBoxLetters = 16;  // a narrower map does not make the box narrower
constexpr float kSmallText = 0.84F;     // of the usual size

// A text centred on the canvas, on a box in the colour of menus.
struct TextBox {
  const std::string& text;
  float wrap = 0;  // largest width of the text
  float pad = 0;   // between the text and the box
  float rounding = 0;

  ImVec2 size() const { return ImGui::CalcTextSize(text.c_str(), nullptr, false, wrap); }
  // The rectangle of the box if its text begins at that height.
  figure::Rect area(float top) const {
    const ImVec2 inner = size();
    const float left = (ImGui::GetIO().DisplaySize.x - inner.x) / 2;
    return {static_cast<double>(left - pad), static_cast<double>(top - pad), static_cast<double>(inner.x + 2 * pad),
            static_cast<double>(inner.y + 2 * pad)};
  }
  void draw(ImDrawList* list, float top) const {
    const ImVec2 at((ImGui::GetIO().DisplaySize.x - size().x) / 2, top);
    list->AddRectFilled(ImVec2(at.x - pad, at.y - pad), ImVec2(at.x + size().x + pad, at.y + size().y + pad),
                        ImGui::GetColorU32(ImGuiCol_PopupBg), rounding);
    list->AddRect(ImVec2(at.x - pad, at.y - pad), ImVec2(at.x + size().x + pad, at.y + size().y + pad),
                  ImGui::GetColorU32(ImGuiCol_Border), rounding);
    list->AddText(ImGui::GetFont(), ImGui::GetFontSize(), at, ImGui::GetColorU32(ImGuiCol_Text), text.c_str(), nullptr,
                  wrap);
  }
};

// A line of the tooltip.
struct BoxLine {
  std::string text;
  float scale = 1;  // of its type

  ImVec2 size(float wrap) const {
    return ImGui::GetFont()->CalcTextSizeA(ImGui::GetFontSize() * scale, 1e6F, wrap, text.c_str());
  }
};

// Breaks a text at spaces into lines of that width. ImGui would also break numbers at their decimal point.
void add_lines(const std::string& text, float scale, float width, std::vector<BoxLine>& lines) {
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string longer = line + (line.empty() ? "" : " ") + text.substr(begin, end - begin);
    if (!line.empty() && BoxLine{longer, scale}.size(0).x > width) {
      lines.push_back({std::move(line), scale});
      line = text.substr(begin, end - begin);
    } else {
      line = longer;
    }
    begin = end + 1;
  }
  lines.push_back({std::move(line), scale});
}

}  // namespace

void CanvasPainter::draw_marks() const {
  if (content_.dim) {
    const int shade = content_.dark ? 0 : 255;
    ImGui::GetBackgroundDrawList()->AddRectFilled(ImVec2(0, 0), ImGui::GetIO().DisplaySize,
                                                  IM_COL32(shade, shade, shade, kDimmed));
  }
  for (const Outline& outline : content_.outlines) {
    draw_outline(outline);
  }
  draw_tick();
}

// Marks on its colour bar the value that the tooltip leads with.
void CanvasPainter::draw_tick() const {
  const auto& tick = content_.tooltip.tick;
  const figure::Layout* layout = figure_.layout();
  if (!tick || layout == nullptr || tick->panel >= layout->panels.size()) {
    return;
  }
  const figure::Rect& bar = layout->panels[tick->panel].color_bar;
  const auto scale = figure::color_bar_scale(figure_.figure()->panels[tick->panel]);
  const float share = scale ? figure::normalised(*scale, tick->value) : 0;
  if (bar.empty() || !scale || std::isnan(share)) {
    return;
  }
  const auto y = static_cast<float>(bar.bottom() - bar.height * static_cast<double>(share));
  const auto left = static_cast<float>(bar.x);
  const auto right = static_cast<float>(bar.right());
  const auto px = static_cast<float>(dpr_);
  const float size = 0.3F * ImGui::GetFontSize();
  ImDrawList* list = ImGui::GetBackgroundDrawList();
  list->AddRectFilled(ImVec2(left, y - 1.5F * px), ImVec2(right, y + 1.5F * px), IM_COL32_BLACK);
  list->AddRectFilled(ImVec2(left, y - 0.5F * px), ImVec2(right, y + 0.5F * px), IM_COL32_WHITE);
  list->AddTriangleFilled(ImVec2(left - size, y - size), ImVec2(left, y), ImVec2(left - size, y + size),
                          imgui_color(layout->style.foreground));
}

void CanvasPainter::draw_outline(const Outline& outline) const {
  const figure::Layout* layout = figure_.layout();
  if (layout == nullptr || outline.panel >= layout->panels.size()) {
    return;
  }
  const figure::PanelLayout& panel = layout->panels[outline.panel];
  ImDrawList* list = ImGui::GetBackgroundDrawList();
  const auto place = [](const figure::AxisMap& map, double value) { return static_cast<float>(map.place(value)); };
  const ImVec2 from(std::min(place(panel.x, outline.x.low), place(panel.x, outline.x.high)),
                    std::min(place(panel.y, outline.y.low), place(panel.y, outline.y.high)));
  const ImVec2 to(std::max(place(panel.x, outline.x.low), place(panel.x, outline.x.high)),
                  std::max(place(panel.y, outline.y.low), place(panel.y, outline.y.high)));
  const ImVec2 plot_from(static_cast<float>(panel.plot.x), static_cast<float>(panel.plot.y));
  const ImVec2 plot_to(static_cast<float>(panel.plot.right()), static_cast<float>(panel.plot.bottom()));
  list->PushClipRect(plot_from, plot_to, true);
  const ImU32 color = imgui_color(outline.color);
  const ImU32 halo = IM_COL32(0, 0, 0, 160);
  if (outline.cross && panel.frame) {
    const float x = (from.x + to.x) / 2;
    const float y = (from.y + to.y) / 2;
    const ImU32 faint = (color & 0x00FFFFFFU) | (0x90U << IM_COL32_A_SHIFT);
    list->AddLine(ImVec2(plot_from.x, y), ImVec2(from.x, y), faint);
    list->AddLine(ImVec2(x, to.y), ImVec2(x, plot_to.y), faint);
  }
  const float grow = std::max(0.0F, 3 - (to.x - from.x) / 2);  // a cell of a pixel stays visible
  const ImVec2 a(from.x - grow, from.y - grow);
  const ImVec2 b(to.x + grow, to.y + grow);
  list->AddRect(ImVec2(a.x - 1, a.y - 1), ImVec2(b.x + 1, b.y + 1), halo, 0, 0, 1.0F);
  list->AddRect(a, b, color, 0, 0, 2.0F);
  list->PopClipRect();
}

void CanvasPainter::draw_lasso(const std::vector<QPointF>& lasso) const {
  if (lasso.size() < 2 || figure_.layout() == nullptr) {
    return;
  }
  std::vector<ImVec2> points;
  points.reserve(lasso.size());
  for (const QPointF& each : lasso) {
    points.emplace_back(static_cast<float>(each.x() * dpr_), static_cast<float>(each.y() * dpr_));
  }
  const figure::Style& style = figure_.layout()->style;
  ImDrawList* const list = ImGui::GetBackgroundDrawList();
  const auto width = static_cast<float>(1.5 * dpr_);
  list->AddPolyline(points.data(), static_cast<int>(points.size()), imgui_color(style.foreground), 0, width);
  list->AddLine(points.back(), points.front(), imgui_color(style.muted), width);  // closes the loop
}

void CanvasPainter::draw_texts() const {
  draw_caption();
  if (!content_.message.empty()) {
    const TextBox box{content_.message, 0.7F * ImGui::GetIO().DisplaySize.x, ImGui::GetFontSize(), 6};
    box.draw(ImGui::GetBackgroundDrawList(),
             off_labels(box.area((ImGui::GetIO().DisplaySize.y - box.size().y) / 2)) + box.pad);
  }
  if (!content_.badge.empty()) {
    const float pad = ImGui::GetFontSize() / 2;
    const ImVec2 text = ImGui::CalcTextSize(content_.badge.c_str());
    ImDrawList* list = ImGui::GetForegroundDrawList();
    list->AddRectFilled(ImVec2(pad, pad), ImVec2(text.x + 3 * pad, text.y + 3 * pad), IM_COL32(200, 80, 0, 230), 4);
    list->AddText(ImVec2(2 * pad, 2 * pad), IM_COL32_WHITE, content_.badge.c_str());
  }
  if (!content_.note.empty()) {
    const TextBox box{content_.note, 0.8F * ImGui::GetIO().DisplaySize.x, ImGui::GetFontSize() / 2, 4};
    box.draw(ImGui::GetForegroundDrawList(),
             off_labels(box.area(ImGui::GetIO().DisplaySize.y - box.size().y - 2 * box.pad)) + box.pad);
  }
}

void CanvasPainter::draw_caption() const {
  const PlacedCaption* caption = figure_.caption();
  if (caption == nullptr || !content_.note.empty()) {  // the note takes the place of a caption below the figure
    return;
  }
  ImDrawList* list = ImGui::GetBackgroundDrawList();
  const ImU32 color = imgui_color(figure_.layout()->style.muted);
  // ImGui's font differs slightly from the figure's: a line that is longer in it shrinks to the measured width.
  const auto usual = static_cast<float>(caption->size * kImGuiTextScale);
  double top = caption->area.y;
  for (const std::string& line : caption->lines) {
    const float wide = ImGui::GetFont()->CalcTextSizeA(usual, 1e6F, 0, line.c_str()).x;
    const auto room = static_cast<float>(caption->area.width);
    const float size = wide > room ? usual * room / wide : usual;
    list->AddText(ImGui::GetFont(), size, ImVec2(static_cast<float>(caption->area.x), static_cast<float>(top)), color,
                  line.c_str());
    top += figure::TextMetrics::line_height(caption->size);
  }
}

// The top of the box, moved to where it covers no label of the figure.
float CanvasPainter::off_labels(const figure::Rect& box) const {
  const bool drawn = figure_.layout() != nullptr && content_.figure != nullptr;
  return static_cast<float>(
      clear_top(box, static_cast<double>(ImGui::GetIO().DisplaySize.y),
                drawn ? text_places(*figure_.layout(), figure_.typeface()) : std::vector<figure::Rect>()));
}

// Areas for the tooltip, by preference: the plot under the pointer, its slot of the grid, the full height of that slot,
// the canvas.
std::vector<figure::Rect> CanvasPainter::tooltip_areas(const QPointF& pointer) const {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  const figure::Rect canvas{0, 0, static_cast<double>(size.x), static_cast<double>(size.y)};
  const figure::PanelLayout* panel = figure_.panel_at({pointer.x() * dpr_, pointer.y() * dpr_});
  return panel == nullptr ? std::vector<figure::Rect>{canvas}
                          : std::vector<figure::Rect>{
                                panel->plot, panel->slot, {panel->slot.x, 0, panel->slot.width, canvas.height}, canvas};
}

figure::Rect CanvasPainter::draw_tooltip(const QPointF& pointer) const {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float letter = ImGui::GetFontSize();
  const std::vector<figure::Rect> areas = tooltip_areas(pointer);
  // Lines wider than the map are wrapped; the tooltip stays within the canvas.
  const auto most = static_cast<float>(areas.back().width) - 3 * style.WindowPadding.x;
  const float wrap = std::min(most, std::max(static_cast<float>(areas.front().width) - 2 * style.WindowPadding.x,
                                             kLeastBoxLetters * letter / 2));
  std::vector<BoxLine> lines;
  const Tooltip& tooltip = content_.tooltip;
  for (std::size_t n = 0; n < tooltip.lines.size(); ++n) {
    add_lines(tooltip.lines[n], n + tooltip.small < tooltip.lines.size() ? 1 : kSmallText, wrap, lines);
  }
  float labels = 0;
  float texts = 0;
  for (const Bar& bar : content_.bars) {
    labels = std::max(labels, ImGui::CalcTextSize(bar.label.c_str()).x);
    texts = std::max(texts, ImGui::CalcTextSize(bar.text.c_str()).x);
  }
  const float bar_width = 6 * letter;
  ImVec2 size(content_.bars.empty() ? 0 : labels + letter + bar_width + style.ItemSpacing.x + texts, 0);
  for (const BoxLine& line : lines) {
    const ImVec2 own = line.size(wrap);
    size = {std::max(size.x, own.x), size.y + own.y + style.ItemSpacing.y};
  }
  size.y += static_cast<float>(content_.bars.size()) * (letter + style.ItemSpacing.y) - style.ItemSpacing.y;
  const ImVec2 at = ImGui::GetIO().MousePos;
  const figure::Rect box = box_beside({static_cast<double>(at.x), static_cast<double>(at.y)},
                                      {static_cast<double>(std::ceil(size.x + 2 * style.WindowPadding.x)),
                                       static_cast<double>(std::ceil(size.y + 2 * style.WindowPadding.y))},
                                      areas);
  ImGui::SetNextWindowPos(ImVec2(static_cast<float>(box.x), static_cast<float>(box.y)));
  ImGui::SetNextWindowSize(ImVec2(static_cast<float>(box.width), static_cast<float>(box.height)));
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(style.WindowPadding.x + wrap);
  for (const BoxLine& line : lines) {
    ImGui::SetWindowFontScale(line.scale);
    ImGui::TextUnformatted(line.text.c_str());
  }
  ImGui::SetWindowFontScale(1);
  ImGui::PopTextWrapPos();
  ImGui::PushStyleColor(ImGuiCol_PlotHistogram, imgui_color(kFocusColor));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(0, 0));  // else the text after a bar is moved down
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
  return box;
}

void CanvasPainter::draw_focus() const {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  const auto line = static_cast<float>(std::round(2 * dpr_));
  ImGui::GetForegroundDrawList()->AddRect(ImVec2(line / 2, line / 2), ImVec2(size.x - line / 2, size.y - line / 2),
                                          imgui_color(kFocusColor), 0, 0, line);
}

}  // namespace locus::viewport
