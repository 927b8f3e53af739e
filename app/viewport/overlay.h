// Overlay: an interactive layer over the figure, drawn with Dear ImGui, which receives mouse and keys in its areas.
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

// State of the canvas in a frame; coordinates are device pixels.
struct OverlayFrame {
  const figure::Figure* figure = nullptr;    // as seen through the camera; null: none
  const figure::Layout* layout = nullptr;    // of `figure`; null without it
  std::uint64_t laid_out = 0;                // id of the layout, different for every new one
  const PlacedCaption* statement = nullptr;  // at the upper left; null: not shown
  std::string whole_statement;               // the text, which may not fit in full
  figure::Point pointer;                     // outside the canvas: the pointer has left
  double width = 0;
  double height = 0;
  double text = 13;  // size of the figure's text
  double dpr = 1;
  bool dark = false;
};

// Cost of a frame.
struct FrameCost {
  double cpu_ms = 0;       // preparation
  double overlay_ms = 0;   // share of the overlay
  double uploaded_mb = 0;  // values, labels and images
  double gpu_mb = 0;       // memory of values on the GPU
  std::size_t draws = 0;
  std::size_t waiting = 0;  // tiles to upload in later frames
  std::string gpu;          // "llvmpipe (LLVM 15.0.6, 256 bits)"
  double gpu_total_mb = 0;  // memory of the device
};

class Overlay {
 public:
  virtual ~Overlay() = default;
  // Text of the statement at the upper left, above everything the figure draws; empty: none.
  virtual const std::string& statement() const = 0;
  // Draws a frame, between ImGui's NewFrame and Render.
  virtual void draw(const OverlayFrame& frame, ImGuiBridge& imgui) = 0;
  // Whether a point was in one of its areas in the last frame, where it receives the mouse instead of the figure.
  virtual bool covers(const figure::Point& at) const = 0;
  // Whether it describes the cell under the pointer in this frame; the tooltip is then hidden.
  virtual bool says_cell() const = 0;
  // Called after each frame with its cost.
  virtual void measured(const FrameCost& cost) = 0;
};

}  // namespace locus::viewport
