// Lists and ranges as they are typed: "1,2,3", "4 9 17", "3:7".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/range.h"

namespace locus {

// The parts between the separators, of which each is one character; empty ones count: "a,,b" has three, "" has one.
std::vector<std::string_view> split(std::string_view text, std::string_view separators = ",");
// The same, but an empty last part is none: "a,b," has two, "" has none.
std::vector<std::string_view> split_terminated(std::string_view text, std::string_view separators = ",");
// The parts that are not empty: "a,,b" has two.
std::vector<std::string_view> split_words(std::string_view text, std::string_view separators);

// "3:7"; empty for anything else. Which end is larger is not checked.
std::optional<Range> parse_range(std::string_view text);

// The numbers that the parts are; empty where one is none.
template <class Number>
std::optional<std::vector<Number>> parse_numbers(const std::vector<std::string_view>& parts) {
  std::vector<Number> numbers;
  for (const std::string_view part : parts) {
    const auto number = parse_number<Number>(part);
    if (!number) {
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace locus
