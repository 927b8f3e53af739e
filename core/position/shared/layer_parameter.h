// A trainable tensor that all layers share, or that every layer has its own of.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/position/position_encoding.h"
#include "core/position/shared/initial.h"

namespace locus::position {

// kTooLarge, naming the option, when a table of rows × columns would take more than 4 GiB: a wrong number in a
// config.json must not be allocated before a tensor contradicts it.
inline Status check_table(const char* option, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;
  if (rows <= kMaxElements / columns) {
    return {};
  }
  return too_large("option " + std::string(option) + ": a table of " + std::to_string(rows) + " × " +
                   std::to_string(columns) + " numbers is more than 4 GiB");
}

class LayerParameter {
 public:
  LayerParameter() = default;
  // One value for all layers, called `name`; or `layers` of them, called "layers.N.NAME". `make` gives one of `sizes`.
  LayerParameter(std::string name, std::int64_t layers, bool per_layer, const std::vector<std::int64_t>& sizes,
                 const std::function<at::Tensor()>& make)
      : name_(std::move(name)), per_layer_(per_layer) {
    for (std::int64_t layer = 0; layer < (per_layer ? layers : 1); ++layer) {
      values_.push_back(initial(sizes, make));
    }
  }

  bool empty() const { return values_.empty(); }
  // The tensor of `layer`. Precondition: !empty().
  const at::Tensor& of(std::int64_t layer) const {
    return values_.at(per_layer_ ? static_cast<std::size_t>(layer) : 0);
  }
  // Appends them under their names.
  void list(std::vector<Parameter>& parameters) {
    for (std::size_t layer = 0; layer < values_.size(); ++layer) {
      parameters.push_back({per_layer_ ? "layers." + std::to_string(layer) + "." + name_ : name_, &values_[layer]});
    }
  }

 private:
  std::string name_;
  bool per_layer_ = false;
  std::vector<at::Tensor> values_;
};

// These parameters, one after the other.
inline std::vector<Parameter> parameters_of(std::initializer_list<LayerParameter*> list) {
  std::vector<Parameter> parameters;
  for (LayerParameter* each : list) {
    each->list(parameters);
  }
  return parameters;
}

}  // namespace locus::position
