// Node: a value of a document with its place in it, read field by field. The first field that is not what it should be
// is remembered: "session.state.layer: expected a whole number, found \"first\"".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/formats/json/tree.h"

namespace locus::formats {

class Node {
 public:
  // `error` keeps the first error of this node and of those below it. All three outlive the node.
  Node(const Tree& value, std::string path, std::optional<Error>& error)
      : value_(&value), path_(std::move(path)), error_(&error) {}

  const std::string& path() const { return path_; }
  const Tree& value() const { return *value_; }
  bool has(const std::string& name) const { return value_->find(name) != nullptr; }

  // Reads this value: bool, std::int64_t, double or std::string. Leaves `value` as it is where it is of another kind.
  template <class T>
  void read(T& value) const {
    if (auto held = value_->as<T>()) {
      value = *std::move(held);
    } else {
      fail(expected_kind(T()));
    }
  }
  // Reads a list of them.
  template <class T>
  void read(std::vector<T>& values) const {
    each([&values](const Node& item) { item.read(values.emplace_back()); });
  }
  template <class T>
  void read(std::optional<T>& value) const {
    read(value.emplace());
  }
  // Reads a field; leaves `value` as it is where the field is absent.
  template <class T>
  void get(const std::string& name, T& value) const {
    if (has(name)) {
      field(name).read(value);
    }
  }

  // Precondition: has(name).
  Node field(const std::string& name) const { return {*value_->find(name), path_ + "." + name, *error_}; }
  // The same, with an error unless the field is an object. Precondition: has(name).
  Node object(const std::string& name) const;
  // The elements of a list, up to the first error.
  template <class Use>
  void each(const Use& use) const {
    if (!value_->is_list()) {
      fail("a list");
    }
    for (std::size_t n = 0; n < value_->items().size() && !*error_; ++n) {
      use(Node(value_->items()[n], path_ + "[" + std::to_string(n) + "]", *error_));
    }
  }
  // The objects of a list in the field, if there is one.
  template <class Use>
  void each_object(const std::string& name, const Use& use) const {
    if (has(name)) {
      field(name).each([&](const Node& item) {
        item.expect_object();
        use(item);
      });
    }
  }
  // The fields of an object, of any kind.
  template <class Use>
  void each_field(const Use& use) const {
    for (const auto& [name, value] : value_->fields()) {
      use(name, Node(value, path_ + "." + name, *error_));
    }
  }

  void expect_object() const;
  // "PATH: expected EXPECTED, found …".
  void fail(const std::string& expected) const;
  // An error of this node in words of its own.
  void fail(const Error& error) const;

 private:
  static const char* expected_kind(bool /*tag*/) { return "true or false"; }
  static const char* expected_kind(std::int64_t /*tag*/) { return "a whole number"; }
  static const char* expected_kind(double /*tag*/) { return "a number"; }
  static const char* expected_kind(const std::string& /*tag*/) { return "a string"; }

  const Tree* value_;
  std::string path_;
  std::optional<Error>* error_;
};

}  // namespace locus::formats
