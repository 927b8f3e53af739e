// MeasureKey: what a measurement depends on besides the runs: what is measured, and its parameters, a plain struct with
// a defaulted ==. Keys compare by value, so that a parameter that is added to the struct cannot be forgotten.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

namespace locus::views {

// Copies share the parameters.
class MeasureKey {
 public:
  MeasureKey() = default;
  template <std::equality_comparable Parameters>
  MeasureKey(std::string what, Parameters parameters)
      : what_(std::move(what)),
        type_(typeid(Parameters)),
        parameters_(std::make_shared<const Parameters>(std::move(parameters))),
        equal_([](const void* a, const void* b) {
          return *static_cast<const Parameters*>(a) == *static_cast<const Parameters*>(b);
        }) {}

  friend bool operator==(const MeasureKey& a, const MeasureKey& b) {
    return a.type_ == b.type_ && a.what_ == b.what_ &&
           (a.parameters_ == b.parameters_ || a.equal_(a.parameters_.get(), b.parameters_.get()));
  }

 private:
  std::string what_;
  std::type_index type_ = typeid(void);
  std::shared_ptr<const void> parameters_;
  bool (*equal_)(const void* a, const void* b) = nullptr;
};

}  // namespace locus::views
