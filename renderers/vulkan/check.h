// VkResult to Result: every Vulkan call of the house is checked, in every build.
#pragma once

#include <vulkan/vulkan.h>

#include "core/base/result.h"

namespace locus::vulkan {

// Ok for VK_SUCCESS; otherwise an error that names the call. Out of memory is kTooLarge, all else kUnsupported.
Status check(VkResult result, const char* call);

// Whether the error says that the device was lost: everything on it is gone and must be made anew.
bool is_device_lost(const Error& error);

}  // namespace locus::vulkan
