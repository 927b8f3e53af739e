// Texture: an image a shader samples, with its descriptor set.
#pragma once

#include <memory>
#include <vector>

#include "renderers/vulkan/resources.h"

namespace locus::vulkan {

// Descriptor sets of one combined image sampler at binding 0, and the two samplers they use. Outlives its textures.
class TextureFactory {
 public:
  static Result<std::unique_ptr<TextureFactory>> create(const Gpu& gpu);

  const Gpu& gpu() const { return gpu_; }
  VkDescriptorSetLayout set_layout() const { return layout_.get(); }

 private:
  friend class Texture;
  explicit TextureFactory(const Gpu& gpu) : gpu_(gpu) {}
  Result<VkDescriptorSet> take_set();

  Gpu gpu_;
  SetLayoutHandle layout_;
  SamplerHandle nearest_;
  SamplerHandle linear_;
  std::vector<DescriptorPoolHandle> pools_;
  std::vector<VkDescriptorSet> free_;
};

class Texture {
 public:
  enum class Filter { kNearest, kLinear };
  static Result<std::shared_ptr<Texture>> create(TextureFactory& factory, const ImageOptions& options, Filter filter);

  Texture(TextureFactory& factory, GpuImage image, std::vector<ImageViewHandle> views,
          std::vector<VkDescriptorSet> sets);
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture();

  const GpuImage& image() const { return image_; }
  // Of one level alone, which shaders see as level 0: software drivers are slow where the level may vary.
  VkDescriptorSet set(std::uint32_t level = 0) const { return sets_[level]; }

 private:
  TextureFactory& factory_;
  GpuImage image_;
  std::vector<ImageViewHandle> views_;  // one a level
  std::vector<VkDescriptorSet> sets_;
};

}  // namespace locus::vulkan
