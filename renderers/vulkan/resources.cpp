#include "renderers/vulkan/resources.h"

#include <optional>
#include <string>

namespace locus::vulkan {
namespace {

std::optional<std::uint32_t> memory_type(const Gpu& gpu, std::uint32_t allowed, VkMemoryPropertyFlags wanted) {
  for (std::uint32_t n = 0; n < gpu.memory.memoryTypeCount; ++n) {
    if ((allowed >> n & 1U) != 0 && (gpu.memory.memoryTypes[n].propertyFlags & wanted) == wanted) {
      return n;
    }
  }
  return std::nullopt;
}

Result<MemoryHandle> allocate(const Gpu& gpu, const VkMemoryRequirements& needs, VkMemoryPropertyFlags wanted) {
  const auto type = memory_type(gpu, needs.memoryTypeBits, wanted);
  if (!type) {
    return unsupported("the graphics device has no memory of the kind needed", "vkAllocateMemory");
  }
  auto info = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = needs.size;
  info.memoryTypeIndex = *type;
  return created<MemoryHandle>(gpu.device, vkAllocateMemory, info, "vkAllocateMemory");
}

Result<std::byte*> map_all(const Gpu& gpu, const MemoryHandle& memory) {
  void* data = nullptr;
  LOCUS_CHECK(check(vkMapMemory(gpu.device, memory.get(), 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory"));
  return static_cast<std::byte*>(data);
}

Result<BufferHandle> make_buffer(const Gpu& gpu, VkDeviceSize bytes, VkBufferUsageFlags usage) {
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = usage;
  return created<BufferHandle>(gpu.device, vkCreateBuffer, info, "vkCreateBuffer");
}

Result<ImageViewHandle> make_view(const Gpu& gpu, VkImage image, VkFormat format) {
  auto info = structure<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
  info.image = image;
  info.viewType = VK_IMAGE_VIEW_TYPE_2D;
  info.format = format;
  info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return created<ImageViewHandle>(gpu.device, vkCreateImageView, info, "vkCreateImageView");
}

}  // namespace

Gpu Gpu::of(VkPhysicalDevice physical, VkDevice device) {
  Gpu gpu;
  gpu.physical = physical;
  gpu.device = device;
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(physical, &properties);
  gpu.limits = properties.limits;
  vkGetPhysicalDeviceMemoryProperties(physical, &gpu.memory);
  return gpu;
}

Result<HostBuffer> HostBuffer::create(const Gpu& gpu, VkDeviceSize bytes, VkBufferUsageFlags usage) {
  HostBuffer result;
  LOCUS_TRY(result.buffer_, make_buffer(gpu, bytes, usage));
  const VkBuffer buffer = result.buffer_.get();
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(gpu.device, buffer, &needs);
  LOCUS_TRY(result.memory_,
            allocate(gpu, needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT));
  LOCUS_CHECK(check(vkBindBufferMemory(gpu.device, buffer, result.memory_.get(), 0), "vkBindBufferMemory"));
  LOCUS_TRY(result.data_, map_all(gpu, result.memory_));
  result.size_ = bytes;
  return result;
}

Result<TexelBuffer> TexelBuffer::create(const Gpu& gpu, std::uint32_t texels, VkFormat format, bool mapped) {
  constexpr VkMemoryPropertyFlags kBoth =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  TexelBuffer result;
  result.bytes_ = VkDeviceSize{4} * texels;
  LOCUS_TRY(result.buffer_, make_buffer(gpu, result.bytes_,
                                        VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT));
  const VkBuffer buffer = result.buffer_.get();
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(gpu.device, buffer, &needs);
  if (auto both = mapped ? allocate(gpu, needs, kBoth) : Result<MemoryHandle>(unsupported("not asked for"))) {
    result.memory_ = *std::move(both);
  } else {
    mapped = false;
    LOCUS_TRY(result.memory_, allocate(gpu, needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT));
  }
  LOCUS_CHECK(check(vkBindBufferMemory(gpu.device, buffer, result.memory_.get(), 0), "vkBindBufferMemory"));
  if (mapped) {
    LOCUS_TRY(result.data_, map_all(gpu, result.memory_));
  }
  auto info = structure<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
  info.buffer = buffer;
  info.format = format;
  info.range = VK_WHOLE_SIZE;
  LOCUS_TRY(result.view_, created<BufferViewHandle>(gpu.device, vkCreateBufferView, info, "vkCreateBufferView"));
  return result;
}

Result<GpuImage> GpuImage::create(const Gpu& gpu, const ImageOptions& options) {
  GpuImage result;
  auto info = structure<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = options.format;
  info.extent = {options.width, options.height, 1};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = options.usage;
  LOCUS_TRY(result.image_, created<ImageHandle>(gpu.device, vkCreateImage, info, "vkCreateImage"));
  const VkImage image = result.image_.get();
  VkMemoryRequirements needs{};
  vkGetImageMemoryRequirements(gpu.device, image, &needs);
  LOCUS_TRY(result.memory_, allocate(gpu, needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT));
  LOCUS_CHECK(check(vkBindImageMemory(gpu.device, image, result.memory_.get(), 0), "vkBindImageMemory"));
  LOCUS_TRY(result.view_, make_view(gpu, image, options.format));
  return result;
}

Status check(VkResult result, const char* call) {
  switch (result) {
    case VK_SUCCESS:
      return {};
    case VK_ERROR_DEVICE_LOST:
      return unsupported("the graphics device was lost (reset, suspended or its driver failed)", call);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return too_large("the graphics device has no memory left", call);
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return too_large("the graphics driver found no memory", call);
    default:
      return unsupported("Vulkan error " + std::to_string(static_cast<int>(result)), call);
  }
}

}  // namespace locus::vulkan
