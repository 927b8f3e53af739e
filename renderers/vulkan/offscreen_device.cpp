#include "renderers/vulkan/offscreen_device.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace locus::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT /*severity*/,
                                            VkDebugUtilsMessageTypeFlagsEXT /*type*/,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  static_cast<std::vector<std::string>*>(user)->emplace_back(data->pMessage);
  return VK_FALSE;
}

bool has_layer(const char* name) {
  std::uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) {
    return false;
  }
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) != VK_SUCCESS) {
    return false;
  }
  return std::any_of(layers.begin(), layers.end(),
                     [&](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

// The first queue family that draws; −1 when there is none.
std::int64_t graphics_family(VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (std::uint32_t n = 0; n < count; ++n) {
    if ((families[n].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0) {
      return n;
    }
  }
  return -1;
}

}  // namespace

Result<std::unique_ptr<OffscreenDevice>> OffscreenDevice::create(bool validation) {
  std::unique_ptr<OffscreenDevice> result(new OffscreenDevice());
  LOCUS_CHECK(result->make_instance(validation));
  if (validation) {
    LOCUS_CHECK(result->make_messenger());
  }
  LOCUS_CHECK(result->pick_physical());
  LOCUS_CHECK(result->make_device());
  return result;
}

OffscreenDevice::~OffscreenDevice() {
  if (device_ != VK_NULL_HANDLE) {
    vkDestroyDevice(device_, nullptr);
  }
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    if (destroy != nullptr) {
      destroy(instance_, messenger_, nullptr);
    }
  }
  if (instance_ != VK_NULL_HANDLE) {
    vkDestroyInstance(instance_, nullptr);
  }
}

Status OffscreenDevice::make_instance(bool validation) {
  if (validation && !has_layer(kValidationLayer)) {
    return unsupported("the Vulkan validation layer is not installed (Debian: vulkan-validationlayers)");
  }
  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "locus";
  application.apiVersion = VK_API_VERSION_1_0;
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (validation) {
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  const VkResult result = vkCreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return unsupported("no Vulkan driver is installed (Debian: mesa-vulkan-drivers)");
  }
  return check(result, "vkCreateInstance");
}

Status OffscreenDevice::make_messenger() {
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  if (create == nullptr) {
    return unsupported("the Vulkan driver reports no validation messages");
  }
  auto info = structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = keep_message;
  info.pUserData = &messages_;
  return check(create(instance_, &info, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

Status OffscreenDevice::pick_physical() {
  std::uint32_t count = 0;
  LOCUS_CHECK(check(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices"));
  std::vector<VkPhysicalDevice> devices(count);
  LOCUS_CHECK(check(vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "vkEnumeratePhysicalDevices"));
  for (const VkPhysicalDevice device : devices) {
    const std::int64_t family = graphics_family(device);
    if (family >= 0) {
      physical_ = device;
      family_ = static_cast<std::uint32_t>(family);
      return {};
    }
  }
  return unsupported("no Vulkan device can draw (Debian: mesa-vulkan-drivers has a software one)");
}

Status OffscreenDevice::make_device() {
  const float priority = 1;
  auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  LOCUS_CHECK(check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice"));
  vkGetDeviceQueue(device_, family_, 0, &queue_);
  return {};
}

Result<OffscreenTarget> OffscreenTarget::create(const Gpu& gpu, VkRenderPass render_pass, VkExtent2D size) {
  OffscreenTarget target;
  target.size = size;
  ImageOptions options;
  options.width = size.width;
  options.height = size.height;
  options.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  LOCUS_TRY(target.image, GpuImage::create(gpu, options));
  const VkImageView view = target.image.view();
  auto info = structure<VkFramebufferCreateInfo>(VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO);
  info.renderPass = render_pass;
  info.attachmentCount = 1;
  info.pAttachments = &view;
  info.width = size.width;
  info.height = size.height;
  info.layers = 1;
  LOCUS_TRY(target.framebuffer,
            created<FramebufferHandle>(gpu.device, vkCreateFramebuffer, info, "vkCreateFramebuffer"));
  LOCUS_TRY(target.readback,
            HostBuffer::create(gpu, VkDeviceSize{4} * size.width * size.height, VK_BUFFER_USAGE_TRANSFER_DST_BIT));
  return target;
}

Result<RenderPassHandle> make_offscreen_render_pass(VkDevice device) {
  VkAttachmentDescription attachment{};
  attachment.format = VK_FORMAT_R8G8B8A8_UNORM;
  attachment.samples = VK_SAMPLE_COUNT_1_BIT;
  attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  attachment.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  attachment.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
  attachment.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  attachment.finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  const VkAttachmentReference reference{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass{};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &reference;
  // The pixels are copied right after the pass.
  VkSubpassDependency after{};
  after.srcSubpass = 0;
  after.dstSubpass = VK_SUBPASS_EXTERNAL;
  after.srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
  after.dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT;
  after.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
  after.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
  auto info = structure<VkRenderPassCreateInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO);
  info.attachmentCount = 1;
  info.pAttachments = &attachment;
  info.subpassCount = 1;
  info.pSubpasses = &subpass;
  info.dependencyCount = 1;
  info.pDependencies = &after;
  return created<RenderPassHandle>(device, vkCreateRenderPass, info, "vkCreateRenderPass");
}

}  // namespace locus::vulkan
