// Offscreen: Figures to pixels by Vulkan, without a window or a display; the workbench's own renderer on an own device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "renderers/vulkan/figure_renderer.h"

namespace locus::vulkan {

struct OffscreenOptions {
  bool validation = false;  // the Khronos validation layer; its findings are kept in messages()
  std::size_t frame_slots = 2;
  FieldBufferOptions fields;
  int lose_device_at = -1;  // this frame (from 0) fails as if the device were lost; for tests
};

// Row-major RGBA, 8 bits a channel.
struct PixelImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgba;
};

class Offscreen {
 public:
  // Errors: kUnsupported when there is no Vulkan driver, or no validation layer where it is asked for.
  static Result<std::unique_ptr<Offscreen>> create(const OffscreenOptions& options, const text::Typeface& typeface);
  virtual ~Offscreen() = default;

  // Draws the scenes on black. A lost device is an error here and at every later call.
  virtual Result<PixelImage> render(std::span<const PlacedScene> scenes, std::uint32_t width, std::uint32_t height) = 0;

  // Draws as render() does and waits, without reading the pixels back: what a frame costs.
  virtual Status draw(std::span<const PlacedScene> scenes, std::uint32_t width, std::uint32_t height) = 0;

  // Draws over the scenes, in their render pass: an ImGui frame. Empty: nothing.
  using Overlay = std::function<void(VkCommandBuffer)>;
  virtual void set_overlay(Overlay overlay) = 0;
  // The objects an overlay needs to make its own.
  struct Native {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    VkRenderPass render_pass = VK_NULL_HANDLE;
  };
  virtual Native native() const = 0;

  virtual const FrameStats& stats() const = 0;
  virtual const std::vector<std::string>& messages() const = 0;  // of the validation layer
};

// A whole figure of width × height pixels: laid out in pixels, composed and drawn.
Result<PixelImage> render(Offscreen& offscreen, const figure::Figure& figure, std::uint32_t width, std::uint32_t height,
                          const figure::Style& style, const text::Typeface& typeface);

}  // namespace locus::vulkan
