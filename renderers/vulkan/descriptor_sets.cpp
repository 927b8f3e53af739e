#include "renderers/vulkan/descriptor_sets.h"

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
  auto info = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  info.bindingCount = 1;
  info.pBindings = &binding;
  LOCUS_TRY(sets->layout_,
            created<SetLayoutHandle>(gpu.device, vkCreateDescriptorSetLayout, info, "vkCreateDescriptorSetLayout"));
  return sets;
}

Result<VkDescriptorSet> DescriptorSets::take() {
  if (free_.empty()) {
    const VkDescriptorPoolSize size{type_, kSetsPerPool};
    auto pool_info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    pool_info.maxSets = kSetsPerPool;
    pool_info.poolSizeCount = 1;
    pool_info.pPoolSizes = &size;
    LOCUS_TRY(auto pool,
              created<DescriptorPoolHandle>(gpu_.device, vkCreateDescriptorPool, pool_info, "vkCreateDescriptorPool"));
    pools_.push_back(std::move(pool));
    const std::vector<VkDescriptorSetLayout> layouts(kSetsPerPool, layout_.get());
    auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pools_.back().get();
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
