// ImGuiBridge: a Dear ImGui context fed with Qt's events. Its glyphs come from the bundled font, or from Qt for scripts
// that font lacks. ImGui before 1.92 has a fixed font atlas: it is rebuilt when a text needs more characters.
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

  // Makes this context the current one; call it before any ImGui function.
  void use() const;
  // Queues a Qt event for the next frames. Buttons and keys change at most once per frame, so that a click between two
  // frames is not lost.
  void feed(QEvent* event, double device_pixel_ratio);
  // Whether events wait for a frame.
  bool pending() const { return !events_.empty(); }
  // Sets size, theme and clock of the next frame; text_px: text height in device pixels.
  void begin(int width_px, int height_px, float text_px, bool dark);
  // Requests the glyphs of a text; true: the atlas has to be rebuilt.
  bool need(std::string_view text);
  // Whether the renderer must upload the atlas; cleared by mark_uploaded().
  bool font_stale() const { return font_stale_; }
  void build_font();
  void mark_uploaded() { font_stale_ = false; }
  void mark_stale() { font_stale_ = true; }
  // Whether an ImGui item was dragged, or a list or menu was open, in the last frame.
  bool wants_mouse() const;
  // Whether an ImGui text field has the keyboard.
  bool wants_keyboard() const;

 private:
  // One change of mouse or keyboard.
  struct Event {
    enum class Kind { kMove, kButton, kWheel, kKey, kText, kAway };
    Kind kind = Kind::kMove;
    QPointF at;    // device pixels; for kWheel: turns
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
