// Uploader: bytes on their way into images and texels. Staging memory lives until its frame slot comes round again; so
// do objects handed to retire(), which the GPU may still be reading.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "renderers/vulkan/resources.h"

namespace locus::vulkan {

class Uploader {
 public:
  Uploader(const Gpu& gpu, std::size_t slot_count) : gpu_(gpu), slots_(slot_count) {}

  // Begins a frame in `slot`; the GPU has finished the slot's earlier frame.
  void begin(std::size_t slot);

  // Room for `bytes`, to be filled by the caller before record().
  struct Staged {
    std::byte* data = nullptr;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
  };
  Result<Staged> stage(VkDeviceSize bytes);

  // `image` has never been written: its first copy need not keep what is there.
  void add_new(const GpuImage& image);
  // Copies tightly packed texels into a rectangle.
  void copy(const GpuImage& image, const Staged& from, VkOffset2D at, VkExtent2D size);
  // Copies `bytes` to the place `at`, in bytes.
  void copy(const TexelBuffer& texels, const Staged& from, VkDeviceSize at, VkDeviceSize bytes);

  // Drops the copies into `image` that are not recorded yet.
  void forget_copies(const GpuImage& image) { pending(image).copies.clear(); }

  // Keeps `object` alive until the GPU has finished this frame.
  void retire(std::shared_ptr<const void> object);

  // Records all copies, outside a render pass; fragment shaders see them afterwards.
  void record(VkCommandBuffer commands);

  VkDeviceSize bytes_staged() const { return bytes_staged_; }  // in this frame

 private:
  struct Slot {
    std::vector<std::unique_ptr<HostBuffer>> chunks;
    std::vector<std::shared_ptr<const void>> retired;
    VkDeviceSize used = 0;  // of the last chunk
  };
  struct Pending {
    VkImage image = VK_NULL_HANDLE;
    bool is_new = false;
    std::map<VkBuffer, std::vector<VkBufferImageCopy>> copies;
  };

  struct BufferCopy {
    VkBuffer from = VK_NULL_HANDLE;
    VkBuffer to = VK_NULL_HANDLE;
    VkBufferCopy region{};
  };

  Pending& pending(const GpuImage& image);

  Gpu gpu_;
  std::vector<Slot> slots_;
  std::size_t slot_ = 0;
  std::vector<Pending> pending_;
  std::vector<BufferCopy> buffer_copies_;
  VkDeviceSize bytes_staged_ = 0;
};

}  // namespace locus::vulkan
