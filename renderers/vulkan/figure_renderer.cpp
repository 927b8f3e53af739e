#include "renderers/vulkan/figure_renderer.h"

#include <algorithm>
#include <cstring>

#include "renderers/vulkan/check.h"

namespace locus::vulkan {

FigureRenderer::FigureRenderer(const RendererOptions& options, const text::Typeface& typeface)
    : options_(options), typeface_(typeface) {}

Result<std::unique_ptr<FigureRenderer>> FigureRenderer::create(const RendererOptions& options,
                                                               const text::Typeface& typeface) {
  std::unique_ptr<FigureRenderer> renderer(new FigureRenderer(options, typeface));
  LOCUS_CHECK(renderer->initialise());
  return renderer;
}

Status FigureRenderer::initialise() {
  const Gpu gpu = Gpu::of(options_.physical, options_.device);
  LOCUS_TRY(factory_, TextureFactory::create(gpu));
  uploader_ = std::make_unique<Uploader>(gpu, options_.frame_slots);
  fields_ = std::make_unique<FieldTextures>(*factory_, *uploader_, options_.textures);
  images_ = std::make_unique<ImageTextures>(*factory_, *uploader_);
  LOCUS_TRY(pipelines_, Pipelines::create(*factory_, options_.render_pass, options_.samples));
  instances_.resize(options_.frame_slots);
  return {};
}

Status FigureRenderer::upload_colormaps() {
  const auto& maps = figure::colormaps();
  ImageOptions options;
  options.width = 256;
  options.height = static_cast<std::uint32_t>(maps.size());
  LOCUS_TRY(labels_, LabelAtlas::create(*factory_, *uploader_, typeface_));
  LOCUS_TRY(colormaps_, Texture::create(*factory_, options, Texture::Filter::kNearest));
  LOCUS_TRY(const Uploader::Staged staged, uploader_->stage(VkDeviceSize{4} * 256 * maps.size()));
  auto* texel = reinterpret_cast<std::uint8_t*>(staged.data);
  for (const figure::Colormap& map : maps) {
    for (const std::uint32_t color : map.colors) {
      *texel++ = static_cast<std::uint8_t>(color >> 16);
      *texel++ = static_cast<std::uint8_t>(color >> 8 & 0xFF);
      *texel++ = static_cast<std::uint8_t>(color & 0xFF);
      *texel++ = 0xFF;
    }
  }
  uploader_->add_new(colormaps_->image());
  uploader_->copy(colormaps_->image(), staged, 0, {0, 0}, {options.width, options.height});
  colormaps_ready_ = true;
  return {};
}

Status FigureRenderer::build(std::span<const PlacedScene> scenes) {
  list_ = {};
  SceneBuilder builder(*fields_, *images_, *labels_, typeface_, list_);
  for (const PlacedScene& scene : scenes) {
    LOCUS_CHECK(builder.add(scene));
  }
  return {};
}

Status FigureRenderer::upload_instances(std::size_t slot) {
  const VkDeviceSize shapes = list_.shapes.size() * sizeof(ShapeInstance);
  const VkDeviceSize maps = list_.maps.size() * sizeof(MapInstance);
  HostBuffer& buffer = instances_[slot];
  if (buffer.size() < shapes + maps || buffer.size() == 0) {
    LOCUS_TRY(buffer, HostBuffer::create(Gpu::of(options_.physical, options_.device), 2 * (shapes + maps) + 65536,
                                         VK_BUFFER_USAGE_VERTEX_BUFFER_BIT));
  }
  if (shapes > 0) {
    std::memcpy(buffer.data(), list_.shapes.data(), shapes);
  }
  if (maps > 0) {
    std::memcpy(buffer.data() + shapes, list_.maps.data(), maps);
  }
  maps_offset_ = shapes;
  slot_ = slot;
  return {};
}

Status FigureRenderer::prepare(VkCommandBuffer commands, std::size_t slot, std::span<const PlacedScene> scenes,
                               VkExtent2D size) {
  size_ = size;
  uploader_->begin(slot);
  fields_->begin();
  images_->begin();
  Status status = colormaps_ready_ ? Status() : upload_colormaps();
  if (status) {
    status = build(scenes);
    if (!status && status.error().context == LabelAtlas::kFull) {
      labels_->restart();
      status = build(scenes);
    }
  }
  if (status) {
    status = upload_instances(slot);
  }
  if (!status) {
    list_ = {};
  }
  uploader_->record(commands);
  stats_ = {uploader_->bytes_staged(), list_.batches.size(), fields_->fields(), fields_->bytes()};
  return status;
}

void FigureRenderer::draw(VkCommandBuffer commands) {
  if (list_.batches.empty()) {
    return;
  }
  const VkViewport viewport{0, 0, static_cast<float>(size_.width), static_cast<float>(size_.height), 0, 1};
  const VkRect2D scissor{{0, 0}, size_};
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &scissor);
  const FrameConstants constants{{2.0F / viewport.width, 2.0F / viewport.height}};
  vkCmdPushConstants(commands, pipelines_.layout.get(), VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(constants), &constants);
  const VkDescriptorSet colormaps = colormaps_->set();
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_.layout.get(), 1, 1, &colormaps, 0,
                          nullptr);
  const VkBuffer buffer = instances_[slot_].get();
  const Batch* last = nullptr;
  for (const Batch& batch : list_.batches) {
    if (last == nullptr || last->maps != batch.maps) {
      const VkDeviceSize offset = batch.maps ? maps_offset_ : 0;
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS,
                        batch.maps ? pipelines_.maps.get() : pipelines_.shapes.get());
      vkCmdBindVertexBuffers(commands, 0, 1, &buffer, &offset);
    }
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_.layout.get(), 0, 1, &batch.set, 0,
                            nullptr);
    vkCmdDraw(commands, 4, batch.count, 0, batch.first);
    last = &batch;
  }
}

}  // namespace locus::vulkan
