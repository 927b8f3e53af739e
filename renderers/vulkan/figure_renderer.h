// FigureRenderer: draws Scenes in any Vulkan render pass: the one of a window, or offscreen.
//
// Values of heat maps stay on the GPU as floats: changing range, scale, colormap, pan or zoom uploads nothing but a
// hundred bytes a map. A frame is: prepare() before the render pass begins, draw() within it.
#pragma once

#include <memory>
#include <span>

#include "renderers/vulkan/draw_list.h"
#include "renderers/vulkan/uploader.h"

namespace locus::vulkan {

struct RendererOptions {
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkRenderPass render_pass = VK_NULL_HANDLE;  // subpass 0, one colour attachment of a UNORM format
  VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
  std::size_t frame_slots = 1;  // frames in flight
  FieldBufferOptions fields;
};

// Costs of the last frame.
struct FrameStats {
  VkDeviceSize bytes_uploaded = 0;  // values, labels and images
  std::size_t draws = 0;
  std::size_t fields = 0;        // on the GPU now
  VkDeviceSize field_bytes = 0;  // that they take there
  bool pending = false;          // some of what was asked for is uploaded in the next frames
  std::size_t waiting = 0;       // tiles of that
};

class FigureRenderer {
 public:
  // `typeface` outlives the renderer. Destroy it when the device is idle and before the device goes.
  static Result<std::unique_ptr<FigureRenderer>> create(const RendererOptions& options, const text::Typeface& typeface);

  // Uploads what the scenes need and builds their quads; records copies into `commands`, outside a render pass. The GPU
  // has finished the earlier frame of `slot`. Errors leave a frame without figures.
  Status prepare(VkCommandBuffer commands, std::size_t slot, std::span<const PlacedScene> scenes, VkExtent2D size);

  // Draws what was prepared on the scenes' backgrounds, inside a render pass that began with the whole framebuffer
  // cleared to `cleared`: scenes of that background are not cleared again. Sets viewport and scissor to the whole
  // framebuffer.
  void draw(VkCommandBuffer commands, figure::Color cleared);

  const FrameStats& stats() const { return stats_; }

 private:
  FigureRenderer(const RendererOptions& options, const text::Typeface& typeface);
  Status initialise();
  Status upload_colormaps();
  Status build(std::span<const PlacedScene> scenes);
  Status upload_instances(std::size_t slot);
  VkPipeline pipeline(const Batch& batch) const;
  void clear_backgrounds(VkCommandBuffer commands, figure::Color cleared) const;

  RendererOptions options_;
  const text::Typeface& typeface_;
  std::unique_ptr<TextureFactory> factory_;
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<FieldBuffers> fields_;
  std::unique_ptr<ImageTextures> images_;
  std::unique_ptr<LabelAtlas> labels_;
  std::shared_ptr<Texels> colormaps_;
  Pipelines pipelines_;
  DrawList list_;
  std::vector<HostBuffer> instances_;  // a slot
  std::size_t slot_ = 0;
  VkDeviceSize maps_offset_ = 0;  // of the map quads in the slot's instances
  VkExtent2D size_{};
  bool colormaps_ready_ = false;
  FrameStats stats_;
};

}  // namespace locus::vulkan
