// CanvasRenderer: the GPU part of the Canvas: draws the figure with renderers/vulkan, then ImGui, in one render pass.
#pragma once

#include <QVulkanWindow>
#include <memory>

#include "renderers/figure/scene.h"

namespace locus::vulkan {
class FigureRenderer;
}

namespace locus::viewport {

class Canvas;

class CanvasRenderer : public QVulkanWindowRenderer {
 public:
  explicit CanvasRenderer(Canvas& canvas);
  ~CanvasRenderer() override;

  void initResources() override;
  void releaseResources() override;
  void startNextFrame() override;
  void physicalDeviceLost() override;
  void logicalDeviceLost() override;

 private:
  void start_imgui();
  void stop_imgui();
  double device_memory_mb() const;
  void start_figures();
  void prepare_figure(VkCommandBuffer commands);
  void upload_font(VkCommandBuffer commands);
  void begin_pass(VkCommandBuffer commands, std::uint32_t background);

  Canvas& canvas_;
  QVulkanDeviceFunctions* functions_ = nullptr;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  bool imgui_running_ = false;
  std::unique_ptr<vulkan::FigureRenderer> figures_;  // null when the device cannot draw them
  figure::Scene scene_;
  bool drawable_ = false;  // prepare() succeeded for this frame
  double device_memory_mb_ = 0;
};

}  // namespace locus::viewport
