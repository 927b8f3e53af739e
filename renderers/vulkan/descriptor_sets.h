// DescriptorSets: sets of one descriptor at binding 0 for fragment shaders, all of one type.
#pragma once

#include <memory>
#include <vector>

#include "renderers/vulkan/resources.h"

namespace locus::vulkan {

// Outlives what it gave sets to.
class DescriptorSets {
 public:
  static Result<std::unique_ptr<DescriptorSets>> create(const Gpu& gpu, VkDescriptorType type);

  VkDescriptorSetLayout layout() const { return layout_.get(); }
  // A set that shows `image` (or `texels`), to be given back when no frame in flight uses it.
  Result<VkDescriptorSet> take(const VkDescriptorImageInfo& image);
  Result<VkDescriptorSet> take(VkBufferView texels);
  void give_back(VkDescriptorSet set) { free_.push_back(set); }

 private:
  DescriptorSets(const Gpu& gpu, VkDescriptorType type) : gpu_(gpu), type_(type) {}
  Result<VkDescriptorSet> take();
  Result<VkDescriptorSet> written(VkWriteDescriptorSet write);

  Gpu gpu_;
  VkDescriptorType type_;
  SetLayoutHandle layout_;
  std::vector<DescriptorPoolHandle> pools_;
  std::vector<VkDescriptorSet> free_;
};

}  // namespace locus::vulkan
