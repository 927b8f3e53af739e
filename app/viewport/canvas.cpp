#include "app/viewport/canvas.h"

#include <imgui.h>

#include <QGuiApplication>
#include <QStyleHints>
#include <algorithm>
#include <cmath>

#include "app/viewport/canvas_renderer.h"
#include "app/viewport/imgui_color.h"

namespace locus::viewport {

namespace {

constexpr double kTextPx = 13;  // of figures, at scale 1
constexpr int kDimmed = 150;    // of 255: how much of the background lies over a figure that is no longer asked for

double length_of(const figure::Interval& interval) {
  return std::abs(interval.high - interval.low);
}

// `view` moved and shortened so that it lies within `home`, keeping its direction.
figure::Interval clamped(figure::Interval view, const figure::Interval& home) {
  const double home_low = std::min(home.low, home.high);
  const double home_high = std::max(home.low, home.high);
  double low = std::min(view.low, view.high);
  const double size =
      std::min(std::max(length_of(view), std::min(Canvas::kSmallestView, home_high - home_low)), home_high - home_low);
  low = std::clamp(low, home_low, home_high - size);
  return home.low <= home.high ? figure::Interval{low, low + size} : figure::Interval{low + size, low};
}

void follow(const views::Camera& camera, figure::Panel& panel) {
  if (panel.follows_camera) {
    panel.x.view = figure::from_camera(panel.x, camera.x);
    panel.y.view = figure::from_camera(panel.y, camera.y);
  }
}

// A text in the middle of the canvas's width, on a box in the colour of menus.
struct TextBox {
  const std::string& text;
  float wrap = 0;  // its width at the most
  float pad = 0;   // of the box around it
  float rounding = 0;

  ImVec2 size() const { return ImGui::CalcTextSize(text.c_str(), nullptr, false, wrap); }
  // With what is around it, where its text begins at that height.
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

}  // namespace

Canvas::Canvas() {
  setObjectName(QStringLiteral("canvas"));
  setFlags(QVulkanWindow::PersistentResources);
  // Colours are what figures say: an sRGB attachment would convert them once more.
  setPreferredColorFormats({VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM});
}

Canvas::~Canvas() = default;

QVulkanWindowRenderer* Canvas::createRenderer() {
  return new CanvasRenderer(*this);
}

void Canvas::set_content(Content content) {
  content_ = std::move(content);
  shown_ = content_.figure ? *content_.figure : figure::Figure{};
  if (content_.home) {
    const views::Camera view = camera();
    for (figure::Panel& panel : shown_.panels) {
      follow(view, panel);
    }
  }
  layout_stale_ = true;
  request_frames();
}

// ---- frames

void Canvas::request_frames(int frames) {
  frames_wanted_ = std::max(frames_wanted_, frames);
  if (isExposed()) {
    requestUpdate();
  }
}

bool Canvas::take_frame_request() {
  frames_wanted_ = std::max(0, frames_wanted_ - 1);
  if (imgui_.pending() || imgui_.font_stale()) {
    frames_wanted_ = std::max(frames_wanted_, 2);
  }
  return frames_wanted_ > 0;
}

void Canvas::set_overlay(Overlay* overlay) {
  overlay_ = overlay;
  layout_stale_ = true;
  request_frames();
}

std::uint32_t Canvas::prepare_frame(int width_px, int height_px) {
  const double text = kTextPx * content_.scale * dpr();
  imgui_.begin(width_px, height_px, static_cast<float>(std::round(text * 1.15)), content_.dark);
  const figure::Style style = content_.dark ? figure::Style::dark(text, 1) : figure::Style::light(text, 1);
  const QSize size(width_px, std::max(1, height_px));
  const std::string stated = overlay_ == nullptr ? std::string() : overlay_->statement();
  if (!layout_ || layout_stale_ || laid_out_ != size || stated != stated_) {
    stated_ = stated;
    lay_out(size.width(), size.height(), style);
    laid_out_ = size;
    layout_stale_ = false;
  }
  for (const std::string& line : content_.tooltip) {
    imgui_.need(line);
  }
  for (const Bar& bar : content_.bars) {
    imgui_.need(bar.label + bar.text);
  }
  imgui_.need(content_.message);
  imgui_.need(content_.note);
  imgui_.need(content_.caption);
  imgui_.need(stated_);
  if (imgui_.font_stale()) {
    imgui_.build_font();
  }
  return style.background;
}

void Canvas::draw_overlays() {
  if (content_.dim) {
    const int shade = content_.dark ? 0 : 255;
    ImGui::GetBackgroundDrawList()->AddRectFilled(ImVec2(0, 0), ImGui::GetIO().DisplaySize,
                                                  IM_COL32(shade, shade, shade, kDimmed));
  }
  for (const Outline& outline : content_.outlines) {
    draw_outline(outline);
  }
  draw_lasso();
  draw_caption();
  draw_message();
  draw_note();
  draw_overlay();
  draw_tooltip();
  draw_focus();
}

void Canvas::show_focus(bool shown) {
  if (shown != focus_shown_) {
    focus_shown_ = shown;
    request_frames();
  }
}

void Canvas::draw_focus() {
  if (focus_shown_) {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const auto line = static_cast<float>(std::round(2 * dpr()));
    ImGui::GetForegroundDrawList()->AddRect(ImVec2(line / 2, line / 2), ImVec2(size.x - line / 2, size.y - line / 2),
                                            imgui_color(kFocusColor), 0, 0, line);
  }
}

void Canvas::draw_outline(const Outline& outline) {
  if (!layout_ || outline.panel >= layout_->panels.size()) {
    return;
  }
  const figure::PanelLayout& panel = layout_->panels[outline.panel];
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
  if (outline.cross && panel.frame) {  // to the axes, where there are some
    const float x = (from.x + to.x) / 2;
    const float y = (from.y + to.y) / 2;
    const ImU32 faint = (color & 0x00FFFFFFU) | (0x90U << IM_COL32_A_SHIFT);
    list->AddLine(ImVec2(plot_from.x, y), ImVec2(from.x, y), faint);
    list->AddLine(ImVec2(x, to.y), ImVec2(x, plot_to.y), faint);
  }
  const float grow = std::max(0.0F, 3 - (to.x - from.x) / 2);  // a cell of a pixel stays visible
  const ImVec2 a(from.x - grow, from.y - grow);
  const ImVec2 b(to.x + grow, to.y + grow);
  list->AddRect(ImVec2(a.x - 1, a.y - 1), ImVec2(b.x + 1, b.y + 1), halo, 0, 0, 1);
  list->AddRect(a, b, color, 0, 0, 2);
  list->PopClipRect();
}

// The top of a box, moved off the labels of the figure below it.
float Canvas::off_labels(const figure::Rect& box) const {
  const bool drawn = layout_.has_value() && content_.figure != nullptr;
  return static_cast<float>(clear_top(box, static_cast<double>(ImGui::GetIO().DisplaySize.y),
                                      drawn ? text_places(*layout_, typeface_) : std::vector<figure::Rect>()));
}

void Canvas::draw_message() {
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
}

void Canvas::draw_note() {
  if (!content_.note.empty()) {
    const TextBox box{content_.note, 0.8F * ImGui::GetIO().DisplaySize.x, ImGui::GetFontSize() / 2, 4};
    box.draw(ImGui::GetForegroundDrawList(),
             off_labels(box.area(ImGui::GetIO().DisplaySize.y - box.size().y - 2 * box.pad)) + box.pad);
  }
}

// ---- the camera

views::Camera Canvas::camera() const {
  return content_.camera ? *content_.camera : content_.home.value_or(views::Camera{});
}

void Canvas::move_camera(views::Camera camera, bool finished) {
  if (!content_.home) {
    return;
  }
  show_camera({clamped(camera.x, content_.home->x), clamped(camera.y, content_.home->y)}, finished);
}

void Canvas::show_camera(const views::Camera& camera, bool finished) {
  content_.camera = camera;
  for (figure::Panel& panel : shown_.panels) {
    follow(camera, panel);
  }
  layout_stale_ = true;
  request_frames();
  Q_EMIT camera_moved(camera, finished);
}

void Canvas::zoom_to_cells() {
  if (!content_.home || !layout_ || layout_->panels.empty()) {
    return;
  }
  const figure::PanelLayout& panel = layout_->panels.front();
  const views::Camera now = camera();
  const auto sized = [](const figure::Interval& view, double size) {
    const double middle = (view.low + view.high) / 2;
    const double half = view.low <= view.high ? size / 2 : -size / 2;
    return figure::Interval{middle - half, middle + half};
  };
  move_camera({sized(now.x, panel.plot.width), sized(now.y, panel.plot.height)}, true);
}

}  // namespace locus::viewport
