// Tree: a JSON value in memory, to be written or read. Files are read into one within the limits of read_json(); what
// is wrong with their fields is said by Node (node.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus::formats {

class Tree {
 public:
  using List = std::vector<Tree>;
  using Fields = std::vector<std::pair<std::string, Tree>>;  // in the order in which they were added

  Tree() = default;  // null
  Tree(std::nullptr_t) {}
  Tree(bool value) : value_(value) {}
  template <std::integral T>
  Tree(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point T>
  Tree(T value) : value_(static_cast<double>(value)) {}
  Tree(const char* text) : value_(std::string(text)) {}
  Tree(std::string text) : value_(std::move(text)) {}
  Tree(std::string_view text) : value_(std::string(text)) {}
  template <class T>
  Tree(const std::vector<T>& list) : value_(List(list.begin(), list.end())) {}
  template <class T>
  Tree(const std::optional<T>& value) : Tree(value ? Tree(*value) : Tree()) {}
  Tree(const SettingValue& value);
  Tree(const Settings& settings);  // an object
  // An object.
  Tree(std::initializer_list<std::pair<std::string, Tree>> fields);
  static Tree list(List values = {});
  static Tree object();

  // The document, of at most 64 levels and 4 million values and names, no name twice in an object. Errors: kBadInput
  // with `file` as context.
  static Result<Tree> parse(std::string_view text, const std::string& file);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_object() const { return std::holds_alternative<Fields>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  // The value of a kind: bool, std::int64_t, double (of whole numbers too) or std::string. Empty for another kind.
  template <class T>
  std::optional<T> as() const;
  // A truth value, number, text or list of numbers; empty for anything else.
  std::optional<SettingValue> setting() const;
  // The elements of a list; none for another kind.
  const List& items() const;
  // The fields of an object; none for another kind.
  const Fields& fields() const;
  // A field of an object; null where it is absent, or this is no object.
  const Tree* find(std::string_view name) const;

  // The field of an object, added where it is absent; a null becomes an object. Precondition: one of these.
  Tree& operator[](std::string_view name);
  // Precondition: null, which becomes a list, or a list.
  void push_back(Tree value);
  // Precondition: an object without a field of that name.
  void add_field(std::string name, Tree value);

  // "object", "array", "string", "boolean", "number", "null": as errors name what was found.
  const char* kind() const;
  // The value as errors show it: cut by locus::shown(); of a list or an object the kind alone.
  std::string shown() const;

  enum class Order { kAsAdded, kByName };  // of the fields of objects
  // The text; `indent` spaces a level, −1: on one line. Bytes that are not UTF-8 become U+FFFD, numbers that are none
  // null.
  std::string dump(int indent, Order order) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Fields> value_;
};

}  // namespace locus::formats
