#include "tests/support/twin_device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace locus::test {

namespace {

constexpr auto kTwin = at::DeviceType::PrivateUse1;

// The memory of the device: each piece has an address that tensors show and nobody may read, and one that is read.
class Memory {
 public:
  static Memory& instance() {
    static auto* const memory = new Memory;  // tensors that are static outlive everything else
    return *memory;
  }

  at::DataPtr allocate(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* const shown = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK(shown != MAP_FAILED, "no room for ", bytes, " bytes");
    const std::lock_guard lock(mutex_);
    pieces_[shown] = {std::make_unique<std::byte[]>(size + kAligned), size};
    return {shown, shown, &Memory::release, at::Device(kTwin, 0)};
  }

  std::byte* real(const void* shown) {
    const std::lock_guard lock(mutex_);
    const auto piece = pieces_.find(shown);
    TORCH_CHECK(piece != pieces_.end(), "memory that is not of this device");
    const auto address = reinterpret_cast<std::uintptr_t>(piece->second.bytes.get());
    return piece->second.bytes.get() + (kAligned - address % kAligned) % kAligned;
  }

 private:
  static constexpr std::size_t kAligned = 64;
  struct Piece {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };

  static void release(void* shown) {
    Memory& memory = instance();
    const std::lock_guard lock(memory.mutex_);
    const auto piece = memory.pieces_.find(shown);
    ::munmap(shown, piece->second.size);
    memory.pieces_.erase(piece);
  }

  std::mutex mutex_;
  std::map<const void*, Piece> pieces_;
};

// Memory of the device; nothing resizes it.
c10::Storage storage_of(std::size_t bytes) {
  return {c10::Storage::use_byte_size_t(), bytes, Memory::instance().allocate(bytes), nullptr, false};
}

// A tensor of a storage; `like` has its shape and type.
at::Tensor tensor_of(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor tensor =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_storage_offset(like.storage_offset());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides());
  return tensor;
}

bool is_twin(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kTwin;
}

// The tensors of one call: those of the device, and the same memory as tensors of the CPU.
class Call {
 public:
  at::Tensor to_host(const at::Tensor& tensor) {
    if (!tensor.defined()) {
      return tensor;
    }
    if (!is_twin(tensor)) {
      has_host_ = has_host_ || tensor.dim() > 0;
      return tensor;
    }
    has_twin_ = true;
    auto* const storage = tensor.storage().unsafeGetStorageImpl();
    auto [known, is_new] = storages_.try_emplace(storage);
    if (is_new) {
      std::byte* const real = Memory::instance().real(tensor.storage().data());
      known->second = c10::Storage(c10::Storage::use_byte_size_t(), tensor.storage().nbytes(),
                                   at::DataPtr(real, at::Device(at::kCPU)), c10::GetCPUAllocator(), true);
    }
    at::Tensor host = tensor_of(known->second, c10::DispatchKey::CPU, tensor);
    given_.emplace_back(host, tensor);
    return host;
  }

  // Operations whose indices may be on the CPU beside a tensor of a graphics card, as LibTorch's may.
  void check_mixture(const std::string& name) const {
    const bool may = name == "aten::index" || name == "aten::_index_put_impl_" || name == "aten::index_put_";
    TORCH_CHECK(may || !(has_host_ && has_twin_), name, ": tensors of the CPU and of the other device");
  }

  at::Tensor to_twin(const at::Tensor& host) {
    if (!host.defined() || is_twin(host)) {
      return host;
    }
    for (auto& [alias, tensor] : given_) {
      if (alias.is_same(host)) {
        take_size(alias, tensor);
        return tensor;
      }
    }
    for (const auto& [alias, tensor] : given_) {
      if (alias.storage().unsafeGetStorageImpl() == host.storage().unsafeGetStorageImpl()) {
        return tensor_of(tensor.storage(), c10::DispatchKey::PrivateUse1, host);
      }
    }
    return tensor_of(copied(host.storage()), c10::DispatchKey::PrivateUse1, host);
  }

 private:
  static c10::Storage copied(const c10::Storage& host) {
    c10::Storage storage = storage_of(host.nbytes());
    if (host.nbytes() > 0) {
      std::memcpy(Memory::instance().real(storage.data()), host.data(), host.nbytes());
    }
    return storage;
  }

  // What an operation wrote into a tensor that it was given may have another size.
  static void take_size(const at::Tensor& alias, const at::Tensor& tensor) {
    auto* const impl = tensor.unsafeGetTensorImpl();
    if (alias.storage().data() != Memory::instance().real(tensor.storage().data())) {
      impl->set_storage_keep_dtype(copied(alias.storage()));
    }
    if (alias.sizes() != tensor.sizes() || alias.strides() != tensor.strides()) {
      impl->set_storage_offset(alias.storage_offset());
      impl->set_sizes_and_strides(alias.sizes(), alias.strides());
    }
  }

  bool has_host_ = false;
  bool has_twin_ = false;
  std::map<c10::StorageImpl*, c10::Storage> storages_;
  std::vector<std::pair<at::Tensor, at::Tensor>> given_;  // on the CPU, on the device
};

// Applies `change` to every tensor of a value of the stack.
template <class Change>
void each_tensor(c10::IValue& value, const Change& change) {
  if (value.isTensor()) {
    value = change(value.toTensor());
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> changed;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      changed.push_back(change(tensor));
    }
    value = c10::List<at::Tensor>(changed);
  } else if (value.isOptionalTensorList()) {
    auto list = value.toOptionalTensorList();
    decltype(list) changed;
    for (std::size_t n = 0; n < list.size(); ++n) {
      const auto tensor = list.get(n);
      changed.push_back(tensor && tensor->defined() ? decltype(tensor)(change(*tensor)) : tensor);
    }
    value = changed;
  }
}

// Every operation that has no kernel for the device: the CPU's, on the same memory.
void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Call call;
  const std::size_t arguments = op.schema().arguments().size();
  for (std::size_t n = stack->size() - arguments; n < stack->size(); ++n) {
    c10::IValue& value = (*stack)[n];
    if (value.isDevice() && value.toDevice().type() == kTwin) {
      value = at::Device(at::kCPU);
    }
    each_tensor(value, [&](const at::Tensor& tensor) { return call.to_host(tensor); });
  }
  call.check_mixture(op.schema().name());
  op.callBoxed(stack);
  const std::size_t results = op.schema().returns().size();
  for (std::size_t n = stack->size() - results; n < stack->size(); ++n) {
    each_tensor((*stack)[n], [&](const at::Tensor& tensor) { return call.to_twin(tensor); });
  }
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, c10::optional<at::ScalarType> type,
                         c10::optional<at::Layout> /*layout*/, c10::optional<at::Device> /*device*/,
                         c10::optional<bool> /*pinned*/) {
  const at::Tensor like = at::empty_strided(size, stride, at::TensorOptions(at::kMeta).dtype(type));
  const std::size_t bytes = like.storage().nbytes();
  return tensor_of(storage_of(bytes), c10::DispatchKey::PrivateUse1, like);
}

at::Tensor empty(at::IntArrayRef size, c10::optional<at::ScalarType> type, c10::optional<at::Layout> layout,
                 c10::optional<at::Device> device, c10::optional<bool> pinned,
                 c10::optional<at::MemoryFormat> /*format*/) {
  const at::Tensor like = at::empty(size, at::TensorOptions(at::kMeta));
  return empty_strided(size, like.strides(), type, layout, device, pinned);
}

// Copies between the devices and within this one.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool /*non_blocking*/) {
  Call call;
  call.to_host(to).copy_(call.to_host(from));
  return to;
}

// LibTorch asks a device for convolutions before it comes to the operations above.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const c10::optional<at::Tensor>& bias,
                       at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, std::int64_t groups) {
  Call call;
  const at::Tensor result =
      at::convolution(call.to_host(input), call.to_host(weight), bias ? call.to_host(*bias) : at::Tensor(), stride,
                      padding, dilation, transposed, output_padding, groups);
  call.check_mixture("aten::convolution");
  return call.to_twin(result);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(const at::Tensor& gradient, const at::Tensor& input,
                                                                    const at::Tensor& weight, at::IntArrayRef stride,
                                                                    at::IntArrayRef padding, at::IntArrayRef dilation,
                                                                    bool transposed, at::IntArrayRef output_padding,
                                                                    std::int64_t groups, std::array<bool, 3> wanted) {
  Call call;
  const auto [of_input, of_weight, of_bias] =
      at::convolution_backward(call.to_host(gradient), call.to_host(input), call.to_host(weight),
                               wanted[2] ? at::OptionalIntArrayRef(weight.size(0)) : at::OptionalIntArrayRef(), stride,
                               padding, dilation, transposed, output_padding, groups, wanted);
  call.check_mixture("aten::convolution_backward");
  return {call.to_twin(of_input), call.to_twin(of_weight), call.to_twin(of_bias)};
}

}  // namespace

at::Device twin_device() {
  static const bool registered = [] {
    static const c10::impl::DeviceGuardImplRegistrar guard(kTwin, new c10::impl::NoOpDeviceGuardImpl<kTwin>);
    static torch::Library every(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    every.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
    static torch::Library own(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    own.impl("empty.memory_format", &empty);
    own.impl("empty_strided", &empty_strided);
    own.impl("_copy_from", &copy_from);
    own.impl("convolution_overrideable", &convolution);
    own.impl("convolution_backward_overrideable", &convolution_backward);
    return true;
  }();
  return {kTwin, static_cast<at::DeviceIndex>(registered ? 0 : -1)};
}

}  // namespace locus::test
