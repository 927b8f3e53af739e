// Frames drawn offscreen at 1280 × 800 and waited for, each laid out and composed anew, as the workbench does, with an
// ImGui frame over it.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>

#include "app/viewport/imgui_backend.h"
#include "renderers/figure/layout.h"
#include "renderers/text/typeface.h"
#include "renderers/vulkan/offscreen.h"

namespace locus::bench {

constexpr std::uint32_t kWidth = 1280;
constexpr std::uint32_t kHeight = 800;

[[noreturn]] inline void stop(const Error& error) {
  std::cerr << error.describe() << "\n";
  std::exit(1);
}

// An Offscreen with ImGui in its render pass.
class FrameRig {
 public:
  explicit FrameRig(const vulkan::OffscreenOptions& options = {}) {
    auto made = vulkan::Offscreen::create(options, typeface);
    if (!made) {
      stop(made.error());
    }
    offscreen = *std::move(made);
    const vulkan::Offscreen::Native native = offscreen->native();
    constexpr std::uint32_t kSets = 8;
    const auto sizes = viewport::imgui_pool_sizes(kSets);
    VkDescriptorPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool_info.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    pool_info.maxSets = kSets;
    pool_info.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
    pool_info.pPoolSizes = sizes.data();
    VkDescriptorPool pool = VK_NULL_HANDLE;
    if (vkCreateDescriptorPool(native.device, &pool_info, nullptr, &pool) != VK_SUCCESS) {
      stop(internal("no descriptor pool"));
    }
    pool_ = vulkan::DescriptorPoolHandle(native.device, pool);
    ImGui::CreateContext();
    ImGui::GetIO().DisplaySize = ImVec2(kWidth, kHeight);
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplVulkan_InitInfo info{};
    info.Instance = native.instance;
    info.PhysicalDevice = native.physical;
    info.Device = native.device;
    info.QueueFamily = native.queue_family;
    info.Queue = native.queue;
    info.DescriptorPool = pool;
    info.MinImageCount = 2;
    info.ImageCount = 2;
    viewport::start_imgui_backend(info, native.render_pass);
    upload_fonts(native);
    offscreen->set_overlay(
        [](VkCommandBuffer commands) { ImGui_ImplVulkan_RenderDrawData(ImGui::GetDrawData(), commands); });
  }
  FrameRig(const FrameRig&) = delete;
  FrameRig& operator=(const FrameRig&) = delete;
  ~FrameRig() {
    ImGui_ImplVulkan_Shutdown();
    ImGui::DestroyContext();
  }

  // One frame of the figures, with what `controls` adds to ImGui's background list.
  template <class Controls>
  void frame(const figure::Figure* figure, const Controls& controls) {
    ImGui_ImplVulkan_NewFrame();
    ImGui::NewFrame();
    controls(ImGui::GetBackgroundDrawList());
    ImGui::Render();
    figure::Scene scene{kWidth, kHeight, 0xFFFFFFFF, {}};
    if (figure != nullptr) {
      scene =
          figure::compose(*figure, figure::lay_out(*figure, kWidth, kHeight, figure::Style::light(13, 1), typeface));
    }
    const vulkan::PlacedScene placed{&scene, 0, 0, 1};
    const Status status = offscreen->draw({&placed, 1}, kWidth, kHeight);
    if (!status) {
      stop(status.error());
    }
  }
  void frame(const figure::Figure* figure) {
    frame(figure, [](ImDrawList*) {});
  }

  text::Typeface typeface;
  std::unique_ptr<vulkan::Offscreen> offscreen;

 private:
  // ImGui before 1.90 wants a command buffer of its own for its font.
  void upload_fonts(const vulkan::Offscreen::Native& native) {
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = native.queue_family;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandBufferCount = 1;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    bool good = vkCreateCommandPool(native.device, &pool_info, nullptr, &pool) == VK_SUCCESS;
    const vulkan::CommandPoolHandle owner(native.device, pool);
    info.commandPool = pool;
    good = good && vkAllocateCommandBuffers(native.device, &info, &commands) == VK_SUCCESS &&
           vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS && viewport::upload_imgui_font(commands) &&
           vkEndCommandBuffer(commands) == VK_SUCCESS &&
           vkQueueSubmit(native.queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS &&
           vkDeviceWaitIdle(native.device) == VK_SUCCESS;
    if (!good) {
      stop(internal("cannot upload ImGui's font"));
    }
  }

  vulkan::DescriptorPoolHandle pool_;
};

}  // namespace locus::bench
