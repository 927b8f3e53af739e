#include "models/json/json.h"

#include <utility>
#include <vector>

#include "core/base/shown.h"
#include "models/json/json_events.h"

namespace locus {
namespace {

using Json = nlohmann::json;

using Event = checkpoint::JsonEvent;

// Builds the document value by value.
class Builder {
 public:
  void take(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kNull:
        add(nullptr);
        break;
      case Event::Kind::kBool:
        add(event.boolean);
        break;
      case Event::Kind::kInteger:
        add(event.integer);
        break;
      case Event::Kind::kNumber:
        add(event.number);
        break;
      case Event::Kind::kText:
        add(std::string(event.text));
        break;
      case Event::Kind::kKey:
        slot_ = &(*stack_.back())[std::string(event.text)];
        break;
      case Event::Kind::kBeginObject:
        stack_.push_back(add(Json::object()));
        break;
      case Event::Kind::kBeginArray:
        stack_.push_back(add(Json::array()));
        break;
      case Event::Kind::kEndObject:
      case Event::Kind::kEndArray:
        stack_.pop_back();
        break;
    }
  }

  Json finish() { return std::move(root_); }

 private:
  Json* add(Json value) {
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

  Json root_;
  std::vector<Json*> stack_;  // open containers; each is complete before its parent grows, so pointers hold
  Json* slot_ = nullptr;      // the place of the value after a key
};

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const std::string& file) {
  Builder builder;
  const Status read = checkpoint::read_json(text, {}, [&](const Event& event) {
    builder.take(event);
    return Status();
  });
  if (!read.ok()) {
    return read.error().within(file);
  }
  return builder.finish();
}

bool JsonKind<std::int64_t>::is(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX : value.is_number_integer();
}

std::optional<std::int64_t> whole_number(const Json& value, std::int64_t least, std::int64_t most) {
  if (!JsonKind<std::int64_t>::is(value)) {
    return std::nullopt;
  }
  const auto number = value.get<std::int64_t>();
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::string shown_value(const Json& value) {
  return value.is_primitive() ? locus::shown(value.dump(-1, ' ', false, Json::error_handler_t::replace))
                              : value.type_name();
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
  return bad_input(name + ": expected " + expected + ", found " + (field == nullptr ? "nothing" : shown_value(*field)),
                   where_);
}

}  // namespace locus
