#include "renderers/vulkan/offscreen.h"

#include <cstring>

#include "renderers/vulkan/offscreen_device.h"

namespace locus::vulkan {
namespace {

constexpr std::uint64_t kWaitNs = 60ULL * 1000 * 1000 * 1000;

// Commands and fence of one frame at a time.
struct Commands {
  CommandPoolHandle pool;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  FenceHandle done;

  static Result<Commands> create(const OffscreenDevice& owner) {
    Commands commands;
    auto pool_info = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool_info.queueFamilyIndex = owner.queue_family();
    const VkDevice device = owner.device();
    LOCUS_TRY(commands.pool, created<CommandPoolHandle>(device, vkCreateCommandPool, pool_info, "vkCreateCommandPool"));
    auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = commands.pool.get();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    LOCUS_CHECK(check(vkAllocateCommandBuffers(device, &info, &commands.buffer), "vkAllocateCommandBuffers"));
    auto fence_info = structure<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    LOCUS_TRY(commands.done, created<FenceHandle>(device, vkCreateFence, fence_info, "vkCreateFence"));
    return commands;
  }
};

class OffscreenRenderer : public Offscreen {
 public:
  OffscreenRenderer(const OffscreenOptions& options, std::unique_ptr<OffscreenDevice> device)
      : options_(options), device_(std::move(device)), gpu_(Gpu::of(device_->physical(), device_->device())) {}

  Status initialise(const text::Typeface& typeface) {
    LOCUS_TRY(render_pass_, make_offscreen_render_pass(gpu_.device));
    LOCUS_TRY(commands_, Commands::create(*device_));
    RendererOptions options;
    options.physical = gpu_.physical;
    options.device = gpu_.device;
    options.render_pass = render_pass_.get();
    options.frame_slots = options_.frame_slots;
    options.fields = options_.fields;
    LOCUS_TRY(renderer_, FigureRenderer::create(options, typeface));
    return {};
  }

  Status draw(std::span<const PlacedScene> scenes, std::uint32_t width, std::uint32_t height) override {
    return frame(scenes, {width, height}, false);
  }

  Result<PixelImage> render(std::span<const PlacedScene> scenes, std::uint32_t width, std::uint32_t height) override {
    LOCUS_CHECK(frame(scenes, {width, height}, true));
    PixelImage image{width, height, {}};
    image.rgba.resize(std::size_t{4} * width * height);
    std::memcpy(image.rgba.data(), target_.readback.data(), image.rgba.size());
    return image;
  }

  void set_overlay(Overlay overlay) override { overlay_ = std::move(overlay); }
  Native native() const override {
    return {device_->instance(), gpu_.physical,           gpu_.device,
            device_->queue(),    device_->queue_family(), render_pass_.get()};
  }
  const FrameStats& stats() const override { return renderer_->stats(); }
  const std::vector<std::string>& messages() const override { return device_->messages(); }

 private:
  Status prepare_target(VkExtent2D size) {
    const std::uint32_t largest = gpu_.limits.maxImageDimension2D;
    if (size.width == 0 || size.height == 0 || size.width > largest || size.height > largest) {
      return usage("a picture is 1 to " + std::to_string(largest) + " pixels wide and high");
    }
    if (target_.size.width != size.width || target_.size.height != size.height) {
      LOCUS_TRY(target_, OffscreenTarget::create(gpu_, render_pass_.get(), size));
    }
    return {};
  }

  Status frame(std::span<const PlacedScene> scenes, VkExtent2D size, bool reads) {
    LOCUS_CHECK(prepare_target(size));
    auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    LOCUS_CHECK(check(vkBeginCommandBuffer(commands_.buffer, &begin), "vkBeginCommandBuffer"));
    const Status prepared = renderer_->prepare(commands_.buffer, count_ % options_.frame_slots, scenes, size);
    record_pass(size, background_of(scenes, size));
    if (reads) {
      record_readback(size);
    }
    LOCUS_CHECK(check(vkEndCommandBuffer(commands_.buffer), "vkEndCommandBuffer"));
    LOCUS_CHECK(submit());
    return prepared;
  }

  // The start of the pass: black, or the background of a scene that covers everything.
  static figure::Color background_of(std::span<const PlacedScene> scenes, VkExtent2D size) {
    constexpr figure::Color kBlack = 0x000000FF;
    if (scenes.empty() || scenes.front().x_px > 0 || scenes.front().y_px > 0) {
      return kBlack;
    }
    const PlacedScene& first = scenes.front();
    const bool covers = first.x_px + first.scene->width * first.scale >= size.width &&
                        first.y_px + first.scene->height * first.scale >= size.height;
    return covers ? first.scene->background : kBlack;
  }

  void record_pass(VkExtent2D size, figure::Color background) {
    VkClearValue clear{};
    for (int n = 0; n < 4; ++n) {
      clear.color.float32[n] = static_cast<float>(background >> (24 - 8 * n) & 0xFF) / 255.0F;
    }
    auto pass = structure<VkRenderPassBeginInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO);
    pass.renderPass = render_pass_.get();
    pass.framebuffer = target_.framebuffer.get();
    pass.renderArea = {{0, 0}, size};
    pass.clearValueCount = 1;
    pass.pClearValues = &clear;
    vkCmdBeginRenderPass(commands_.buffer, &pass, VK_SUBPASS_CONTENTS_INLINE);
    renderer_->draw(commands_.buffer, background);
    if (overlay_) {
      overlay_(commands_.buffer);
    }
    vkCmdEndRenderPass(commands_.buffer);
  }

  void record_readback(VkExtent2D size) {
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {size.width, size.height, 1};
    vkCmdCopyImageToBuffer(commands_.buffer, target_.image.get(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           target_.readback.get(), 1, &region);
    auto barrier = structure<VkBufferMemoryBarrier>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.buffer = target_.readback.get();
    barrier.size = VK_WHOLE_SIZE;
    vkCmdPipelineBarrier(commands_.buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 0, nullptr, 1,
                         &barrier, 0, nullptr);
  }

  Status submit() {
    auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_.buffer;
    LOCUS_CHECK(check(vkQueueSubmit(device_->queue(), 1, &info, commands_.done.get()), "vkQueueSubmit"));
    const VkFence fence = commands_.done.get();
    VkResult waited = vkWaitForFences(gpu_.device, 1, &fence, VK_TRUE, kWaitNs);
    const bool loses = options_.lose_device_at >= 0 && count_ >= static_cast<std::size_t>(options_.lose_device_at);
    ++count_;
    if (waited == VK_TIMEOUT) {
      return unsupported("the graphics device does not answer", "vkWaitForFences");
    }
    waited = waited == VK_SUCCESS && loses ? VK_ERROR_DEVICE_LOST : waited;
    const Status reset = check(vkResetFences(gpu_.device, 1, &fence), "vkResetFences");
    LOCUS_CHECK(check(waited, "vkWaitForFences"));
    return reset;
  }

  OffscreenOptions options_;
  std::unique_ptr<OffscreenDevice> device_;
  Gpu gpu_;
  RenderPassHandle render_pass_;
  Commands commands_;
  OffscreenTarget target_;
  std::unique_ptr<FigureRenderer> renderer_;
  Overlay overlay_;
  std::size_t count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Offscreen>> Offscreen::create(const OffscreenOptions& options, const text::Typeface& typeface) {
  LOCUS_TRY(auto device, OffscreenDevice::create(options.validation));
  auto renderer = std::make_unique<OffscreenRenderer>(options, std::move(device));
  LOCUS_CHECK(renderer->initialise(typeface));
  return std::unique_ptr<Offscreen>(std::move(renderer));
}

Result<PixelImage> render(Offscreen& offscreen, const figure::Figure& figure, std::uint32_t width, std::uint32_t height,
                          const figure::Style& style, const text::Typeface& typeface) {
  const figure::Scene scene = figure::compose(figure, figure::lay_out(figure, width, height, style, typeface));
  const PlacedScene placed{&scene, 0, 0, 1};
  return offscreen.render({&placed, 1}, width, height);
}

}  // namespace locus::vulkan
