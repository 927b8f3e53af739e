// The pipelines: solid fills, shapes (lines, text, images) and heat maps. All draw one quad an instance.
#pragma once

#include <array>
#include <cstdint>

#include "renderers/vulkan/texture.h"

namespace locus::vulkan {

// One quad of shape.vert; places are framebuffer pixels.
struct ShapeInstance {
  enum Kind : int { kClipped = 0, kRound = 1, kFlat = 2, kTexture = 3 };
  float top[4] = {};     // x, y of the corner (u0, v0), then of (u1, v0)
  float bottom[4] = {};  // of (u0, v1), then of (u1, v1)
  float uv[4] = {};      // u0, v0, u1, v1
  float color[4] = {};   // not premultiplied
  float kind[4] = {};    // kind, half width, length, opacity
  float clip[4] = {};    // left, top, right, bottom
};

// One quad of map.vert.
struct MapInstance {
  float place[4] = {};            // left, top, right, bottom in framebuffer pixels
  float cells[4] = {};            // column, row of the level at left top, then at right bottom
  std::int32_t texels[4] = {};    // the level's first texel, texels a strip; its last column, row
  float scale[4] = {};            // low, 1 / range (of logarithms under a log transfer), gamma, opacity
  std::uint32_t choices[4] = {};  // colormap, reduction, samples of a pixel across and down
  std::uint32_t colors[2] = {};   // mask colour
  float extent[2] = {};           // columns, rows of the level a pixel covers
};

struct FrameConstants {
  float to_clip[2] = {};  // 2 / framebuffer size
};

struct Pipelines {
  // Both have FrameConstants as push constants.
  PipelineLayoutHandle shape_layout;  // set 0 a picture
  PipelineLayoutHandle map_layout;    // set 0 values, set 1 the colormaps
  PipelineHandle fills;
  PipelineHandle shapes;
  // [opaque: nothing shows through][samples along each axis of a pixel: any number, 1, 2][figure::Transfer].
  std::array<std::array<std::array<PipelineHandle, 3>, 3>, 2> maps;

  static Result<Pipelines> create(const TextureFactory& factory, VkRenderPass render_pass,
                                  VkSampleCountFlagBits samples);
};

}  // namespace locus::vulkan
