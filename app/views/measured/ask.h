// An ask: everything that a measurement depends on besides the run, as a plain struct. Its key holds every member, so
// that none can be forgotten: a member that is added is asked for from then on.
//
// Members: numbers, truth values, enumerations, texts, lists, and plain structs of these; twelve at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/base/numbers.h"

namespace locus::views {

namespace ask_members {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): what any member can be made from
};

template <class Ask, class... Before>
constexpr std::size_t count() {
  if constexpr (requires { Ask{Before{}..., Anything{}}; }) {
    return count<Ask, Before..., Anything>();
  } else {
    return sizeof...(Before);
  }
}

// A std::tie of all members.
template <class Ask>
auto of(const Ask& ask) {
  constexpr std::size_t kCount = count<Ask>();
  static_assert(kCount >= 1 && kCount <= 12, "an ask has one to twelve members");
  if constexpr (kCount == 1) {
    const auto& [a] = ask;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    const auto& [a, b] = ask;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    const auto& [a, b, c] = ask;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    const auto& [a, b, c, d] = ask;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    const auto& [a, b, c, d, e] = ask;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    const auto& [a, b, c, d, e, f] = ask;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    const auto& [a, b, c, d, e, f, g] = ask;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    const auto& [a, b, c, d, e, f, g, h] = ask;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = ask;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = ask;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kCount == 11) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = ask;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = ask;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

}  // namespace ask_members

// The same text for the same ask alone: "2 5 [1 2 ]", texts with their length before them.
inline std::string ask_key(const std::string& text) {
  return std::to_string(text.size()) + ":" + text;
}
template <class T>
std::string ask_key(const std::vector<T>& list);
template <class T>
requires(!std::is_class_v<T>) std::string ask_key(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return number_text(static_cast<double>(value));
  } else {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "an ask holds values, never pointers");
    return std::to_string(static_cast<std::int64_t>(value));
  }
}
template <class Ask>
requires(std::is_aggregate_v<Ask>&& std::is_class_v<Ask>) std::string ask_key(const Ask& ask) {
  return std::apply([](const auto&... member) { return "{" + (std::string() + ... + (ask_key(member) + " ")) + "}"; },
                    ask_members::of(ask));
}
template <class T>
std::string ask_key(const std::vector<T>& list) {
  std::string text = "[";
  for (const T& each : list) {
    text += ask_key(each) + " ";
  }
  return text + "]";
}

}  // namespace locus::views
