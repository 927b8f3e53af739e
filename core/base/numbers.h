// Numbers as text, the same in every locale: a decimal point, no groups, what printf and strtod do in the C locale.
// Everything that writes a number a person or a file sees, or reads one that was typed, does it here.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace locus {

// The value of a table where there is no number; files write it as null or nothing.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// "0.250": so many decimals (printf's %.*f).
std::string fixed_text(double value, int decimals);
// "0.25", "1.2e+05": so many significant digits, no zeros at the end (%.*g).
std::string general_text(double value, int digits);
// "2.50e-04": so many decimals of the mantissa (%.*e).
std::string scientific_text(double value, int decimals);
// The shortest text that reads back as the same number: "0.1", "2000", "1e+30".
std::string number_text(double value);

// "1.2 M", "823 k", "17": a count for a person.
std::string short_count(double count);

// The number that the whole of `text` is; empty for anything else. Number: std::int64_t, double, float.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  return code == std::errc() && stop == end ? std::optional<Number>(number) : std::nullopt;
}

// Makes the C library's numbers those of the C locale again, for libraries that print with them. Called after each Qt
// application object: making one takes over the environment's locale.
void use_plain_numbers();

}  // namespace locus
