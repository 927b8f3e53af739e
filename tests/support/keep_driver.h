// What main() of a program with Vulkan does first under AddressSanitizer.
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#endif

namespace locus::test {

// The software driver is unloaded with the last Vulkan instance: kept, what its globals hold is no leak.
inline void keep_driver() {
#ifdef __SANITIZE_ADDRESS__
  dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_NODELETE);
#endif
}

}  // namespace locus::test
