#include "models/engine/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/base/shown.h"
#include "core/base/system_files.h"

namespace locus::models {

namespace {

constexpr std::string_view kCuda = "cuda";

std::optional<at::Device>& chosen_for_auto() {
  static std::optional<at::Device> device;
  return device;
}

// The index in "cuda:N"; 0 for "cuda"; nothing for another name.
std::optional<int> cuda_index(std::string_view name) {
  if (name == kCuda) {
    return 0;
  }
  if (!name.starts_with("cuda:")) {
    return std::nullopt;
  }
  name.remove_prefix(kCuda.size() + 1);
  int index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool number = error == std::errc() && end == name.data() + name.size() && name.front() != '-';
  return number ? std::optional(index) : std::nullopt;
}

std::size_t cuda_devices() {
  return at::hasCUDA() ? at::detail::getCUDAHooks().getNumGPUs() : 0;
}

Result<at::Device> cuda_device(int index) {
  const std::size_t count = cuda_devices();
  if (static_cast<std::size_t>(index) >= count) {
    return unsupported("device cuda:" + std::to_string(index) + ": expected one of this machine, found " +
                       (at::hasCUDA() ? std::to_string(count) + " CUDA devices" : "a LibTorch without CUDA"));
  }
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index));
}

}  // namespace

Result<at::Device> device_of(const std::string& name) {
  if (name == "auto") {
    if (chosen_for_auto()) {
      return *chosen_for_auto();
    }
    return cuda_devices() > 0 ? cuda_device(0) : Result<at::Device>(at::Device(at::kCPU));
  }
  if (name == "cpu") {
    return at::Device(at::kCPU);
  }
  if (const std::optional<int> index = cuda_index(name)) {
    return cuda_device(*index);
  }
  return usage("device: expected auto, cpu, cuda or cuda:N, found " + shown(name));
}

void set_auto_device(at::Device device) {
  chosen_for_auto() = device;
}

double free_bytes(const at::Device& device) {
  if (!device.is_cuda()) {
    return available_bytes();
  }
  // The runtime's own function: its headers are not needed to build, and it is loaded with LibTorch.
  using MemGetInfo = int(std::size_t*, std::size_t*);
  using SetDevice = int(int);
  auto* const memory = reinterpret_cast<MemGetInfo*>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  auto* const set_device = reinterpret_cast<SetDevice*>(dlsym(RTLD_DEFAULT, "cudaSetDevice"));
  std::size_t free = 0;
  std::size_t total = 0;
  if (memory == nullptr || set_device == nullptr || set_device(device.index()) != 0 || memory(&free, &total) != 0) {
    return 0;
  }
  return static_cast<double>(free);
}

}  // namespace locus::models
