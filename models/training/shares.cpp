#include "models/training/shares.h"

#include <array>
#include <vector>

namespace locus::training {

namespace {

// Numbers of tensors, concatenated on the CPU.
std::vector<float> flat(const std::vector<at::Tensor>& tensors) {
  std::vector<float> numbers;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor host = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    numbers.insert(numbers.end(), host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
  }
  return numbers;
}

void put_back(std::vector<float>& numbers, const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  std::size_t at = 0;
  for (const at::Tensor& tensor : tensors) {
    tensor.copy_(at::from_blob(numbers.data() + at, tensor.sizes(), at::kFloat));
    at += static_cast<std::size_t>(tensor.numel());
  }
}

}  // namespace

Examples Shares::of(const Examples& examples, std::int64_t begin, std::int64_t count) const {
  const std::int64_t size = group_ == nullptr ? 1 : group_->size();
  const std::int64_t rank = group_ == nullptr ? 0 : group_->rank();
  return examples.slice(begin + count * rank / size, begin + count * (rank + 1) / size);
}

Status Shares::add_up(const OwnNetwork& network, double& loss, bool& stop) const {
  if (group_ == nullptr) {
    return {};
  }
  std::array<double, 2> sums{loss, stop ? 1.0 : 0.0};
  LOCUS_CHECK(group_->add_up(std::span<double>(sums)));
  loss = sums[0];
  stop = sums[1] > 0;
  std::vector<at::Tensor> gradients;
  for (const transformer::Parameter& parameter : network.parameters()) {
    if (parameter.value->requires_grad()) {
      at::Tensor& gradient = parameter.value->mutable_grad();
      if (!gradient.defined()) {  // for a process without a sequence
        gradient = at::zeros_like(*parameter.value);
      }
      gradients.push_back(gradient);
    }
  }
  std::vector<float> numbers = flat(gradients);
  LOCUS_CHECK(group_->add_up(std::span<float>(numbers)));
  put_back(numbers, gradients);
  return {};
}

Status Shares::spread(const OwnNetwork& network, AdamW& optimiser, std::int64_t& step) const {
  if (group_ == nullptr) {
    return {};
  }
  auto first = static_cast<double>(step);
  LOCUS_CHECK(spread(first));
  step = static_cast<std::int64_t>(first);
  optimiser.set_steps(step);
  std::vector<at::Tensor> tensors;
  for (const transformer::Parameter& parameter : network.parameters()) {
    tensors.push_back(parameter.value->detach());
  }
  for (AdamW::Group& group : optimiser.groups()) {
    tensors.push_back(group.mean);
    tensors.push_back(group.square);
  }
  std::vector<float> numbers = flat(tensors);
  LOCUS_CHECK(group_->broadcast(std::span<float>(numbers)));
  put_back(numbers, tensors);
  return {};
}

Status Shares::spread(double& value) const {
  return group_ == nullptr ? Status() : group_->broadcast(std::span<double>(&value, 1));
}

}  // namespace locus::training
