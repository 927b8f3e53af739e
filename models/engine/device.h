// The devices that models run on.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "core/base/result.h"

namespace locus::models {

// The device of the name "auto", "cpu", "cuda" (the first) or "cuda:N". "auto": the first CUDA device, without one the
// CPU. Products of float32 numbers on a CUDA device are then in float32, not in TensorFloat-32.
// Errors: kUsage for another name; kUnsupported for a device that this LibTorch or this machine does not have.
Result<at::Device> device_of(const std::string& name);

// Makes "auto" mean this device, for tests.
void set_auto_device(at::Device device);

// Bytes that a run on the device could still allocate; 0 where the system does not say.
double free_bytes(const at::Device& device);

}  // namespace locus::models
