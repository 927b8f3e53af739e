// A Vulkan layer between a program and its driver that loses the graphics device when the program asks for it:
// lose_device() makes the next submission of the process fail with VK_ERROR_DEVICE_LOST, once. The test loads the layer
// with VK_LAYER_PATH and VK_INSTANCE_LAYERS and finds lose_device() by its name.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

namespace {

// What a dispatchable handle begins with: alike for a device and its queues.
void* key_of(const void* handle) {
  void* key = nullptr;
  std::memcpy(&key, handle, sizeof(key));
  return key;
}

struct DeviceFunctions {
  PFN_vkGetDeviceProcAddr find = nullptr;
  PFN_vkQueueSubmit submit = nullptr;
  PFN_vkDestroyDevice destroy = nullptr;
};

std::mutex mutex;
std::map<void*, PFN_vkGetInstanceProcAddr> instances;
std::map<void*, DeviceFunctions> devices;
std::atomic<bool> lost = false;

DeviceFunctions functions_of(const void* handle) {
  const std::lock_guard lock(mutex);
  return devices[key_of(handle)];
}

// The link of the chain that the loader made for this layer.
template <class LinkInfo, class CreateInfo>
LinkInfo* link_of(const CreateInfo* info, VkStructureType type) {
  auto* link = static_cast<LinkInfo*>(const_cast<void*>(info->pNext));
  while (link != nullptr && !(link->sType == type && link->function == VK_LAYER_LINK_INFO)) {
    link = static_cast<LinkInfo*>(const_cast<void*>(link->pNext));
  }
  return link;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* memory,
                                               VkInstance* instance) {
  auto* link = link_of<VkLayerInstanceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  const PFN_vkGetInstanceProcAddr find = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(find(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, memory, instance);
  if (result == VK_SUCCESS) {
    const std::lock_guard lock(mutex);
    instances[key_of(*instance)] = find;
  }
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* memory, VkDevice* device) {
  auto* link = link_of<VkLayerDeviceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  const PFN_vkGetInstanceProcAddr find_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr find = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(find_instance(VK_NULL_HANDLE, "vkCreateDevice"));
  const VkResult result = create(physical, info, memory, device);
  if (result == VK_SUCCESS) {
    const std::lock_guard lock(mutex);
    devices[key_of(*device)] = {find, reinterpret_cast<PFN_vkQueueSubmit>(find(*device, "vkQueueSubmit")),
                                reinterpret_cast<PFN_vkDestroyDevice>(find(*device, "vkDestroyDevice"))};
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* memory) {
  const DeviceFunctions next = functions_of(device);
  {
    const std::lock_guard lock(mutex);
    devices.erase(key_of(device));
  }
  next.destroy(device, memory);
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  return lost.exchange(false) ? VK_ERROR_DEVICE_LOST : functions_of(queue).submit(queue, count, submits, fence);
}

PFN_vkVoidFunction own(const char* name);

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_device(VkDevice device, const char* name) {
  const PFN_vkVoidFunction found = own(name);
  return found != nullptr ? found : functions_of(device).find(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_instance(VkInstance instance, const char* name) {
  if (const PFN_vkVoidFunction found = own(name); found != nullptr || instance == VK_NULL_HANDLE) {
    return found;
  }
  const std::lock_guard lock(mutex);
  return instances[key_of(instance)](instance, name);
}

template <class Function>
PFN_vkVoidFunction as_void(Function function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

PFN_vkVoidFunction own(const char* name) {
  static const std::map<std::string_view, PFN_vkVoidFunction> list{
      {"vkCreateInstance", as_void(create_instance)}, {"vkCreateDevice", as_void(create_device)},
      {"vkDestroyDevice", as_void(destroy_device)},   {"vkQueueSubmit", as_void(submit)},
      {"vkGetDeviceProcAddr", as_void(find_device)},  {"vkGetInstanceProcAddr", as_void(find_instance)}};
  const auto found = list.find(name);
  return found == list.end() ? nullptr : found->second;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void lose_device() {
  lost = true;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = find_instance;
  version->pfnGetDeviceProcAddr = find_device;
  version->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
}
