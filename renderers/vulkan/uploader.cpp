#include "renderers/vulkan/uploader.h"

#include <algorithm>

namespace locus::vulkan {
namespace {

constexpr VkDeviceSize kChunk = VkDeviceSize{4} << 20;
constexpr VkDeviceSize kAlignment = 16;

VkImageMemoryBarrier barrier(VkImage image, VkImageLayout from, VkImageLayout to) {
  auto result = structure<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
  result.oldLayout = from;
  result.newLayout = to;
  result.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  result.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  result.image = image;
  result.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return result;
}

void record_barriers(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                     const VkMemoryBarrier& texels, const std::vector<VkImageMemoryBarrier>& images) {
  vkCmdPipelineBarrier(commands, from, to, 0, 1, &texels, 0, nullptr, static_cast<std::uint32_t>(images.size()),
                       images.data());
}

}  // namespace

void Uploader::begin(std::size_t slot) {
  slot_ = slot;
  Slot& now = slots_[slot_];
  now.retired.clear();
  // One small chunk is kept for the labels and thumbnails of the next frames.
  const bool keeps = !now.chunks.empty() && now.chunks.front()->size() == kChunk;
  now.chunks.resize(keeps ? 1 : 0);
  now.used = 0;
  pending_.clear();
  buffer_copies_.clear();
  bytes_staged_ = 0;
}

Result<Uploader::Staged> Uploader::stage(VkDeviceSize bytes) {
  Slot& now = slots_[slot_];
  const VkDeviceSize offset = (now.used + kAlignment - 1) / kAlignment * kAlignment;
  if (now.chunks.empty() || offset + bytes > now.chunks.back()->size()) {
    LOCUS_TRY(HostBuffer chunk, HostBuffer::create(gpu_, std::max(bytes, kChunk), VK_BUFFER_USAGE_TRANSFER_SRC_BIT));
    now.chunks.push_back(std::make_unique<HostBuffer>(std::move(chunk)));
    now.used = 0;
  } else {
    now.used = offset;
  }
  const HostBuffer& chunk = *now.chunks.back();
  const Staged staged{chunk.data() + now.used, chunk.get(), now.used};
  now.used += bytes;
  bytes_staged_ += bytes;
  return staged;
}

Uploader::Pending& Uploader::pending(const GpuImage& image) {
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& other) { return other.image == image.get(); });
  if (found != pending_.end()) {
    return *found;
  }
  pending_.push_back({image.get(), false, {}});
  return pending_.back();
}

void Uploader::add_new(const GpuImage& image) {
  pending(image).is_new = true;
}

void Uploader::copy(const GpuImage& image, const Staged& from, VkOffset2D at, VkExtent2D size) {
  VkBufferImageCopy region{};
  region.bufferOffset = from.offset;
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  region.imageOffset = {at.x, at.y, 0};
  region.imageExtent = {size.width, size.height, 1};
  pending(image).copies[from.buffer].push_back(region);
}

void Uploader::copy(const TexelBuffer& texels, const Staged& from, VkDeviceSize at, VkDeviceSize bytes) {
  buffer_copies_.push_back({from.buffer, texels.get(), {from.offset, at, bytes}});
}

void Uploader::retire(std::shared_ptr<const void> object) {
  slots_[slot_].retired.push_back(std::move(object));
}

void Uploader::record(VkCommandBuffer commands) {
  if (pending_.empty() && buffer_copies_.empty()) {
    return;
  }
  std::vector<VkImageMemoryBarrier> before;
  std::vector<VkImageMemoryBarrier> after;
  for (const Pending& image : pending_) {
    before.push_back(barrier(image.image,
                             image.is_new ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                             VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL));
    before.back().dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    after.push_back(
        barrier(image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL));
    after.back().srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    after.back().dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
  }
  // Earlier frames may still be reading; the queue runs them first.
  auto texels = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  record_barriers(commands, VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, texels, before);
  for (const Pending& image : pending_) {
    for (const auto& [buffer, regions] : image.copies) {
      vkCmdCopyBufferToImage(commands, buffer, image.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                             static_cast<std::uint32_t>(regions.size()), regions.data());
    }
  }
  for (const BufferCopy& copy : buffer_copies_) {
    vkCmdCopyBuffer(commands, copy.from, copy.to, 1, &copy.region);
  }
  texels.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  texels.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
  record_barriers(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, texels, after);
  pending_.clear();
  buffer_copies_.clear();
}

}  // namespace locus::vulkan
