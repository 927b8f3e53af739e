#include "renderers/vulkan/texture.h"

namespace locus::vulkan {

Result<std::unique_ptr<TextureFactory>> TextureFactory::create(const Gpu& gpu) {
  std::unique_ptr<TextureFactory> factory(new TextureFactory(gpu));
  LOCUS_TRY(factory->pictures_, DescriptorSets::create(gpu, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER));
  LOCUS_TRY(factory->texels_, DescriptorSets::create(gpu, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER));
  auto info = structure<VkSamplerCreateInfo>(VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO);
  info.magFilter = VK_FILTER_LINEAR;
  info.minFilter = VK_FILTER_LINEAR;
  info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  LOCUS_TRY(factory->linear_, created<SamplerHandle>(gpu.device, vkCreateSampler, info, "vkCreateSampler"));
  return factory;
}

Result<std::shared_ptr<Texture>> Texture::create(TextureFactory& factory, const ImageOptions& options) {
  LOCUS_TRY(GpuImage image, GpuImage::create(factory.gpu_, options));
  const VkDescriptorImageInfo info{factory.linear_.get(), image.view(), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  LOCUS_TRY(const VkDescriptorSet set, factory.pictures_->take(info));
  return std::make_shared<Texture>(factory, std::move(image), set);
}

Result<std::shared_ptr<Texels>> Texels::create(TextureFactory& factory, std::uint32_t count, VkFormat format,
                                               bool mapped) {
  LOCUS_TRY(TexelBuffer buffer, TexelBuffer::create(factory.gpu_, count, format, mapped));
  LOCUS_TRY(const VkDescriptorSet set, factory.texels_->take(buffer.view()));
  return std::make_shared<Texels>(factory, std::move(buffer), set);
}

}  // namespace locus::vulkan
