#include <vulkan/vulkan.h>  // before Qt's, which hides the functions' prototypes

#include <QElapsedTimer>
#include <QVulkanDeviceFunctions>
#include <QVulkanFunctions>
#include <QVulkanInstance>
#include <algorithm>
#include <array>
#include <utility>

#include "app/viewport/canvas.h"
#include "app/viewport/canvas_renderer.h"
#include "app/viewport/imgui_backend.h"
#include "renderers/vulkan/figure_renderer.h"

namespace locus::viewport {

namespace {

constexpr std::uint32_t kDescriptorSets = 8;
constexpr std::int64_t kSliceCells = 1 << 20;  // uploaded in a frame: a large map appears in bands, and nothing waits

constexpr double kMegabyte = 1 << 20;

void check_imgui(VkResult result) {
  if (result != VK_SUCCESS) {
    qWarning("Vulkan error %d while drawing the controls", static_cast<int>(result));
  }
}

}  // namespace

CanvasRenderer::CanvasRenderer(Canvas& canvas) : canvas_(canvas) {}

CanvasRenderer::~CanvasRenderer() = default;

void CanvasRenderer::initResources() {
  functions_ = canvas_.vulkanInstance()->deviceFunctions(canvas_.device());
  const auto sizes = imgui_pool_sizes(kDescriptorSets);
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
  info.maxSets = kDescriptorSets;
  info.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
  info.pPoolSizes = sizes.data();
  if (functions_->vkCreateDescriptorPool(canvas_.device(), &info, nullptr, &pool_) != VK_SUCCESS) {
    pool_ = VK_NULL_HANDLE;
    canvas_.report_lost_device(QStringLiteral("the graphics driver has no memory for the canvas"));
    return;
  }
  start_imgui();
  start_figures();
  device_memory_mb_ = device_memory_mb();
  canvas_.request_frames();
}

// The size of all memory heaps that lie on the device.
double CanvasRenderer::device_memory_mb() const {
  VkPhysicalDeviceMemoryProperties memory{};
  canvas_.vulkanInstance()->functions()->vkGetPhysicalDeviceMemoryProperties(canvas_.physicalDevice(), &memory);
  double bytes = 0;
  for (std::uint32_t n = 0; n < memory.memoryHeapCount; ++n) {
    const VkMemoryHeap& heap = memory.memoryHeaps[n];
    bytes += (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 ? static_cast<double>(heap.size) : 0;
  }
  return bytes / kMegabyte;
}

void CanvasRenderer::start_figures() {
  vulkan::RendererOptions options;
  options.physical = canvas_.physicalDevice();
  options.device = canvas_.device();
  options.render_pass = canvas_.defaultRenderPass();
  options.frame_slots = static_cast<std::size_t>(canvas_.concurrentFrameCount());
  options.fields.slice_cells = kSliceCells;
  auto made = vulkan::FigureRenderer::create(options, canvas_.placed().typeface());
  if (!made) {
    canvas_.report_lost_device(QString::fromStdString(made.error().describe()));
    return;
  }
  figures_ = *std::move(made);
}

void CanvasRenderer::prepare_figure(VkCommandBuffer commands) {
  drawable_ = false;
  if (!figures_ || !canvas_.placed().figure()) {
    scene_ = {};
    return;
  }
  scene_ = figure::compose(*canvas_.placed().figure(), *canvas_.layout());
  const QSize size = canvas_.swapChainImageSize();
  const vulkan::PlacedScene placed{&scene_, 0, 0, 1};
  const Status prepared =
      figures_->prepare(commands, static_cast<std::size_t>(canvas_.currentFrame()), {&placed, 1},
                        {static_cast<std::uint32_t>(size.width()), static_cast<std::uint32_t>(size.height())});
  drawable_ = prepared.ok();
  if (figures_->stats().pending) {
    canvas_.request_frames(2);  // this one and the next
  }
  if (!prepared) {
    canvas_.report_lost_device(QString::fromStdString(prepared.error().describe()));
  }
}

void CanvasRenderer::start_imgui() {
  canvas_.imgui().use();
  ImGui_ImplVulkan_InitInfo info{};
  info.Instance = canvas_.vulkanInstance()->vkInstance();
  info.PhysicalDevice = canvas_.physicalDevice();
  info.Device = canvas_.device();
  info.QueueFamily = canvas_.graphicsQueueFamilyIndex();
  info.Queue = canvas_.graphicsQueue();
  info.DescriptorPool = pool_;
  info.MinImageCount = 2;
  info.ImageCount =
      static_cast<std::uint32_t>(std::max({2, canvas_.swapChainImageCount(), canvas_.concurrentFrameCount()}));
  info.CheckVkResultFn = check_imgui;
  imgui_running_ = start_imgui_backend(info, canvas_.defaultRenderPass());
}

void CanvasRenderer::stop_imgui() {
  if (imgui_running_) {
    canvas_.imgui().use();
    ImGui_ImplVulkan_Shutdown();
    imgui_running_ = false;
  }
}

void CanvasRenderer::releaseResources() {
  functions_->vkDeviceWaitIdle(canvas_.device());
  stop_imgui();
  figures_.reset();
  functions_->vkDestroyDescriptorPool(canvas_.device(), pool_, nullptr);
  pool_ = VK_NULL_HANDLE;
  canvas_.imgui().mark_stale();
}

// Not every version of ImGui can replace its font texture: its backend is started again.
void CanvasRenderer::upload_font(VkCommandBuffer commands) {
  functions_->vkDeviceWaitIdle(canvas_.device());
  stop_imgui();
  start_imgui();
  upload_imgui_font(commands);
  canvas_.imgui().mark_uploaded();
}

void CanvasRenderer::begin_pass(VkCommandBuffer commands, std::uint32_t background) {
  const auto channel = [&](int shift) { return static_cast<float>(background >> shift & 0xFF) / 255; };
  std::array<VkClearValue, 2> clear{};
  clear[0].color = {{channel(24), channel(16), channel(8), 1}};
  clear[1].depthStencil = {1, 0};
  const QSize size = canvas_.swapChainImageSize();
  VkRenderPassBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO;
  info.renderPass = canvas_.defaultRenderPass();
  info.framebuffer = canvas_.currentFramebuffer();
  info.renderArea.extent = {static_cast<std::uint32_t>(size.width()), static_cast<std::uint32_t>(size.height())};
  info.clearValueCount = static_cast<std::uint32_t>(clear.size());
  info.pClearValues = clear.data();
  functions_->vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
}

void CanvasRenderer::startNextFrame() {
  QElapsedTimer timer;
  timer.start();
  VkCommandBuffer commands = canvas_.currentCommandBuffer();
  const QSize size = canvas_.swapChainImageSize();
  const std::uint32_t background = canvas_.prepare_frame(size.width(), size.height());
  if (canvas_.imgui().font_stale()) {
    upload_font(commands);
  }
  ImGui_ImplVulkan_NewFrame();
  ImGui::NewFrame();
  canvas_.draw_overlays();
  ImGui::Render();

  prepare_figure(commands);
  begin_pass(commands, background);
  if (drawable_) {
    figures_->draw(commands, background);
  }
  ImGui_ImplVulkan_RenderDrawData(ImGui::GetDrawData(), commands);
  functions_->vkCmdEndRenderPass(commands);

  canvas_.frameReady();
  FrameCost cost;
  cost.cpu_ms = static_cast<double>(timer.nsecsElapsed()) / 1e6;
  cost.gpu = canvas_.physicalDeviceProperties()->deviceName;
  cost.gpu_total_mb = device_memory_mb_;
  if (figures_) {
    const vulkan::FrameStats& stats = figures_->stats();
    cost.uploaded_mb = static_cast<double>(stats.bytes_uploaded) / kMegabyte;
    cost.gpu_mb = static_cast<double>(stats.field_bytes) / kMegabyte;
    cost.draws = stats.draws;
    cost.waiting = stats.waiting;
  }
  canvas_.report_frame(std::move(cost));
  if (canvas_.take_frame_request()) {
    canvas_.requestUpdate();
  }
}

void CanvasRenderer::physicalDeviceLost() {
  canvas_.report_lost_device(QStringLiteral("the graphics device was lost"));
}

void CanvasRenderer::logicalDeviceLost() {
  canvas_.report_lost_device(QStringLiteral("the graphics device was lost and is being started again"));
}

}  // namespace locus::viewport
