#include "tests/support/golden.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>
#include "tests/support/paths.h"

namespace locus::test {

namespace {

at::ScalarType scalar_type(const std::string& dtype) {
  if (dtype == "F32") {
    return at::kFloat;
  }
  if (dtype == "F64") {
    return at::kDouble;
  }
  if (dtype == "I64") {
    return at::kLong;
  }
  if (dtype == "U8") {
    return at::kByte;
  }
  throw std::runtime_error("golden dtype " + dtype);
}

}  // namespace

Golden::Golden(const std::string& name) : name_(name) {
  const std::string path = test::source_dir() + "/tests/golden/" + name + ".safetensors";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size) {
    throw std::runtime_error(path + " is missing or empty");
  }
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  const std::size_t data_begin = sizeof header_size + header_size;
  const auto header = nlohmann::json::parse(bytes.substr(sizeof header_size, header_size));
  for (const auto& [array, entry] : header.items()) {
    if (array == "__metadata__") {
      continue;
    }
    const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
    at::Tensor tensor = at::empty(shape, scalar_type(entry.at("dtype").get<std::string>()));
    if (offsets.at(1) - offsets.at(0) != tensor.nbytes() || data_begin + offsets.at(1) > bytes.size()) {
      throw std::runtime_error(path + ": " + array + " has the wrong size");
    }
    std::memcpy(tensor.data_ptr(), bytes.data() + data_begin + offsets.at(0), tensor.nbytes());
    arrays_.emplace(array, std::move(tensor));
  }
}

const at::Tensor& Golden::operator[](const std::string& array) const {
  const auto found = arrays_.find(array);
  if (found == arrays_.end()) {
    throw std::runtime_error(name_ + " has no array " + array);
  }
  return found->second;
}

double Golden::number(const std::string& array) const {
  return (*this)[array].to(at::kDouble).item<double>();
}

double deviation(const at::Tensor& got, const at::Tensor& want) {
  if (!got.defined() || !want.defined() || got.sizes() != want.sizes()) {
    return std::numeric_limits<double>::infinity();
  }
  const at::Tensor a = got.detach().to(at::kCPU, at::kDouble);
  const at::Tensor b = want.detach().to(at::kCPU, at::kDouble);
  const at::Tensor both = a.isnan().logical_and(b.isnan()).logical_or(a == b);
  const at::Tensor difference = at::where(both, at::zeros_like(a), (a - b).abs() / (b.abs() + 1));
  if (difference.isnan().any().item<bool>()) {
    return std::numeric_limits<double>::infinity();
  }
  return difference.numel() == 0 ? 0.0 : difference.max().item<double>();
}

double on_device(double tolerance) {
  static const char* const device = std::getenv("LOCUS_TEST_DEVICE");
  constexpr double kOnCuda = 1e-3;
  return device != nullptr && std::string_view(device).starts_with("cuda") ? std::max(tolerance, kOnCuda) : tolerance;
}

}  // namespace locus::test
