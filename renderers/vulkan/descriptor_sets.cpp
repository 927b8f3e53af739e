#include "renderers/vulkan/descriptor_sets.h"

#include "renderers/vulkan/check.h"

namespace locus::vulkan {
namespace {

constexpr std::uint32_t kSetsPerPool = 64;

}  // namespace

Result<std::unique_ptr<DescriptorSets>> DescriptorSets::create(const Gpu& gpu, VkDescriptorType type) {
  std::unique_ptr<DescriptorSets> sets(new DescriptorSets(gpu, type));
  VkDescriptorSetLayoutBinding binding{};
  binding.descriptorType = type;
  binding.descriptorCount = 1;
  binding.stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT;
  VkDescriptorSetLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = 1;
  info.pBindings = &binding;
  VkDescriptorSetLayout layout = VK_NULL_HANDLE;
  LOCUS_CHECK(check(vkCreateDescriptorSetLayout(gpu.device, &info, nullptr, &layout), "vkCreateDescriptorSetLayout"));
  sets->layout_ = SetLayoutHandle(gpu.device, layout);
  return sets;
}

Result<VkDescriptorSet> DescriptorSets::take() {
  if (free_.empty()) {
    const VkDescriptorPoolSize size{type_, kSetsPerPool};
    VkDescriptorPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool_info.maxSets = kSetsPerPool;
    pool_info.poolSizeCount = 1;
    pool_info.pPoolSizes = &size;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    LOCUS_CHECK(check(vkCreateDescriptorPool(gpu_.device, &pool_info, nullptr, &pool), "vkCreateDescriptorPool"));
    pools_.emplace_back(gpu_.device, pool);
    const std::vector<VkDescriptorSetLayout> layouts(kSetsPerPool, layout_.get());
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = pool;
    info.descriptorSetCount = kSetsPerPool;
    info.pSetLayouts = layouts.data();
    std::vector<VkDescriptorSet> sets(kSetsPerPool);
    LOCUS_CHECK(check(vkAllocateDescriptorSets(gpu_.device, &info, sets.data()), "vkAllocateDescriptorSets"));
    free_ = std::move(sets);
  }
  const VkDescriptorSet set = free_.back();
  free_.pop_back();
  return set;
}

Result<VkDescriptorSet> DescriptorSets::written(VkWriteDescriptorSet write) {
  LOCUS_TRY(const VkDescriptorSet set, take());
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = set;
  write.descriptorCount = 1;
  write.descriptorType = type_;
  vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
  return set;
}

Result<VkDescriptorSet> DescriptorSets::take(const VkDescriptorImageInfo& image) {
  VkWriteDescriptorSet write{};
  write.pImageInfo = &image;
  return written(write);
}

Result<VkDescriptorSet> DescriptorSets::take(VkBufferView texels) {
  VkWriteDescriptorSet write{};
  write.pTexelBufferView = &texels;
  return written(write);
}

}  // namespace locus::vulkan
