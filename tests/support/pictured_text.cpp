#include "tests/support/pictured_text.h"

#include <cstring>
#include <vector>

#include "models/formats/tensor_source.h"
#include "tests/support/paths.h"

namespace locus::test {

namespace {

std::vector<std::int64_t> whole_numbers(const formats::TensorInfo* tensor) {
  std::vector<std::int64_t> numbers;
  if (tensor != nullptr && tensor->dtype == formats::DType::kI64) {
    numbers.resize(static_cast<std::size_t>(tensor->elements()));
    std::memcpy(numbers.data(), tensor->storage.data(), numbers.size() * sizeof numbers.front());
  }
  return numbers;
}

}  // namespace

std::filesystem::path pictured_folder(const std::string& family) {
  return std::filesystem::path(source_dir()) / "tests/golden/families-vlm" / family;
}

Result<models::Input> pictured_input(const std::string& family, bool files) {
  const std::filesystem::path file = pictured_folder(family) / "expected.safetensors";
  LOCUS_TRY(const formats::Source source, formats::open_tensors(file));
  models::Input input;
  input.ids = whole_numbers(source->find("input_ids"));
  input.token_types = whole_numbers(source->find("token_type_ids"));
  for (int n = 0; files; ++n) {
    const std::filesystem::path picture = pictured_folder(family) / ("image" + std::to_string(n) + ".png");
    if (!std::filesystem::exists(picture)) {
      return input;
    }
    input.images.push_back(picture);
  }
  input.pixels = file;
  return input;
}

Result<models::Input> filmed_input(const std::string& family) {
  models::Input input;
  input.pixels = std::filesystem::path(source_dir()) / "tests/golden/videos" / (family + ".safetensors");
  LOCUS_TRY(const formats::Source source, formats::open_tensors(*input.pixels));
  input.ids = whole_numbers(source->find("input_ids"));
  return input;
}

std::string grey_gif(int frames, int width, int height, int hundredths) {
  std::string bytes = "GIF89a";
  const auto add16 = [&bytes](int value) {
    bytes += static_cast<char>(value & 255);
    bytes += static_cast<char>(value >> 8);
  };
  add16(width);
  add16(height);
  bytes += "\xF6";
  bytes.append(2, '\0');
  for (int level = 0; level < 128; ++level) {
    bytes.append(3, static_cast<char>(2 * level));
  }
  for (int frame = 0; frame < frames; ++frame) {
    bytes += "\x21\xF9\x04\x04";
    add16(hundredths);
    bytes.append(2, '\0');
    bytes += "\x2C";
    add16(0);
    add16(0);
    add16(width);
    add16(height);
    bytes.append(1, '\0');
    bytes += "\x07";
    std::string codes;
    for (int pixel = 0; pixel < width * height; ++pixel) {
      if (pixel % 100 == 0) {
        codes += "\x80";
      }
      codes += static_cast<char>(frame % 128);
    }
    codes += "\x81";
    for (std::size_t at = 0; at < codes.size(); at += 255) {
      const std::string part = codes.substr(at, 255);
      bytes += static_cast<char>(part.size());
      bytes += part;
    }
    bytes.append(1, '\0');
  }
  return bytes + "\x3B";
}

}  // namespace locus::test
