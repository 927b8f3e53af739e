// Inputs of shaders, with their descriptor sets: pictures by place, numbers by index.
#pragma once

#include <memory>

#include "renderers/vulkan/descriptor_sets.h"
#include "renderers/vulkan/resources.h"

namespace locus::vulkan {

// The descriptor sets of both kinds and the sampler of pictures. Outlives what is made with it.
class TextureFactory {
 public:
  static Result<std::unique_ptr<TextureFactory>> create(const Gpu& gpu);

  const Gpu& gpu() const { return gpu_; }
  VkDescriptorSetLayout picture_layout() const { return pictures_->layout(); }
  VkDescriptorSetLayout texels_layout() const { return texels_->layout(); }

 private:
  friend class Texture;
  friend class Texels;
  explicit TextureFactory(const Gpu& gpu) : gpu_(gpu) {}

  Gpu gpu_;
  std::unique_ptr<DescriptorSets> pictures_;
  std::unique_ptr<DescriptorSets> texels_;
  SamplerHandle linear_;
};

// A picture, sampled with linear filtering at coordinates from 0 to 1.
class Texture {
 public:
  static Result<std::shared_ptr<Texture>> create(TextureFactory& factory, const ImageOptions& options);

  Texture(TextureFactory& factory, GpuImage image, VkDescriptorSet set)
      : factory_(factory), image_(std::move(image)), set_(set) {}
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture() { factory_.pictures_->give_back(set_); }

  const GpuImage& image() const { return image_; }
  VkDescriptorSet set() const { return set_; }

 private:
  TextureFactory& factory_;
  GpuImage image_;
  VkDescriptorSet set_;
};

// A TexelBuffer that shaders fetch from by index, without sampler, size or level: on software drivers a third of the
// work of fetching from an image.
class Texels {
 public:
  static Result<std::shared_ptr<Texels>> create(TextureFactory& factory, std::uint32_t count, VkFormat format,
                                                bool mapped);

  Texels(TextureFactory& factory, TexelBuffer buffer, VkDescriptorSet set)
      : factory_(factory), buffer_(std::move(buffer)), set_(set) {}
  Texels(const Texels&) = delete;
  Texels& operator=(const Texels&) = delete;
  ~Texels() { factory_.texels_->give_back(set_); }

  const TexelBuffer& buffer() const { return buffer_; }
  VkDescriptorSet set() const { return set_; }

 private:
  TextureFactory& factory_;
  TexelBuffer buffer_;
  VkDescriptorSet set_;
};

}  // namespace locus::vulkan
