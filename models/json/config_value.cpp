#include "models/json/config_value.h"

#include "core/base/shown.h"

namespace locus::checkpoint {

std::string ConfigValue::describe() const {
  JsonEvent event;
  if (const bool* boolean = std::get_if<bool>(&value)) {
    event = {JsonEvent::Kind::kBool, *boolean, 0, 0, {}};
  } else if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) {
    event = {JsonEvent::Kind::kInteger, false, *integer, 0, {}};
  } else if (const double* number = std::get_if<double>(&value)) {
    event = {JsonEvent::Kind::kNumber, false, 0, *number, {}};
  } else if (const std::string* text = std::get_if<std::string>(&value)) {
    event = {JsonEvent::Kind::kText, false, 0, 0, *text};
  } else if (std::holds_alternative<List>(value)) {
    event.kind = JsonEvent::Kind::kBeginArray;
  } else if (std::holds_alternative<Object>(value)) {
    event.kind = JsonEvent::Kind::kBeginObject;
  }
  return event.describe();
}

// Where the next value goes: the root, the end of the innermost list, or the name that the innermost object waits with.
ConfigValue* ConfigBuilder::place() {
  if (open_.empty()) {
    return &root_;
  }
  if (auto* list = std::get_if<ConfigValue::List>(&open_.back()->value)) {
    return &list->emplace_back();
  }
  return &std::get<ConfigValue::Object>(open_.back()->value).back().second;
}

Status ConfigBuilder::add(const JsonEvent& event) {
  using Kind = JsonEvent::Kind;
  switch (event.kind) {
    case Kind::kNull:
      place();
      break;
    case Kind::kBool:
      place()->value = event.boolean;
      break;
    case Kind::kInteger:
      place()->value = event.integer;
      break;
    case Kind::kNumber:
      place()->value = event.number;
      break;
    case Kind::kText:
      place()->value = std::string(event.text);
      break;
    case Kind::kBeginObject:
    case Kind::kBeginArray: {
      ConfigValue* opened = place();
      if (event.kind == Kind::kBeginObject) {
        opened->value = ConfigValue::Object{};
      } else {
        opened->value = ConfigValue::List{};
      }
      open_.push_back(opened);
      break;
    }
    case Kind::kKey:
      std::get<ConfigValue::Object>(open_.back()->value).emplace_back(std::string(event.text), ConfigValue{});
      break;
    case Kind::kEndObject:
    case Kind::kEndArray:
      open_.pop_back();
      break;
  }
  return {};
}

}  // namespace locus::checkpoint
