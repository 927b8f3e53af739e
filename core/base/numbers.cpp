#include "core/base/numbers.h"

#include <array>
#include <clocale>

namespace locus {

namespace {

constexpr std::size_t kLongest = 400;  // the digits of the largest double, and decimals

std::string with_format(double value, std::chars_format format, int precision) {
  std::array<char, kLongest> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  return code == std::errc() ? std::string(buffer.data(), end) : number_text(value);
}

}  // namespace

std::string fixed_text(double value, int decimals) {
  return with_format(value, std::chars_format::fixed, decimals);
}

std::string general_text(double value, int digits) {
  return with_format(value, std::chars_format::general, digits);
}

std::string scientific_text(double value, int decimals) {
  return with_format(value, std::chars_format::scientific, decimals);
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return code == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

void use_plain_numbers() {
  std::setlocale(LC_NUMERIC, "C");
}

}  // namespace locus
