#include "models/formats/json/json_events.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/shown.h"

namespace locus::formats {

namespace {

using Json = nlohmann::json;

// nlohmann's SAX interface on top of a handler of events. Its parser keeps one bit a level and one token, no tree.
class JsonAdapter final : public nlohmann::json_sax<Json> {
 public:
  JsonAdapter(const JsonLimits& limits, const std::function<Status(const JsonEvent&)>& handle)
      : limits_(limits), handle_(handle) {}

  bool null() override { return pass({JsonEvent::Kind::kNull, false, 0, 0, {}}); }
  bool boolean(bool value) override { return pass({JsonEvent::Kind::kBool, value, 0, 0, {}}); }
  bool number_integer(std::int64_t value) override {
    return pass({JsonEvent::Kind::kInteger, false, value, static_cast<double>(value), {}});
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return pass({JsonEvent::Kind::kNumber, false, 0, static_cast<double>(value), {}});
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& /*text*/) override {
    return pass({JsonEvent::Kind::kNumber, false, 0, value, {}});
  }
  bool string(std::string& value) override { return pass({JsonEvent::Kind::kText, false, 0, 0, value}); }
  bool binary(Json::binary_t& /*value*/) override { return fail(bad_input("not JSON")); }

  bool start_object(std::size_t /*elements*/) override {
    names_.emplace_back();
    return begin(JsonEvent::Kind::kBeginObject);
  }
  bool key(std::string& value) override {
    if (!names_.back().insert(value).second) {
      return fail(bad_input("the name \"" + shown(value) + "\" is there twice"));
    }
    return pass({JsonEvent::Kind::kKey, false, 0, 0, value});
  }
  bool end_object() override {
    names_.pop_back();
    --depth_;
    return pass({JsonEvent::Kind::kEndObject, false, 0, 0, {}});
  }
  bool start_array(std::size_t /*elements*/) override { return begin(JsonEvent::Kind::kBeginArray); }
  bool end_array() override {
    --depth_;
    return pass({JsonEvent::Kind::kEndArray, false, 0, 0, {}});
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const Json::exception& what) override {
    if (what.id == 406) {  // nlohmann's out_of_range: a number such as 1e999
      return fail(bad_input("a number beyond the range of float64"));
    }
    return fail(bad_input("not JSON at byte " + std::to_string(position)));
  }

  Status status;

 private:
  bool begin(JsonEvent::Kind kind) {
    if (++depth_ > limits_.depth) {
      return fail(bad_input("nested deeper than " + std::to_string(limits_.depth) + " levels"));
    }
    return pass({kind, false, 0, 0, {}});
  }
  bool pass(const JsonEvent& event) {
    if (++nodes_ > limits_.nodes) {
      return fail(bad_input("more than " + std::to_string(limits_.nodes) + " values"));
    }
    status = handle_(event);
    return status.ok();
  }
  bool fail(Error error) {
    status = std::move(error);
    return false;
  }

  const JsonLimits& limits_;
  const std::function<Status(const JsonEvent&)>& handle_;
  std::vector<std::unordered_set<std::string>> names_;  // of the open objects
  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;
};

}  // namespace

std::string JsonEvent::describe() const {
  switch (kind) {
    case JsonEvent::Kind::kNull:
      return "null";
    case JsonEvent::Kind::kBool:
      return boolean ? "true" : "false";
    case JsonEvent::Kind::kInteger:
      return "the number " + std::to_string(integer);
    case JsonEvent::Kind::kNumber:
      return "the number " + Json(number).dump();
    case JsonEvent::Kind::kText:
      return "the text \"" + shown(text, 60) + "\"";
    case JsonEvent::Kind::kKey:
      return "the name \"" + shown(text, 60) + "\"";
    case JsonEvent::Kind::kBeginObject:
    case JsonEvent::Kind::kEndObject:
      return "an object";
    case JsonEvent::Kind::kBeginArray:
    case JsonEvent::Kind::kEndArray:
      return "a list";
  }
  return "nothing";
}

Status read_json(std::string_view text, const JsonLimits& limits,
                 const std::function<Status(const JsonEvent&)>& handle) {
  // nlohmann takes a zero byte for the end of the text, which would hide whatever follows it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return bad_input("not JSON at byte " + std::to_string(zero + 1));
  }
  JsonAdapter adapter(limits, handle);
  const bool whole = Json::sax_parse(text.begin(), text.end(), &adapter);
  if (!whole && adapter.status.ok()) {
    return bad_input("not JSON");
  }
  return adapter.status;
}

std::string json_quote(std::string_view text) {
  return Json(text).dump();
}

}  // namespace locus::formats
