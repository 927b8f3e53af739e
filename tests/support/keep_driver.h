// What main() of a program with Vulkan does first.
#pragma once

#include <dlfcn.h>

namespace locus::test {

inline void keep_driver() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The software driver is unloaded with the last Vulkan instance: kept, what its globals hold is no leak, and its locks
  // have one place.
  dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_NODELETE);
#else
  // A LibTorch with a copy of LLVM inside shows the copy's functions to the software driver of a program that is linked
  // with it, which would call these: it is loaded now, with a view of its own libraries first. (The program itself loads
  // LibTorch where others do not see it.)
  if (dlsym(RTLD_DEFAULT, "LLVMAddSymbol") != nullptr) {
    dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_NODELETE | RTLD_DEEPBIND);
  }
#endif
}

}  // namespace locus::test
