#include "renderers/vulkan/check.h"

#include <string>

namespace locus::vulkan {

Status check(VkResult result, const char* call) {
  switch (result) {
    case VK_SUCCESS:
      return {};
    case VK_ERROR_DEVICE_LOST:
      return unsupported("the graphics device was lost (reset, suspended or its driver failed)", call);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return too_large("the graphics device has no memory left", call);
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return too_large("the graphics driver found no memory", call);
    default:
      return unsupported("Vulkan error " + std::to_string(static_cast<int>(result)), call);
  }
}

}  // namespace locus::vulkan
