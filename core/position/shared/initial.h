// Initial values of an encoding's parameters, and its constants. LibTorch's operators, which take 0.4 s to load, are
// called only where numbers are needed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace locus::position {

// While one lives, encodings that this thread makes draw no initial values: their parameters have shapes alone, until a
// reader assigns its own.
class OutlineScope {
 public:
  OutlineScope();
  ~OutlineScope();
  OutlineScope(const OutlineScope&) = delete;
  OutlineScope& operator=(const OutlineScope&) = delete;

 private:
  bool before_;
};

// The tensor of `make`, which has these sizes; in an OutlineScope one of these sizes without numbers.
at::Tensor initial(const std::vector<std::int64_t>& sizes, const std::function<at::Tensor()>& make);

// (N) float64.
at::Tensor constant(const std::vector<double>& numbers);

}  // namespace locus::position
