#include "app/viewport/imgui_context.h"

#include <imgui.h>

#if IMGUI_VERSION_NUM >= 19200
#include <imgui_internal.h>
#endif

#include <QElapsedTimer>
#include <QFile>
#include <QFont>
#include <QFontMetricsF>
#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace locus::viewport {

namespace {

// Drawn by ImGui from the bundled font: Latin, Greek, Cyrillic, punctuation, arrows, mathematics.
constexpr std::array<ImWchar, 13> kRanges = {0x0020, 0x024F, 0x0370, 0x052F, 0x2010, 0x206F, 0x2190,
                                             0x22FF, 0x23CE, 0x23CE, 0x25A0, 0x25CF, 0};

bool in_ranges(char16_t c) {
  for (std::size_t n = 0; n + 1 < kRanges.size(); n += 2) {
    if (c >= kRanges[n] && c <= kRanges[n + 1]) {
      return true;
    }
  }
  return false;
}

constexpr std::array<std::pair<ImGuiKey, int>, 18> kKeys = {{{ImGuiKey_Tab, Qt::Key_Tab},
                                                             {ImGuiKey_LeftArrow, Qt::Key_Left},
                                                             {ImGuiKey_RightArrow, Qt::Key_Right},
                                                             {ImGuiKey_UpArrow, Qt::Key_Up},
                                                             {ImGuiKey_DownArrow, Qt::Key_Down},
                                                             {ImGuiKey_Home, Qt::Key_Home},
                                                             {ImGuiKey_End, Qt::Key_End},
                                                             {ImGuiKey_Delete, Qt::Key_Delete},
                                                             {ImGuiKey_Backspace, Qt::Key_Backspace},
                                                             {ImGuiKey_Enter, Qt::Key_Return},
                                                             {ImGuiKey_Escape, Qt::Key_Escape},
                                                             {ImGuiKey_PageUp, Qt::Key_PageUp},
                                                             {ImGuiKey_PageDown, Qt::Key_PageDown},
                                                             {ImGuiKey_Space, Qt::Key_Space},
                                                             {ImGuiKey_A, Qt::Key_A},
                                                             {ImGuiKey_C, Qt::Key_C},
                                                             {ImGuiKey_V, Qt::Key_V},
                                                             {ImGuiKey_X, Qt::Key_X}}};

// None for a key that ImGui does not use.
std::optional<ImGuiKey> imgui_key(int qt_key) {
  const auto* found = std::find_if(kKeys.begin(), kKeys.end(), [&](const auto& each) { return each.second == qt_key; });
  return found == kKeys.end() ? std::nullopt : std::optional(found->first);
}

// Keys and buttons of one frame: from 1.87 on ImGui takes events, before it had arrays. The bridge spreads clicks over
// frames itself.
#if IMGUI_VERSION_NUM < 18700
void start_input(ImGuiIO& io) {
  for (const auto& [key, qt_key] : kKeys) {
    io.KeyMap[key] = key;
  }
}
void put_pointer(ImGuiIO& io, float x, float y) {
  io.MousePos = ImVec2(x, y);
}
void put_button(ImGuiIO& io, int button, bool down) {
  io.MouseDown[button] = down;
}
void put_wheel(ImGuiIO& io, float x, float y) {
  io.MouseWheelH += x;
  io.MouseWheel += y;
}
void put_key(ImGuiIO& io, ImGuiKey key, bool down) {
  io.KeysDown[key] = down;
}
void put_modifiers(ImGuiIO& io, bool control, bool shift, bool alt) {
  io.KeyCtrl = control;
  io.KeyShift = shift;
  io.KeyAlt = alt;
}
#else
void start_input(ImGuiIO& io) {
  io.ConfigInputTrickleEventQueue = false;
}
void put_pointer(ImGuiIO& io, float x, float y) {
  io.AddMousePosEvent(x, y);
}
void put_button(ImGuiIO& io, int button, bool down) {
  io.AddMouseButtonEvent(button, down);
}
void put_wheel(ImGuiIO& io, float x, float y) {
  io.AddMouseWheelEvent(x, y);
}
void put_key(ImGuiIO& io, ImGuiKey key, bool down) {
  io.AddKeyEvent(key, down);
}
void put_modifiers(ImGuiIO& io, bool control, bool shift, bool alt) {
#if IMGUI_VERSION_NUM < 18900
  constexpr ImGuiKey ImGuiMod_Ctrl = ImGuiKey_ModCtrl, ImGuiMod_Shift = ImGuiKey_ModShift,
                     ImGuiMod_Alt = ImGuiKey_ModAlt;
#endif
  io.AddKeyEvent(ImGuiMod_Ctrl, control);
  io.AddKeyEvent(ImGuiMod_Shift, shift);
  io.AddKeyEvent(ImGuiMod_Alt, alt);
}
#endif

constexpr int kButtons = 3;
int button_index(Qt::MouseButton button) {
  return button == Qt::LeftButton ? 0 : button == Qt::RightButton ? 1 : button == Qt::MiddleButton ? 2 : -1;
}

constexpr std::size_t kMaxEvents = 256;  // that wait for a frame
constexpr double kAway = -1e6;           // where the pointer is when it has left

double now_seconds() {
  static const auto clock = [] {
    QElapsedTimer timer;
    timer.start();
    return timer;
  }();
  return static_cast<double>(clock.nsecsElapsed()) * 1e-9;
}

ImVec4 color(std::uint32_t rrggbb, float alpha = 1) {
  return {static_cast<float>(rrggbb >> 16 & 0xFF) / 255, static_cast<float>(rrggbb >> 8 & 0xFF) / 255,
          static_cast<float>(rrggbb & 0xFF) / 255, alpha};
}

// The colours of the window around the canvas (app/workbench/widgets/theme.cpp).
void apply_colors(bool dark, ImGuiStyle& style) {
  const ImVec4 accent = color(dark ? 0x3D7EC2 : 0x2F6FB5);
  const ImVec4 button = color(dark ? 0x33363C : 0xE8EAEE);
  const auto set = [&](std::initializer_list<ImGuiCol> names, const ImVec4& value) {
    for (const ImGuiCol name : names) {
      style.Colors[name] = value;
    }
  };
  set({ImGuiCol_Text}, color(dark ? 0xE6E6E6 : 0x1A1A1A));
  set({ImGuiCol_WindowBg}, color(dark ? 0x25272B : 0xF3F4F6));
  set({ImGuiCol_PopupBg, ImGuiCol_FrameBg}, color(dark ? 0x1B1D20 : 0xFFFFFF));
  set({ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive}, color(dark ? 0x222428 : 0xF7F8FA));
  set({ImGuiCol_Border}, color(dark ? 0x4B4F57 : 0xB4B8C0));
  set({ImGuiCol_Button, ImGuiCol_ButtonHovered}, button);
  set({ImGuiCol_Header, ImGuiCol_HeaderHovered, ImGuiCol_HeaderActive, ImGuiCol_TextSelectedBg},
      {accent.x, accent.y, accent.z, 0.35F});
  set({ImGuiCol_CheckMark, ImGuiCol_ButtonActive}, accent);
  set({ImGuiCol_SliderGrab}, {accent.x, accent.y, accent.z, 0.45F});  // the number is read through it
  set({ImGuiCol_SliderGrabActive}, {accent.x, accent.y, accent.z, 0.65F});
}

// A character that the bundled font lacks, which Qt draws.
struct DrawnGlyph {
  float advance = 0;
  QImage image;  // its first column and row lie a pixel left of the place of the text and at its top
};

DrawnGlyph drawn_glyph(char16_t unit, float text_px) {
  QFont font(QStringLiteral("DejaVu Sans"));
  font.setPixelSize(std::max(1, static_cast<int>(std::lround(text_px * 0.86F))));
  const QFontMetricsF metrics(font);
  const QChar c(unit);
  DrawnGlyph glyph;
  glyph.advance = static_cast<float>(metrics.horizontalAdvance(c));
  glyph.image = QImage(static_cast<int>(std::ceil(glyph.advance)) + 2,
                       static_cast<int>(std::ceil(metrics.height())) + 1, QImage::Format_Grayscale8);
  glyph.image.fill(0);
  QPainter painter(&glyph.image);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.setFont(font);
  painter.setPen(Qt::white);
  painter.drawText(QPointF(1, metrics.ascent()), QString(c));
  painter.end();
  return glyph;
}

bool drawn_by_qt(char16_t unit) {
  const QChar c(unit);
  return c.isPrint() && !c.isSurrogate() && !in_ranges(unit);
}

// The font of the atlas: the bundled one.
ImFont* add_font(ImFontAtlas& atlas, float text_px) {
  QFile file(QStringLiteral(":/fonts/DejaVuSans.ttf"));
  if (!file.open(QIODevice::ReadOnly)) {
    return atlas.AddFontDefault();
  }
  const QByteArray bytes = file.readAll();
  void* copy = IM_ALLOC(static_cast<std::size_t>(bytes.size()));  // owned by the atlas
  std::memcpy(copy, bytes.constData(), static_cast<std::size_t>(bytes.size()));
  ImFontConfig config;
  config.OversampleH = 3;  // the same letters with every version: their own choices differ
  config.OversampleV = 1;
  return atlas.AddFontFromMemoryTTF(copy, static_cast<int>(bytes.size()), text_px, &config, kRanges.data());
}

// From 1.92 on the atlas grows: ImGui asks for each character when a text first has it, in each size.
#if IMGUI_VERSION_NUM >= 19200
constexpr bool kAtlasGrows = true;

template <class... Advance>  // from 1.92.2 on: where the width goes if that is all that is asked
bool load_glyph(ImFontAtlas* atlas, ImFontConfig* source, ImFontBaked* baked, void* /*data*/, ImWchar unit,
                ImFontGlyph* glyph, Advance... advance) {
  const auto c = static_cast<char16_t>(unit);
  if (c != unit || !drawn_by_qt(c)) {
    return false;
  }
  const DrawnGlyph drawn = drawn_glyph(c, baked->Size);
  if (glyph == nullptr) {
    ((*advance = drawn.advance), ...);
    return true;
  }
  const int width = drawn.image.width();
  const int height = drawn.image.height();
  const ImFontAtlasRectId place = ImFontAtlasPackAddRect(atlas, width, height);
  if (place == ImFontAtlasRectId_Invalid) {
    return false;  // the texture is as large as it may be
  }
  glyph->Codepoint = unit;
  glyph->AdvanceX = drawn.advance;
  glyph->X0 = -1;
  glyph->Y0 = 0;
  glyph->X1 = static_cast<float>(width - 1);
  glyph->Y1 = static_cast<float>(height);
  glyph->Visible = true;
  glyph->PackId = place;
  ImFontAtlasBakedSetFontGlyphBitmap(atlas, baked, source, glyph, ImFontAtlasPackGetRect(atlas, place),
                                     drawn.image.constBits(), ImTextureFormat_Alpha8,
                                     static_cast<int>(drawn.image.bytesPerLine()));
  return true;
}

void build_atlas(ImFontAtlas& atlas, float text_px, const std::set<char16_t>& /*extra*/) {
  if (!atlas.Fonts.empty()) {
    return;
  }
  add_font(atlas, text_px);
  static const ImFontLoader qt = [] {
    ImFontLoader loader;
    loader.Name = "qt";
    loader.FontBakedLoadGlyph = load_glyph;
    return loader;
  }();
  ImFontConfig rest;
  rest.MergeMode = true;
  rest.FontLoader = &qt;
  atlas.AddFont(&rest);
}

void set_text_size(float text_px) {
  ImGui::GetStyle().FontSizeBase = text_px;
}
#else
constexpr bool kAtlasGrows = false;

void build_atlas(ImFontAtlas& atlas, float text_px, const std::set<char16_t>& extra) {
  atlas.Clear();
  ImFont* font = add_font(atlas, text_px);
  std::vector<std::pair<int, QImage> > images;  // each with its rectangle
  for (const char16_t unit : extra) {
    DrawnGlyph drawn = drawn_glyph(unit, text_px);
    const int place = atlas.AddCustomRectFontGlyph(font, unit, drawn.image.width(), drawn.image.height(), drawn.advance,
                                                   ImVec2(-1, 0));
    images.emplace_back(place, std::move(drawn.image));
  }
  unsigned char* pixels = nullptr;
  int width = 0;
  int height = 0;
  atlas.GetTexDataAsAlpha8(&pixels, &width, &height);
  for (const auto& [rectangle, image] : images) {
    const ImFontAtlasCustomRect& place = *atlas.GetCustomRectByIndex(rectangle);
    for (int y = 0; y < place.Height; ++y) {
      std::memcpy(pixels + static_cast<std::ptrdiff_t>(place.Y + y) * width + place.X, image.constScanLine(y),
                  place.Width);
    }
  }
}

void set_text_size(float /*text_px*/) {}  // the font has it
#endif

}  // namespace

ImGuiBridge::ImGuiBridge() {
  IMGUI_CHECKVERSION();
  context_ = ImGui::CreateContext();
  use();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  io.BackendPlatformName = "qt";
  start_input(io);
}

ImGuiBridge::~ImGuiBridge() {
  ImGui::DestroyContext(context_);
}

void ImGuiBridge::use() const {
  ImGui::SetCurrentContext(context_);
}

bool ImGuiBridge::wants_mouse() const {
  use();
  return ImGui::IsAnyItemActive() || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
}

bool ImGuiBridge::wants_keyboard() const {
  use();
  return ImGui::GetIO().WantTextInput;
}

void ImGuiBridge::queue(const Event& event) {
  const bool moves = event.kind == Event::Kind::kMove;
  if (moves && !events_.empty() && events_.back().kind == Event::Kind::kMove) {
    events_.back() = event;  // where the pointer was between two frames is not asked
    return;
  }
  if (events_.size() == kMaxEvents) {
    events_.pop_front();  // no frame is drawn: the window is hidden
  }
  events_.push_back(event);
}

void ImGuiBridge::feed(QEvent* event, double device_pixel_ratio) {
  using Kind = Event::Kind;
  switch (event->type()) {
    case QEvent::MouseMove:
      queue({Kind::kMove, static_cast<QMouseEvent*>(event)->position() * device_pixel_ratio});
      break;
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonDblClick:
    case QEvent::MouseButtonRelease: {
      auto* mouse = static_cast<QMouseEvent*>(event);
      queue({Kind::kMove, mouse->position() * device_pixel_ratio});
      if (const int button = button_index(mouse->button()); button >= 0) {
        queue({Kind::kButton,
               {},
               button,
               event->type() != QEvent::MouseButtonRelease,
               static_cast<int>(mouse->modifiers())});
      }
      break;
    }
    case QEvent::Wheel: {
      auto* wheel = static_cast<QWheelEvent*>(event);
      queue({Kind::kMove, wheel->position() * device_pixel_ratio});
      queue({Kind::kWheel, QPointF(wheel->angleDelta()) / 120, 0, false, static_cast<int>(wheel->modifiers())});
      break;
    }
    case QEvent::KeyPress:
    case QEvent::KeyRelease: {
      auto* key = static_cast<QKeyEvent*>(event);
      const bool down = event->type() == QEvent::KeyPress;
      if (const auto known = imgui_key(key->key() == Qt::Key_Enter ? Qt::Key_Return : key->key())) {
        queue({Kind::kKey, {}, *known, down, static_cast<int>(key->modifiers())});
      }
      for (const QChar c : down ? key->text() : QString()) {
        if (c.isPrint()) {
          queue({Kind::kText, {}, c.unicode()});
        }
      }
      break;
    }
    case QEvent::Leave:
    case QEvent::FocusOut:
      queue({Kind::kAway, QPointF(kAway, kAway)});
      break;
    default:
      break;
  }
}

void ImGuiBridge::apply(const Event& event) {
  ImGuiIO& io = ImGui::GetIO();
  const auto set_modifiers = [&] {
    const Qt::KeyboardModifiers held(event.modifiers);
    put_modifiers(io, held.testFlag(Qt::ControlModifier), held.testFlag(Qt::ShiftModifier),
                  held.testFlag(Qt::AltModifier));
  };
  const auto x = static_cast<float>(event.at.x());
  const auto y = static_cast<float>(event.at.y());
  switch (event.kind) {
    case Event::Kind::kMove:
      put_pointer(io, x, y);
      break;
    case Event::Kind::kButton:
      set_modifiers();
      put_button(io, event.code, event.down);
      break;
    case Event::Kind::kWheel:
      set_modifiers();
      put_wheel(io, x, y);
      break;
    case Event::Kind::kKey:
      set_modifiers();
      put_key(io, static_cast<ImGuiKey>(event.code), event.down);
      break;
    case Event::Kind::kText:
      if (io.WantTextInput) {
        io.AddInputCharacterUTF16(static_cast<ImWchar16>(event.code));
      }
      break;
    case Event::Kind::kAway:
      put_pointer(io, -FLT_MAX, -FLT_MAX);
      for (const auto& [key, qt_key] : kKeys) {
        put_key(io, key, false);
      }
      for (int button = 0; button < kButtons; ++button) {
        put_button(io, button, false);
      }
      break;
  }
}

// Applies events in order: a frame ends where a second button or key would change, or the pointer would leave the
// place of a click.
void ImGuiBridge::take_events() {
  using Kind = Event::Kind;
  bool changed = false;
  while (!events_.empty()) {
    const Event& next = events_.front();
    const bool follows = next.kind == Kind::kText;  // belongs to its key
    if (changed && !follows) {
      return;
    }
    changed = changed || next.kind == Kind::kButton || next.kind == Kind::kKey || next.kind == Kind::kWheel;
    apply(next);
    events_.pop_front();
  }
}

void ImGuiBridge::apply_theme(bool dark) {
  if (dark_ == static_cast<int>(dark)) {
    return;
  }
  dark_ = static_cast<int>(dark);
  ImGuiStyle style;
  if (dark) {
    ImGui::StyleColorsDark(&style);
  } else {
    ImGui::StyleColorsLight(&style);
  }
  style.WindowRounding = 0;
  style.FrameRounding = 3;
  style.GrabRounding = 3;
  style.FrameBorderSize = 1;  // an empty check box is seen on any background
  style.WindowBorderSize = 0;
  style.PopupBorderSize = 1;
  apply_colors(dark, style);
  ImGui::GetStyle() = style;
}

void ImGuiBridge::begin(int width_px, int height_px, float text_px, bool dark) {
  use();
  ImGuiIO& io = ImGui::GetIO();
  if (text_px != text_px_) {
    text_px_ = text_px;
    font_stale_ = font_stale_ || !kAtlasGrows;
    dark_ = -1;
  }
  if (dark_ != static_cast<int>(dark)) {
    apply_theme(dark);
    ImGui::GetStyle().ScaleAllSizes(text_px / 13);
    set_text_size(text_px);
  }
  io.DisplaySize = ImVec2(static_cast<float>(width_px), static_cast<float>(height_px));
  const double now = now_seconds();
  io.DeltaTime = static_cast<float>(std::clamp(now - last_time_, 1e-4, 0.1));
  last_time_ = now;
  take_events();
}

bool ImGuiBridge::need(std::string_view text) {
  bool more = false;
  if constexpr (!kAtlasGrows) {
    for (const QChar c : QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()))) {
      more = (drawn_by_qt(c.unicode()) && extra_.insert(c.unicode()).second) || more;
    }
  }
  font_stale_ = font_stale_ || more;
  return more;
}

void ImGuiBridge::build_font() {
  use();
  build_atlas(*ImGui::GetIO().Fonts, text_px_, extra_);
}

}  // namespace locus::viewport
