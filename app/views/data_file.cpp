#include "app/views/data_file.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/atomic_file.h"

namespace locus::views {

namespace {

static_assert(std::endian::native == std::endian::little, "NPY is written as the machine stores floats");

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t size : shape) {
    text += std::to_string(size) + ", ";
  }
  if (shape.size() > 1) {
    text.resize(text.size() - 2);
  } else if (!shape.empty()) {
    text.pop_back();  // "(5,)"
  }
  return text + ")";
}

void append_number(std::string& text, float value) {
  if (std::isnan(value)) {
    text += "nan";
    return;
  }
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  text.append(buffer.data(), code == std::errc() ? end : buffer.data());
}

// A name as a CSV field: quoted when it must be.
std::string quoted(const std::string& name) {
  if (name.find_first_of(",\"\n\r") == std::string::npos) {
    return name;
  }
  std::string out = "\"";
  for (const char c : name) {
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return out + "\"";
}

}  // namespace

std::string to_npy(const Data& data) {
  constexpr std::size_t kPreamble = 10;  // magic, version, header length
  constexpr std::size_t kAlignment = 64;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape_text(data.shape) + ", }";
  const std::size_t total = (kPreamble + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.append(total - kPreamble - header.size() - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8 & 0xFF);
  bytes += header;
  const std::size_t begin = bytes.size();
  bytes.resize(begin + data.values.size() * sizeof(float));
  if (!data.values.empty()) {
    std::memcpy(bytes.data() + begin, data.values.data(), data.values.size() * sizeof(float));
  }
  return bytes;
}

std::string to_csv(const Data& data) {
  std::string text;
  for (std::size_t n = 0; n < data.columns.size(); ++n) {
    text += (n == 0 ? "" : ",") + quoted(data.columns[n]) + (n + 1 == data.columns.size() ? "\n" : "");
  }
  const auto columns = static_cast<std::size_t>(data.shape.empty() ? 1 : data.shape.back());
  const auto rows = static_cast<std::size_t>(data.shape.size() > 1 ? data.shape[data.shape.size() - 2] : 1);
  if (columns == 0) {
    return text;
  }
  for (std::size_t n = 0; n < data.values.size(); ++n) {
    append_number(text, data.values[n]);
    const bool last = (n + 1) % columns == 0;
    text += last ? '\n' : ',';
    if (last && data.shape.size() > 2 && (n + 1) % (columns * rows) == 0 && n + 1 < data.values.size()) {
      text += '\n';
    }
  }
  return text;
}

Status check_data_name(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending != ".npy" && ending != ".csv") {
    return usage("data: expected a name that ends in .npy or .csv, found " + file.filename().string());
  }
  return {};
}

Status write_data(const Data& data, const std::string& recipe, const std::filesystem::path& file) {
  LOCUS_CHECK(check_data_name(file));
  LOCUS_CHECK(write_file(file, file.extension() == ".npy" ? to_npy(data) : to_csv(data)));
  return recipe.empty() ? Status() : write_file(file.string() + ".recipe.json", recipe);
}

}  // namespace locus::views
