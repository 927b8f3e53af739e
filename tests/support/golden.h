// Reference values stored beside the golden tests: named arrays in .safetensors files, read by an own small reader.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>

namespace locus::test {

// One file below tests/golden. Reading throws std::runtime_error, which fails the test.
class Golden {
 public:
  // `name` without folder and ending: "baselines".
  explicit Golden(const std::string& name);

  // The array as stored (float32, float64, int64 or bytes).
  const at::Tensor& operator[](const std::string& array) const;
  bool has(const std::string& array) const { return arrays_.count(array) != 0; }
  // A stored scalar.
  double number(const std::string& array) const;
  const std::map<std::string, at::Tensor>& arrays() const { return arrays_; }

 private:
  std::string name_;
  std::map<std::string, at::Tensor> arrays_;
};

// The largest |got − want| / (1 + |want|), NaN-proof: infinity when shapes differ or a NaN stands on one side only.
double deviation(const at::Tensor& got, const at::Tensor& want);

// The tolerance of numbers that are computed on the device of the tests (test_device.cpp): at least 1e-3 on a CUDA
// device, whose sums have another order.
double on_device(double tolerance);

}  // namespace locus::test

// EXPECT that |got − want| ≤ tolerance·(1 + |want|) everywhere.
#define EXPECT_CLOSE(got, want, tolerance) \
  EXPECT_LE(::locus::test::deviation((got), (want)), ::locus::test::on_device(tolerance))
