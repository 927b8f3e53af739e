#include "renderers/vulkan/texture.h"

#include "renderers/vulkan/check.h"

namespace locus::vulkan {
namespace {

constexpr std::uint32_t kSetsPerPool = 64;

Result<SamplerHandle> make_sampler(const Gpu& gpu, VkFilter filter) {
  VkSamplerCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
  info.magFilter = filter;
  info.minFilter = filter;
  info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.maxLod = VK_LOD_CLAMP_NONE;
  VkSampler sampler = VK_NULL_HANDLE;
  LOCUS_CHECK(check(vkCreateSampler(gpu.device, &info, nullptr, &sampler), "vkCreateSampler"));
  return SamplerHandle(gpu.device, sampler);
}

}  // namespace

Result<std::unique_ptr<TextureFactory>> TextureFactory::create(const Gpu& gpu) {
  std::unique_ptr<TextureFactory> factory(new TextureFactory(gpu));
  VkDescriptorSetLayoutBinding binding{};
  binding.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
  binding.descriptorCount = 1;
  binding.stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT;
  VkDescriptorSetLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = 1;
  info.pBindings = &binding;
  VkDescriptorSetLayout layout = VK_NULL_HANDLE;
  LOCUS_CHECK(check(vkCreateDescriptorSetLayout(gpu.device, &info, nullptr, &layout), "vkCreateDescriptorSetLayout"));
  factory->layout_ = SetLayoutHandle(gpu.device, layout);
  LOCUS_TRY(factory->nearest_, make_sampler(gpu, VK_FILTER_NEAREST));
  LOCUS_TRY(factory->linear_, make_sampler(gpu, VK_FILTER_LINEAR));
  return factory;
}

Result<VkDescriptorSet> TextureFactory::take_set() {
  if (free_.empty()) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, kSetsPerPool};
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

Result<std::shared_ptr<Texture>> Texture::create(TextureFactory& factory, const ImageOptions& options, Filter filter) {
  LOCUS_TRY(GpuImage image, GpuImage::create(factory.gpu_, options));
  std::vector<ImageViewHandle> views;
  std::vector<VkDescriptorSet> sets;
  for (std::uint32_t level = 0; level < options.levels; ++level) {
    LOCUS_TRY(ImageViewHandle view, image.level_view(factory.gpu_, level));
    LOCUS_TRY(const VkDescriptorSet set, factory.take_set());
    VkDescriptorImageInfo info{};
    info.sampler = filter == Filter::kLinear ? factory.linear_.get() : factory.nearest_.get();
    info.imageView = view.get();
    info.imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    write.pImageInfo = &info;
    vkUpdateDescriptorSets(factory.gpu_.device, 1, &write, 0, nullptr);
    views.push_back(std::move(view));
    sets.push_back(set);
  }
  return std::make_shared<Texture>(factory, std::move(image), std::move(views), std::move(sets));
}

Texture::Texture(TextureFactory& factory, GpuImage image, std::vector<ImageViewHandle> views,
                 std::vector<VkDescriptorSet> sets)
    : factory_(factory), image_(std::move(image)), views_(std::move(views)), sets_(std::move(sets)) {}

Texture::~Texture() {
  factory_.free_.insert(factory_.free_.end(), sets_.begin(), sets_.end());
}

}  // namespace locus::vulkan
