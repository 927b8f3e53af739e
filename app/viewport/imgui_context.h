// ImGuiBridge: one Dear ImGui context of our own: Qt's events in, its glyphs from the bundled font and, for scripts
// that font lacks, drawn by Qt. ImGui 1.86 has a fixed font atlas: it is made anew when a text needs more characters.
#pragma once

#include <QEvent>
#include <QPointF>
#include <deque>
#include <set>
#include <string>
#include <string_view>

struct ImGuiContext;

namespace locus::viewport {

// ImGui's text size for letters of the same height as those of a figure whose text size is 1.
inline constexpr double kImGuiTextScale = 1.15;

class ImGuiBridge {
 public:
  ImGuiBridge();
  ~ImGuiBridge();
  ImGuiBridge(const ImGuiBridge&) = delete;
  ImGuiBridge& operator=(const ImGuiBridge&) = delete;

  // Makes this context ImGui's current one; call before any ImGui function.
  void use() const;
  // Queues a Qt event for the next frames: a button or a key changes once a frame, so that a click between two frames
  // is seen, at its place.
  void feed(QEvent* event, double device_pixel_ratio);
  // Events that no frame has seen yet.
  bool pending() const { return !events_.empty(); }
  // Sizes, theme and clock of the next frame; text_px is the height of text in device pixels.
  void begin(int width_px, int height_px, float text_px, bool dark);
  // Makes sure that the atlas can draw this text from the next frame on; true when it has to be made anew.
  bool need(std::string_view text);
  // The atlas is out of date: the renderer must upload it (again). Cleared by mark_uploaded().
  bool font_stale() const { return font_stale_; }
  void build_font();
  void mark_uploaded() { font_stale_ = false; }
  void mark_stale() { font_stale_ = true; }
  // Something of ImGui is dragged, or a list or menu of it is open: as of the last frame.
  bool wants_mouse() const;
  // A field of ImGui is being typed into.
  bool wants_keyboard() const;

 private:
  // One change of mouse or keyboard.
  struct Event {
    enum class Kind { kMove, kButton, kWheel, kKey, kText, kAway };
    Kind kind = Kind::kMove;
    QPointF at;    // device pixels; of kWheel: the turns
    int code = 0;  // button, key or UTF-16 unit
    bool down = false;
    int modifiers = 0;
  };
  void queue(const Event& event);
  void apply(const Event& event);
  void take_events();
  void apply_theme(bool dark);

  ImGuiContext* context_ = nullptr;
  std::set<char16_t> extra_;  // beyond the font's own ranges
  float text_px_ = 0;
  bool font_stale_ = true;
  int dark_ = -1;
  std::deque<Event> events_;
  double last_time_ = 0;
};

}  // namespace locus::viewport
