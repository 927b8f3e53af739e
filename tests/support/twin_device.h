// A second device for tests: LibTorch's PrivateUse1, whose tensors compute on the CPU, in memory that the CPU cannot read
// at the addresses that the tensors show. So a loop of ours over such a tensor's memory ends the process, and an
// operation on tensors of both devices throws, as on a graphics card; the numbers are those of the CPU.
#pragma once

#include <ATen/ATen.h>

namespace locus::test {

// Registers the device; the first call does.
at::Device twin_device();

}  // namespace locus::test
