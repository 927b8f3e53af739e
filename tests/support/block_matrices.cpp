#include "tests/support/block_matrices.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/held_formats.h"

namespace locus::test {

products::Packed matrix_of(const blocks::Format& format, std::int64_t outputs, std::int64_t inputs) {
  auto bytes = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(outputs * inputs / format.elements * format.bytes));
  if (format.pack != nullptr) {
    const at::Tensor values = at::randn({outputs, inputs}) * 0.05;
    blocks::pack(format, values.data_ptr<float>(), outputs * inputs / format.elements, bytes->data());
  } else {
    for (std::byte& byte : *bytes) {
      byte = static_cast<std::byte>(std::rand() & 0x1F);
    }
    for (std::size_t at = 0; format.name == "MXFP4" && at < bytes->size();
         at += static_cast<std::size_t>(format.bytes)) {
      bytes->at(at) = static_cast<std::byte>(124 + std::rand() % 4);  // exponents of powers of 2, 127 is 1
    }
    const bool scaled = &format != &blocks::float8() && blocks::format_of(format.number) == nullptr;
    for (std::size_t at = 0; scaled && at < bytes->size(); at += static_cast<std::size_t>(format.bytes)) {
      const float scale = 0.01F * static_cast<float>(1 + std::rand() % 9);
      std::memcpy(bytes->data() + at, &scale, sizeof scale);
      if (format.name.ends_with('+')) {
        std::memcpy(bytes->data() + at + sizeof scale, &scale, sizeof scale);
      }
    }
  }
  return {&format, bytes->data(), outputs, inputs, 0, bytes};
}

std::vector<const blocks::Format*> all_formats() {
  std::vector<const blocks::Format*> all{&blocks::float8(), &blocks::scaled_float8(32), &blocks::scaled_float8(128),
                                         &blocks::normal_float4(), &blocks::coded_float4()};
  for (const std::int64_t elements : {32, 64, 128}) {
    all.insert(all.end(), {&blocks::scaled_int4(elements), &blocks::scaled_int8(elements),
                           &blocks::affine_int4(elements), &blocks::affine_int8(elements)});
  }
  for (const blocks::Format& format : blocks::formats()) {
    all.push_back(&format);
  }
  return all;
}

}  // namespace locus::test
