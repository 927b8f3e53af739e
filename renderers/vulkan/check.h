// VkResult to Result: every Vulkan call of the house is checked, in every build.
#pragma once

#include <vulkan/vulkan.h>

#include "core/base/result.h"

namespace locus::vulkan {

// Ok for VK_SUCCESS; otherwise an error that names the call. Out of memory is kTooLarge, all else kUnsupported.
Status check(VkResult result, const char* call);

}  // namespace locus::vulkan
