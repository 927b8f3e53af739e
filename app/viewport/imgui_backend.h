// What differs between the versions 1.86 to 1.92 of ImGui's Vulkan backend.
#pragma once

#include <vulkan/vulkan.h>

#include <backends/imgui_impl_vulkan.h>
#include <imgui.h>

#include <array>
#include <cstdint>

namespace locus::viewport {

// The sizes of a descriptor pool for the backend, which from 1.92.8 on has samplers and images apart.
inline std::array<VkDescriptorPoolSize, 3> imgui_pool_sizes(std::uint32_t sets) {
  return {{{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, sets},
           {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, sets},
           {VK_DESCRIPTOR_TYPE_SAMPLER, sets}}};
}

// Starts the backend of the current context in a render pass, which is an argument, a field (1.90.3) or a field of a
// field (1.92.4). False: it did not start.
template <class Info>
bool start_imgui_backend(Info info, VkRenderPass pass) {
  if constexpr (requires { info.PipelineInfoMain.RenderPass; }) {
    info.PipelineInfoMain.RenderPass = pass;
    return ImGui_ImplVulkan_Init(&info);
  } else if constexpr (requires { info.RenderPass; }) {
    info.RenderPass = pass;
    return ImGui_ImplVulkan_Init(&info);
  } else {
    return ImGui_ImplVulkan_Init(&info, pass);
  }
}

// Uploads the font of a backend that has just started; from 1.90 on its first frame does. False: the driver refused.
inline bool upload_imgui_font([[maybe_unused]] VkCommandBuffer commands) {
#if IMGUI_VERSION_NUM < 19000
  return ImGui_ImplVulkan_CreateFontsTexture(commands);
#else
  return true;
#endif
}

}  // namespace locus::viewport
