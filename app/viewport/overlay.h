// Overlay: what is drawn with Dear ImGui over a figure, and takes mouse and keys where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/viewport/canvas_room.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/geometry.h"
#include "renderers/figure/layout.h"

namespace locus::viewport {

class ImGuiBridge;

// A frame of the canvas; places are device pixels.
struct OverlayFrame {
  const figure::Figure* figure = nullptr;    // as it is seen: where the camera is; null: none
  const figure::Layout* layout = nullptr;    // of it; null with it
  std::uint64_t laid_out = 0;                // which layout that is: another number for another one
  const PlacedCaption* statement = nullptr;  // the line at the upper left
  std::string whole_statement;               // where that has no room for all of it
  figure::Point pointer;                     // outside the canvas when it has left
  double width = 0;
  double height = 0;
  double text = 13;  // the height of the figure's text
  double dpr = 1;
  bool dark = false;
};

// What the last frame cost, for who watches it.
struct FrameCost {
  double cpu_ms = 0;       // to prepare it
  double overlay_ms = 0;   // of that, the overlay's own
  double uploaded_mb = 0;  // values, labels and images
  double gpu_mb = 0;       // that the values take there
  std::size_t draws = 0;
  std::size_t waiting = 0;  // tiles that are uploaded in the next frames
  std::string gpu;          // "llvmpipe (LLVM 15.0.6, 256 bits)"
  double gpu_total_mb = 0;  // the device's own memory
};

class Overlay {
 public:
  virtual ~Overlay() = default;
  // The line that stands at the canvas's upper left, above everything that the figure draws; empty: none.
  virtual const std::string& statement() const = 0;
  // Between ImGui's NewFrame and Render.
  virtual void draw(const OverlayFrame& frame, ImGuiBridge& imgui) = 0;
  // Whether a place belonged to it in the last frame: the mouse there is not the figure's.
  virtual bool covers(const figure::Point& at) const = 0;
  // Whether what it drew in this frame says what the pointed cell is: no box at the pointer does then.
  virtual bool says_cell() const = 0;
  // After a frame.
  virtual void measured(const FrameCost& cost) = 0;
};

}  // namespace locus::viewport
