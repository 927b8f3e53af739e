// JsonBuilder: a document from the events of read_json() or read_yaml(), value by value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/formats/json/json_events.h"

namespace locus {

// `Json` is nlohmann::json, or ordered_json, whose objects keep the file's order. Names come once, as both readers make
// sure.
template <class Json>
class JsonBuilder {
 public:
  Status add(const formats::JsonEvent& event) {
    using Kind = formats::JsonEvent::Kind;
    switch (event.kind) {
      case Kind::kNull:
        put(nullptr);
        break;
      case Kind::kBool:
        put(event.boolean);
        break;
      case Kind::kInteger:
        put(event.integer);
        break;
      case Kind::kNumber:
        put(event.number);
        break;
      case Kind::kText:
        put(std::string(event.text));
        break;
      case Kind::kKey:
        slot_ = new_field(std::string(event.text));
        break;
      case Kind::kBeginObject:
        stack_.push_back(put(Json::object()));
        break;
      case Kind::kBeginArray:
        stack_.push_back(put(Json::array()));
        break;
      case Kind::kEndObject:
      case Kind::kEndArray:
        stack_.pop_back();
        break;
    }
    return {};
  }

  // Precondition: every event of one value was added.
  Json finish() { return std::move(root_); }

 private:
  Json* new_field(std::string name) {
    auto& fields = stack_.back()->template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      return &fields.emplace_back(std::move(name), nullptr).second;  // its operator[] looks through all fields
    } else {
      return &fields[std::move(name)];
    }
  }

  Json* put(Json value) {
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

}  // namespace locus
