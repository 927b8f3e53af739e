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

std::string short_count(double count) {
  const char* const units[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (count >= 9999.5 && unit < 5) {
    count /= 1000;
    ++unit;
  }
  return fixed_text(count, unit > 0 && count < 100 ? 2 : 0) + units[unit];
}

}  // namespace locus
