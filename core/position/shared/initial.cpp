#include "core/position/shared/initial.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <utility>

namespace locus::position {

namespace {

bool& outlines() {
  thread_local bool on = false;
  return on;
}

const c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);

}  // namespace

OutlineScope::OutlineScope() : before_(std::exchange(outlines(), true)) {}

OutlineScope::~OutlineScope() {
  outlines() = before_;
}

at::Tensor initial(const std::vector<std::int64_t>& sizes, const std::function<at::Tensor()>& make) {
  if (!outlines()) {
    return make();
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(kCpu, caffe2::TypeMeta::Make<float>(), c10::Device(c10::kCPU));
  impl->set_sizes_contiguous(sizes);
  return at::Tensor(std::move(impl));
}

at::Tensor constant(const std::vector<double>& numbers) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), numbers.size() * sizeof(double), c10::GetCPUAllocator(), false);
  std::copy(numbers.begin(), numbers.end(), static_cast<double*>(storage.data_ptr().get()));
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), kCpu, caffe2::TypeMeta::Make<double>());
  impl->set_sizes_contiguous({static_cast<std::int64_t>(numbers.size())});
  return at::Tensor(std::move(impl));
}

}  // namespace locus::position
