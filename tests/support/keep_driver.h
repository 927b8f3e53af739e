// What main() of a program with Vulkan does first under a sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <dlfcn.h>
#endif

namespace locus::test {

// The software driver is unloaded with the last Vulkan instance: kept, what its globals hold is no leak,
// and its locks have one place.
inline void keep_driver() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_NODELETE);
#endif
}

}  // namespace locus::test
