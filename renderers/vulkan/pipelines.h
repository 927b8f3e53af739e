// The pipelines: solid fills, shapes (lines, text, images) and heat maps. All draw one quad an instance.
#pragma once

#include <array>
#include <cstdint>

#include "renderers/figure/figure.h"
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
  std::uint32_t colors[2] = {};   // of the mask and of its hatching
  float extent[2] = {};           // columns, rows of the level a pixel covers
  float hatch[2] = {1, 0};        // its period, and how wide the lines are along an axis; pixels
};

struct FrameConstants {
  float to_clip[2] = {};  // 2 / framebuffer size
};

// The kind of map that a pipeline draws, one pipeline each: software drivers evaluate both sides of every branch.
struct MapKind {
  bool opaque = false;     // nothing shows through: blending costs as much as sampling
  std::uint32_t taps = 0;  // samples along each axis of a pixel: 1, 2, or 0 for any number
  figure::Transfer transfer = figure::Transfer::kLinear;
  bool centred = false;  // as figure::ColorScale has it

  bool operator==(const MapKind&) const = default;
};

class Pipelines {
 public:
  static Result<Pipelines> create(const TextureFactory& factory, VkRenderPass render_pass,
                                  VkSampleCountFlagBits samples);

  // Makes the pipeline unless it is there: one takes milliseconds, and of all few are used.
  Status need(const MapKind& kind);

  // Both layouts have FrameConstants as push constants.
  VkPipelineLayout shape_layout() const { return shape_layout_.get(); }  // set 0 a picture
  VkPipelineLayout map_layout() const { return map_layout_.get(); }      // set 0 values, set 1 the colormaps
  VkPipeline fills() const { return fills_.get(); }
  VkPipeline shapes() const { return shapes_.get(); }
  VkPipeline maps(const MapKind& kind) const { return maps_[index(kind)].get(); }  // that need() has made

 private:
  static constexpr std::size_t kTaps = 3;
  static constexpr std::size_t kTransfers = 6;          // three, centred or not
  static std::uint32_t transfer(const MapKind& kind) {  // as map.frag counts them
    return static_cast<std::uint32_t>(kind.transfer) + (kind.centred ? 3U : 0U);
  }
  static std::size_t index(const MapKind& kind) {
    return ((kind.opaque ? kTaps : 0) + kind.taps) * kTransfers + transfer(kind);
  }

  VkDevice device_ = VK_NULL_HANDLE;
  VkRenderPass render_pass_ = VK_NULL_HANDLE;
  VkSampleCountFlagBits samples_ = VK_SAMPLE_COUNT_1_BIT;
  PipelineLayoutHandle shape_layout_;
  PipelineLayoutHandle map_layout_;
  PipelineHandle fills_;
  PipelineHandle shapes_;
  std::array<PipelineHandle, 2 * kTaps * kTransfers> maps_;
};

}  // namespace locus::vulkan
