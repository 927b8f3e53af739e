#include "models/text/json.h"

#include <optional>
#include <utility>
#include <vector>

namespace locus {
namespace {

using Json = nlohmann::json;

// Builds the document value by value and stops at the first breach of a limit.
class Builder {
 public:
  Builder(const std::string& file, const JsonLimits& limits) : file_(file), limits_(limits) {}

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(Json::number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value) != nullptr; }
  bool string(std::string& value) { return add(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto [entry, added] = stack_.back()->get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    if (!added) {
      error_ = bad_input("key \"" + entry->first.substr(0, 80) + "\" appears twice", file_);
      return false;
    }
    slot_ = &entry->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    error_ = bad_input("not valid JSON at byte " + std::to_string(position), file_);
    return false;
  }

  const std::optional<Error>& error() const { return error_; }
  Json take() { return std::move(root_); }

 private:
  Json* add(Json value) {
    if (++values_ > limits_.values) {
      error_ = too_large("more than " + std::to_string(limits_.values) + " JSON values", file_);
      return nullptr;
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(value));
      return &stack_.back()->back();
    }
    *slot_ = std::move(value);
    return slot_;
  }

  bool open(Json container) {
    if (static_cast<int>(stack_.size()) >= limits_.depth) {
      error_ = bad_input("JSON nested deeper than " + std::to_string(limits_.depth) + " levels", file_);
      return false;
    }
    Json* place = add(std::move(container));
    if (place == nullptr) {
      return false;
    }
    stack_.push_back(place);
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  const std::string& file_;
  JsonLimits limits_;
  Json root_;
  std::vector<Json*> stack_;  // open containers; each is complete before its parent grows, so pointers hold
  Json* slot_ = nullptr;
  std::int64_t values_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  Builder builder(file, limits);
  const bool complete = Json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.error()) {
    return *builder.error();
  }
  if (!complete) {
    return bad_input("not valid JSON", file);
  }
  return builder.take();
}

Result<JsonObject> JsonObject::of(const nlohmann::json& value, std::string where) {
  if (!value.is_object()) {
    return bad_input(std::string("expected an object, found ").append(value.type_name()), std::move(where));
  }
  return JsonObject(value, std::move(where));
}

const nlohmann::json* JsonObject::find(const std::string& name) const {
  const auto found = value_->find(name);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

Result<bool> JsonObject::boolean(const std::string& name, bool fallback) const {
  const Json* field = find(name);
  if (field != nullptr && !field->is_boolean()) {
    return wrong(name, "true or false");
  }
  return field == nullptr ? fallback : field->get<bool>();
}

Result<std::int64_t> JsonObject::integer(const std::string& name, std::int64_t fallback) const {
  const Json* field = find(name);
  if (field == nullptr) {
    return fallback;
  }
  const bool fits = field->is_number_unsigned() ? field->get<std::uint64_t>() <= INT64_MAX : field->is_number_integer();
  if (!fits) {
    return wrong(name, "a whole number");
  }
  return field->get<std::int64_t>();
}

Result<double> JsonObject::number(const std::string& name, double fallback) const {
  const Json* field = find(name);
  if (field != nullptr && !field->is_number()) {
    return wrong(name, "a number");
  }
  return field == nullptr ? fallback : field->get<double>();
}

Result<std::string> JsonObject::text(const std::string& name, const std::string& fallback) const {
  const Json* field = find(name);
  if (field != nullptr && !field->is_string()) {
    return wrong(name, "a string");
  }
  return field == nullptr ? fallback : field->get<std::string>();
}

Result<JsonObject> JsonObject::object(const std::string& name) const {
  const Json* field = find(name);
  if (field == nullptr || !field->is_object()) {
    return wrong(name, "an object");
  }
  return JsonObject(*field, where_ + ": " + name);
}

Result<const nlohmann::json*> JsonObject::array(const std::string& name) const {
  static const Json kEmpty = Json::array();
  const Json* field = find(name);
  if (field != nullptr && !field->is_array()) {
    return wrong(name, "an array");
  }
  return field == nullptr ? &kEmpty : field;
}

Error JsonObject::wrong(const std::string& name, const std::string& expected) const {
  const Json* field = find(name);
  std::string found = "nothing";
  if (field != nullptr) {
    found = field->is_primitive() ? field->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60)
                                  : field->type_name();
  }
  return bad_input(name + ": expected " + expected + ", found " + found, where_);
}

}  // namespace locus
