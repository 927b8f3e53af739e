// JSON as sub-commands print it.
#pragma once

#include <string>

#include "models/api/model.h"
#include "models/formats/json/tree.h"

namespace locus::cli {

using Json = formats::Tree;

// Two spaces of indentation; DEL, the one control that the writer leaves as it is, is escaped too.
inline std::string dump(const Json& json) {
  std::string text = json.dump(2, Json::Order::kAsAdded);
  for (std::size_t at = text.find('\x7F'); at != std::string::npos; at = text.find('\x7F', at)) {
    text.replace(at, 1, "\\u007F");
  }
  return text;
}

// A list of `value` of each element.
template <class List, class Value>
Json list_of(const List& list, const Value& value) {
  Json made = Json::list();
  for (const auto& each : list) {
    made.push_back(value(each));
  }
  return made;
}

// A document that other code wrote as text; null where it is none.
inline Json parsed(const std::string& text) {
  auto tree = Json::parse(text, "");
  return tree.ok() ? *std::move(tree) : Json();
}

// The ten likeliest outputs at the last position.
inline Json top_json(const models::Trace& trace) {
  return list_of(trace.top(10), [](const models::Prediction& prediction) -> Json {
    return {{"id", prediction.id}, {"token", prediction.token}, {"probability", prediction.probability}};
  });
}

}  // namespace locus::cli
