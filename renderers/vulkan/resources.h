// Buffers and images that free themselves. All belong to the thread that draws.
#pragma once

#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/result.h"

namespace locus::vulkan {

// Ok for VK_SUCCESS; otherwise an error that names the call. Out of memory is kTooLarge, all else kUnsupported.
Status check(VkResult result, const char* call);

// The device of every object here; outlives all of them.
struct Gpu {
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkPhysicalDeviceLimits limits{};
  VkPhysicalDeviceMemoryProperties memory{};

  static Gpu of(VkPhysicalDevice physical, VkDevice device);
};

// A Vulkan object of a device, destroyed by `Destroy`.
template <class T, auto Destroy>
class Handle {
 public:
  using Object = T;

  Handle() = default;
  Handle(VkDevice device, T object) : device_(device), object_(object) {}
  Handle(Handle&& other) noexcept
      : device_(other.device_), object_(std::exchange(other.object_, static_cast<T>(VK_NULL_HANDLE))) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(device_, other.device_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != VK_NULL_HANDLE) {
      Destroy(device_, object_, nullptr);
    }
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != VK_NULL_HANDLE; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  T object_ = VK_NULL_HANDLE;
};

using BufferHandle = Handle<VkBuffer, vkDestroyBuffer>;
using BufferViewHandle = Handle<VkBufferView, vkDestroyBufferView>;
using ImageHandle = Handle<VkImage, vkDestroyImage>;
using ImageViewHandle = Handle<VkImageView, vkDestroyImageView>;
using MemoryHandle = Handle<VkDeviceMemory, vkFreeMemory>;
using SamplerHandle = Handle<VkSampler, vkDestroySampler>;
using ShaderHandle = Handle<VkShaderModule, vkDestroyShaderModule>;
using PipelineHandle = Handle<VkPipeline, vkDestroyPipeline>;
using PipelineLayoutHandle = Handle<VkPipelineLayout, vkDestroyPipelineLayout>;
using SetLayoutHandle = Handle<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout>;
using DescriptorPoolHandle = Handle<VkDescriptorPool, vkDestroyDescriptorPool>;
using RenderPassHandle = Handle<VkRenderPass, vkDestroyRenderPass>;
using FramebufferHandle = Handle<VkFramebuffer, vkDestroyFramebuffer>;
using CommandPoolHandle = Handle<VkCommandPool, vkDestroyCommandPool>;
using FenceHandle = Handle<VkFence, vkDestroyFence>;

// An empty structure of this type.
template <class T>
T structure(VkStructureType type) {
  T empty{};
  empty.sType = type;
  return empty;
}

// The object that `create` makes of `info`; an error names it as `call`.
template <class H, class Info>
Result<H> created(VkDevice device,
                  VkResult (*create)(VkDevice, const Info*, const VkAllocationCallbacks*, typename H::Object*),
                  const Info& info, const char* call) {
  typename H::Object object = VK_NULL_HANDLE;
  LOCUS_CHECK(check(create(device, &info, nullptr, &object), call));
  return H(device, object);
}

// Memory that the CPU writes (or reads) and the GPU uses, mapped as long as it lives.
class HostBuffer {
 public:
  static Result<HostBuffer> create(const Gpu& gpu, VkDeviceSize bytes, VkBufferUsageFlags usage);

  VkBuffer get() const { return buffer_.get(); }
  std::byte* data() const { return data_; }
  VkDeviceSize size() const { return size_; }

 private:
  MemoryHandle memory_;
  BufferHandle buffer_;
  std::byte* data_ = nullptr;
  VkDeviceSize size_ = 0;
};

// Texels in the device's memory with a view of all of them: what a shader reads by number.
class TexelBuffer {
 public:
  // `texels` of `format`, which is 4 bytes large. With `mapped` the memory is the CPU's too where the device has such
  // (software drivers, most new cards).
  static Result<TexelBuffer> create(const Gpu& gpu, std::uint32_t texels, VkFormat format, bool mapped);

  VkBuffer get() const { return buffer_.get(); }
  VkBufferView view() const { return view_.get(); }
  std::byte* data() const { return data_; }  // null when the CPU cannot write it: stage and copy
  VkDeviceSize bytes() const { return bytes_; }

 private:
  MemoryHandle memory_;
  BufferHandle buffer_;
  BufferViewHandle view_;
  std::byte* data_ = nullptr;
  VkDeviceSize bytes_ = 0;
};

struct ImageOptions {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  VkImageUsageFlags usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
};

// A colour image of one level in the device's memory, with its view.
class GpuImage {
 public:
  static Result<GpuImage> create(const Gpu& gpu, const ImageOptions& options);

  VkImage get() const { return image_.get(); }
  VkImageView view() const { return view_.get(); }

 private:
  MemoryHandle memory_;
  ImageHandle image_;
  ImageViewHandle view_;
};

}  // namespace locus::vulkan
