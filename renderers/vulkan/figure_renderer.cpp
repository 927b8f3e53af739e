#include "renderers/vulkan/figure_renderer.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace locus::vulkan {
namespace {

// Texels a colormap: sixteen between two colours of the table, so that one fetch is right to a rounding.
constexpr std::uint32_t kColormapWidth = 4096;

}  // namespace

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
  fields_ = std::make_unique<FieldBuffers>(*factory_, *uploader_, options_.fields);
  images_ = std::make_unique<ImageTextures>(*factory_, *uploader_);
  LOCUS_TRY(pipelines_, Pipelines::create(*factory_, options_.render_pass, options_.samples));
  instances_.resize(options_.frame_slots);
  return {};
}

Status FigureRenderer::upload_colormaps() {
  const auto& maps = figure::colormaps();
  const auto count = static_cast<std::uint32_t>(kColormapWidth * maps.size());
  LOCUS_TRY(labels_, LabelAtlas::create(*factory_, *uploader_, typeface_));
  LOCUS_TRY(colormaps_, Texels::create(*factory_, count, VK_FORMAT_R8G8B8A8_UNORM, false));
  LOCUS_TRY(const Uploader::Staged staged, uploader_->stage(colormaps_->buffer().bytes()));
  auto* texel = reinterpret_cast<std::uint8_t*>(staged.data);
  for (const figure::Colormap& map : maps) {
    for (std::uint32_t n = 0; n < kColormapWidth; ++n) {
      const figure::Color color = figure::color_at(map, static_cast<float>(n) / (kColormapWidth - 1));
      for (int shift = 24; shift >= 0; shift -= 8) {
        *texel++ = static_cast<std::uint8_t>(color >> shift & 0xFF);
      }
    }
  }
  uploader_->copy(colormaps_->buffer(), staged, 0, colormaps_->buffer().bytes());
  colormaps_ready_ = true;
  return {};
}

Status FigureRenderer::build(std::span<const PlacedScene> scenes) {
  list_ = {};
  SceneBuilder builder(*fields_, *images_, *labels_, typeface_, list_);
  for (const PlacedScene& scene : scenes) {
    LOCUS_CHECK(builder.add(scene));
  }
  for (const Batch& batch : list_.batches) {
    LOCUS_CHECK(batch.kind == Batch::Kind::kMaps ? pipelines_.need(batch.map) : Status());
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
  stats_ = {uploader_->bytes_staged() + fields_->bytes_written(),
            list_.batches.size(),
            fields_->fields(),
            fields_->bytes(),
            fields_->pending(),
            fields_->waiting()};
  return status;
}

VkPipeline FigureRenderer::pipeline(const Batch& batch) const {
  switch (batch.kind) {
    case Batch::Kind::kFills:
      return pipelines_.fills();
    case Batch::Kind::kShapes:
      return pipelines_.shapes();
    default:
      return pipelines_.maps(batch.map);
  }
}

void FigureRenderer::clear_backgrounds(VkCommandBuffer commands, figure::Color cleared) const {
  bool touched = false;
  for (const Background& background : list_.backgrounds) {
    if (background.color == cleared && !touched) {  // software drivers draw nothing while they clear a rectangle
      continue;
    }
    touched = true;
    const VkOffset2D at = background.rect.offset;
    const VkExtent2D size = background.rect.extent;
    const auto left = static_cast<std::uint32_t>(at.x);
    const auto top = static_cast<std::uint32_t>(at.y);
    if (left >= size_.width || top >= size_.height) {
      continue;
    }
    VkClearAttachment clear{};
    clear.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
    for (int n = 0; n < 4; ++n) {
      clear.clearValue.color.float32[n] = static_cast<float>(background.color >> (24 - 8 * n) & 0xFF) / 255.0F;
    }
    const VkClearRect rect{
        {at, {std::min(size.width, size_.width - left), std::min(size.height, size_.height - top)}}, 0, 1};
    vkCmdClearAttachments(commands, 1, &clear, 1, &rect);
  }
}

void FigureRenderer::draw(VkCommandBuffer commands, figure::Color cleared) {
  clear_backgrounds(commands, cleared);
  if (list_.batches.empty()) {
    return;
  }
  const VkViewport viewport{0, 0, static_cast<float>(size_.width), static_cast<float>(size_.height), 0, 1};
  const VkRect2D scissor{{0, 0}, size_};
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &scissor);
  const FrameConstants constants{{2.0F / viewport.width, 2.0F / viewport.height}};
  vkCmdPushConstants(commands, pipelines_.shape_layout(), VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(constants), &constants);
  const VkBuffer buffer = instances_[slot_].get();
  for (const Batch& batch : list_.batches) {
    const bool maps = batch.kind == Batch::Kind::kMaps;
    const VkDeviceSize offset = maps ? maps_offset_ : 0;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline(batch));
    vkCmdBindVertexBuffers(commands, 0, 1, &buffer, &offset);
    if (maps) {
      const std::array<VkDescriptorSet, 2> sets = {batch.set, colormaps_->set()};
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_.map_layout(), 0, 2, sets.data(), 0,
                              nullptr);
    } else if (batch.set != VK_NULL_HANDLE) {
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_.shape_layout(), 0, 1, &batch.set, 0,
                              nullptr);
    }
    vkCmdDraw(commands, 4, batch.count, 0, batch.first);
  }
}

}  // namespace locus::vulkan
