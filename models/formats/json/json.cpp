#include "models/formats/json/json.h"

#include <utility>

#include "core/base/shown.h"
#include "models/formats/json/json_builder.h"

namespace locus {

namespace {

using Json = nlohmann::json;

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const std::string& file) {
  JsonBuilder<Json> builder;
  const auto add = [&](const formats::JsonEvent& event) { return builder.add(event); };
  LOCUS_CHECK(within(formats::read_json(text, {}, add), file));
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
  if (value.is_binary()) {  // which dump() would write out number by number
    return "bytes";
  }
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
