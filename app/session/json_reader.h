// Reads a session's JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"

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
  void get(const char* name, bool& value) { read(name, "true or false", &nlohmann::json::is_boolean, value); }
  void get(const char* name, std::string& value) { read(name, "a string", &nlohmann::json::is_string, value); }
  void get(const char* name, std::int64_t& value) {
    read(name, "a whole number", &nlohmann::json::is_number_integer, value);
  }
  void get(const char* name, double& value) { read(name, "a number", &nlohmann::json::is_number, value); }
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
    if (!has(name)) {
      return;
    }
    const nlohmann::json& list = object_.at(name);
    if (!list.is_array()) {
      fail(where_ + "." + name, "a list", list);
      return;
    }
    for (std::size_t n = 0; n < list.size() && !error_; ++n) {
      use(JsonReader(list[n], where_ + "." + name + "[" + std::to_string(n) + "]", error_));
    }
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
  // The entries of a list, which may be of any kind; `use` says whether it took one.
  template <class Each>
  void each_value(const char* name, const char* expected, Each use) {
    if (!has(name)) {
      return;
    }
    const nlohmann::json& list = object_.at(name);
    if (!list.is_array()) {
      fail(where_ + "." + name, "a list", list);
      return;
    }
    for (std::size_t n = 0; n < list.size() && !error_; ++n) {
      if (!use(list[n])) {
        fail(where_ + "." + name + "[" + std::to_string(n) + "]", expected, list[n]);
      }
    }
  }
  const nlohmann::json& raw() const { return object_; }
  void fail(const std::string& where, const std::string& expected, const nlohmann::json& found) {
    if (!error_) {
      constexpr std::size_t kShown = 60;
      error_ = bad_input(where + ": expected " + expected + ", found " +
                         (found.is_primitive()
                              ? found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, kShown)
                              : found.type_name()));
    }
  }
  void fail(const Error& error) { error_ = error_ ? error_ : error; }
  // A value of a file that is not what it can be, as a parameter says it, is the file's fault.
  void refuse(const Error& error) { fail(bad_input(error.message, error.context)); }
  const std::string& where() const { return where_; }

 private:
  template <class T>
  void read(const char* name, const char* expected, bool (nlohmann::json::*is)() const noexcept, T& value) {
    if (!has(name)) {
      return;
    }
    const nlohmann::json& field = object_.at(name);
    if (!(field.*is)()) {
      fail(where_ + "." + name, expected, field);
      return;
    }
    value = field.get<T>();
  }

  const nlohmann::json& object_;
  std::string where_;
  std::optional<Error>& error_;
};

}  // namespace locus::session
