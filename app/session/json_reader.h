// Reads a session's JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/formats/json/json.h"

namespace locus::session {

// One object of the file, read field by field; the first field of a wrong kind is remembered as the error.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& object, std::string where, std::optional<Error>& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (!object_.is_object()) {
      fail(where_, "an object", object_);
    }
  }

  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }
  // A field that is absent leaves the value as it is.
  template <class T>
  void get(const char* name, T& value) {
    if (!has(name)) {
      return;
    }
    take(object_.at(name), where_ + "." + name, value);
  }
  template <class T>
  void get(const char* name, std::vector<T>& values) {
    each_entry(name, [&](const nlohmann::json& entry, const std::string& where) {
      take(entry, where, values.emplace_back());
    });
  }
  template <class T>
  void get(const char* name, std::optional<T>& value) {
    if (has(name)) {
      value.emplace();
      get(name, *value);
    }
  }
  JsonReader object(const std::string& name) const { return {object_.at(name), where_ + "." + name, error_}; }
  template <class Each>
  void each(const char* name, Each use) {
    each_entry(name,
               [&](const nlohmann::json& entry, const std::string& where) { use(JsonReader(entry, where, error_)); });
  }
  // The value of each member, which may be of any kind.
  template <class Each>
  void each_member(Each use) {
    if (!object_.is_object()) {
      return;  // said by the constructor
    }
    for (const auto& [name, value] : object_.items()) {
      use(name, value);
    }
  }
  const nlohmann::json& raw() const { return object_; }
  void fail(const std::string& where, const std::string& expected, const nlohmann::json& found) {
    if (!error_) {
      error_ = bad_input(where + ": expected " + expected + ", found " + shown_value(found));
    }
  }
  void fail(const Error& error) { error_ = error_ ? error_ : error; }
  // A value of a file that is not what it can be, as a parameter says it, is the file's fault.
  void refuse(const Error& error) { fail(bad_input(error.message, error.context)); }
  const std::string& where() const { return where_; }

 private:
  template <class T>
  void take(const nlohmann::json& field, const std::string& where, T& value) {
    if (JsonKind<T>::is(field)) {
      value = field.get<T>();
    } else {
      fail(where, JsonKind<T>::kName, field);
    }
  }
  template <class Each>
  void each_entry(const char* name, Each use) {
    if (!has(name)) {
      return;
    }
    const nlohmann::json& list = object_.at(name);
    if (!list.is_array()) {
      fail(where_ + "." + name, "a list", list);
      return;
    }
    for (std::size_t n = 0; n < list.size() && !error_; ++n) {
      use(list[n], where_ + "." + name + "[" + std::to_string(n) + "]");
    }
  }

  const nlohmann::json& object_;
  std::string where_;
  std::optional<Error>& error_;
};

}  // namespace locus::session
