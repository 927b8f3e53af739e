#include "models/text/steps/post_processor.h"

#include <utility>

#include "models/formats/json/json.h"

namespace locus::text {
namespace {

using Json = nlohmann::json;

// The ids of a template's special token: its own list, or the token of that name.
Result<std::vector<std::int64_t>> template_ids(const JsonObject& object, const std::string& name,
                                               const PipelineParts& parts) {
  const Json* known = object.find("special_tokens");
  if (known != nullptr && known->is_object() && known->contains(name)) {
    LOCUS_TRY(const JsonObject token, JsonObject::of((*known)[name], object.where() + ": special_tokens"));
    LOCUS_TRY(const Json* const ids, token.array("ids"));
    std::vector<std::int64_t> result;
    for (const Json& id : *ids) {
      const std::optional<std::int64_t> number = whole_number(id, 0, INT64_MAX);
      if (!number) {
        return token.wrong("ids", "a list of ids");
      }
      result.push_back(*number);
    }
    return result;
  }
  const auto id = find_token(parts, name);
  if (!id) {
    return bad_input("the template's token \"" + name.substr(0, 80) + "\" is not in the vocabulary", object.where());
  }
  return std::vector<std::int64_t>{*id};
}

Status add_template(const JsonObject& object, PipelineParts& parts) {
  LOCUS_TRY(const Json* const items, object.array("single"));
  constexpr std::size_t kLongestTemplate = 256;
  if (items->size() > kLongestTemplate) {
    return object.wrong("single", "at most " + std::to_string(kLongestTemplate) + " items");
  }
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  bool seen_text = false;
  for (const Json& value : *items) {
    LOCUS_TRY(const JsonObject item, JsonObject::of(value, object.where() + ": single"));
    if (item.find("Sequence") != nullptr) {
      if (std::exchange(seen_text, true)) {
        return bad_input("single: expected the text once, found it twice", object.where());
      }
      continue;
    }
    LOCUS_TRY(const JsonObject token, item.object("SpecialToken"));
    LOCUS_TRY(const std::string name, token.text("id", ""));
    LOCUS_TRY(const std::vector<std::int64_t> ids, template_ids(object, name, parts));
    auto& side = seen_text ? after : before;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!seen_text) {
    return bad_input("single: expected a Sequence, found none", object.where());
  }
  parts.before.insert(parts.before.begin(), before.begin(), before.end());
  parts.after.insert(parts.after.end(), after.begin(), after.end());
  return {};
}

// ["[SEP]", 102]
Result<std::int64_t> named_id(const JsonObject& object, const std::string& name) {
  LOCUS_TRY(const Json* const pair, object.array(name));
  const std::optional<std::int64_t> id =
      pair->size() == 2 ? whole_number((*pair)[1], 0, INT64_MAX) : std::optional<std::int64_t>();
  return id ? Result<std::int64_t>(*id) : object.wrong(name, "[token, id]");
}

}  // namespace

Status parse_post_processor(const Json& value, const std::string& where, PipelineParts& parts) {
  if (value.is_null()) {
    return {};
  }
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  LOCUS_TRY(const std::string type, object.text("type", ""));
  if (type == "ByteLevel") {
    return {};
  }
  if (type == "TemplateProcessing") {
    return add_template(object, parts);
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    LOCUS_TRY(const std::int64_t first, named_id(object, "cls"));
    LOCUS_TRY(const std::int64_t last, named_id(object, "sep"));
    parts.before.insert(parts.before.begin(), first);
    parts.after.push_back(last);
    return {};
  }
  if (type != "Sequence") {
    return unsupported("post_processor \"" + type.substr(0, 80) + "\"", where);
  }
  LOCUS_TRY(const Json* const members, object.array("processors"));
  for (const Json& member : *members) {
    LOCUS_CHECK(parse_post_processor(member, where, parts));
  }
  return {};
}

}  // namespace locus::text
