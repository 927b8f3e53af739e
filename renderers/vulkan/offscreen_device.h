// The instance, device and render target of an Offscreen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "renderers/vulkan/resources.h"

namespace locus::vulkan {

// A Vulkan instance and a device of it with one graphics queue.
class OffscreenDevice {
 public:
  static Result<std::unique_ptr<OffscreenDevice>> create(bool validation);
  OffscreenDevice(const OffscreenDevice&) = delete;
  OffscreenDevice& operator=(const OffscreenDevice&) = delete;
  ~OffscreenDevice();

  VkInstance instance() const { return instance_; }
  VkPhysicalDevice physical() const { return physical_; }
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  std::uint32_t queue_family() const { return family_; }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  OffscreenDevice() = default;
  Status make_instance(bool validation);
  Status make_messenger();
  Status pick_physical();
  Status make_device();

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  std::vector<std::string> messages_;
};

// An RGBA image to draw on, its framebuffer, and memory to read it back into.
struct OffscreenTarget {
  GpuImage image;
  FramebufferHandle framebuffer;
  HostBuffer readback;
  VkExtent2D size{};

  static Result<OffscreenTarget> create(const Gpu& gpu, VkRenderPass render_pass, VkExtent2D size);
};

// One colour attachment, cleared, left ready to be copied from.
Result<RenderPassHandle> make_offscreen_render_pass(VkDevice device);

}  // namespace locus::vulkan
