// JSON as sub-commands print it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/api/model.h"

namespace locus::cli {

using Json = nlohmann::ordered_json;

// Two spaces of indentation; bytes that are not UTF-8 become U+FFFD, numbers that are none null. The one control that
// JSON's writer leaves as it is, DEL, is escaped as JSON has it.
inline std::string dump(const Json& json) {
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = text.find('\x7F'); at != std::string::npos; at = text.find('\x7F', at)) {
    text.replace(at, 1, "\\u007F");
  }
  return text;
}

// What `value` makes of each element, in an array.
template <class List, class Value>
Json list_of(const List& list, const Value& value) {
  Json array = Json::array();
  for (const auto& each : list) {
    array.push_back(value(each));
  }
  return array;
}

// The ten likeliest outputs at the last position.
inline Json top_json(const models::Trace& trace) {
  return list_of(trace.top(10), [](const models::Prediction& prediction) -> Json {
    return {{"id", prediction.id}, {"token", prediction.token}, {"probability", prediction.probability}};
  });
}

}  // namespace locus::cli
