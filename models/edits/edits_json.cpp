// Reading and writing edits as JSON.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/shown.h"
#include "models/edits/edit_value.h"
#include "models/edits/fields.h"
#include "models/formats/json/json.h"

namespace locus::models {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxEdits = 4096;
constexpr std::int64_t kLargestIndex = std::int64_t{1} << 40;

std::optional<std::int64_t> index_of(const json& value) {
  return whole_number(value, 0, kLargestIndex);
}

// Each writes the value to `out`, or returns the expected value.
using Expected = std::string;

Expected read_value(const json& value, Range& out) {
  const bool pair = value.is_array() && value.size() == 2 && index_of(value[0]) && index_of(value[1]);
  if (!pair || value[0] >= value[1]) {
    return "[begin, end] of whole numbers from 0 with begin < end";
  }
  out = {*index_of(value[0]), *index_of(value[1])};
  return {};
}

Expected read_value(const json& value, double& out) {
  out = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(out) ? Expected() : "a finite number";
}

Expected read_value(const json& value, std::int64_t& out) {
  const std::optional<std::int64_t> number = index_of(value);
  out = number.value_or(0);
  return number ? Expected() : "a number from 0";
}

Expected read_value(const json& value, std::vector<double>& out) {
  out.clear();
  for (const json& each : value.is_array() ? value : json::array({value})) {
    double number = 0;
    if (!read_value(each, number).empty()) {
      out.clear();
      break;
    }
    out.push_back(number);
  }
  return out.size() == 1 || out.size() == 3 ? Expected() : "a finite number, or three: time, row and column";
}

Expected read_value(const json& value, Places& out) {
  const char* const expected = "a number from 0, a list of such numbers, \"all\", or of layers \"global\" or \"local\"";
  out = {};
  if (value == "all") {
    return {};
  }
  if (value == "global" || value == "local") {
    out.kind = value.get<std::string>();
    return {};
  }
  for (const json& index : value.is_array() ? value : json::array({value})) {
    const std::optional<std::int64_t> number = index_of(index);
    if (!number) {
      return expected;
    }
    out.indices.push_back(*number);
  }
  return out.indices.empty() ? expected : Expected();
}

template <class Value, std::size_t n>
Expected read_word(const json& value, const WordTable<Value, n>& words, Value& out) {
  const std::optional<Value> named = value.is_string() ? find_word(words, value.get<std::string>()) : std::nullopt;
  out = named.value_or(out);
  return named ? Expected() : "one of " + words_of(words);
}

Expected read_value(const json& value, HeadTo& out) {
  return read_word(value, kHeadWords, out);
}
Expected read_value(const json& value, PairsDo& out) {
  return read_word(value, kPairsWords, out);
}
Expected read_value(const json& value, DecayTo& out) {
  return read_word(value, kDecayWords, out);
}
Expected read_value(const json& value, std::string& out) {
  out = value.is_string() ? value.get<std::string>() : "";
  return out.find_first_not_of(' ') == std::string::npos ? "a formula" : Expected();
}

json value_of(const Range& value) {
  return {value.begin, value.end};
}
json value_of(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? json(static_cast<std::int64_t>(value)) : json(value);
}
json value_of(std::int64_t value) {
  return value;
}
json value_of(const std::vector<double>& value) {
  json list = json::array();
  for (const double each : value) {
    list.push_back(value_of(each));
  }
  return list.size() == 1 ? list[0] : list;
}
json value_of(const Places& value) {
  if (!value.kind.empty()) {
    return value.kind;
  }
  return value.indices.empty() ? json("all") : value.indices.size() == 1 ? json(value.indices[0]) : json(value.indices);
}
json value_of(HeadTo value) {
  return word_of(kHeadWords, value);
}
json value_of(PairsDo value) {
  return word_of(kPairsWords, value);
}
json value_of(DecayTo value) {
  return word_of(kDecayWords, value);
}
json value_of(const std::string& value) {
  return value;
}

std::string shown_json(const json& value) {
  return shown(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

std::string field_name(std::size_t index, const std::string& field) {
  return "edits[" + std::to_string(index) + "]" + (field.empty() ? "" : "." + field);
}

Result<Edit> edit_from_json(const json& value, std::size_t index) {
  const auto wrong = [&](const std::string& field, const std::string& expected, const json& found) {
    return bad_input(field_name(index, field) + ": expected " + expected + ", found " + shown_json(found));
  };
  if (!value.is_object()) {
    return wrong("", "an object with the field edit", value);
  }
  const auto kind = value.find("edit");
  const EditForm* const form = kind != value.end() && kind->is_string() ? find_form(kind->get<std::string>()) : nullptr;
  if (form == nullptr) {
    return wrong("edit", "one of " + form_names(), kind == value.end() ? json("nothing") : *kind);
  }
  Edit edit;
  edit.kind = form->kind;
  for (const EditField& field : form->fields) {
    const auto own = value.find(std::string(field.name));
    const bool other = !field.unless.empty() && value.contains(std::string(field.unless));
    if (own == value.end() && field.optional && (field.unless.empty() || other)) {
      continue;
    }
    if (own != value.end() && other) {
      return wrong(std::string(field.name), "no " + std::string(field.name) + " beside " + std::string(field.unless),
                   *own);
    }
    const Expected expected =
        own == value.end() ? Expected("a value")
                           : std::visit([&](auto member) { return read_value(*own, edit.*member); }, field.member);
    if (!expected.empty()) {
      return wrong(std::string(field.name), expected, own == value.end() ? json("nothing") : *own);
    }
  }
  for (const auto& [name, member] : value.items()) {
    const bool has =
        name == "edit" || std::any_of(form->fields.begin(), form->fields.end(),
                                      [&, &own = name](const EditField& field) { return field.name == own; });
    if (!has) {
      return wrong(name, "no such field of " + std::string(form->name), member);
    }
  }
  return edit;
}

std::string to_json(const Edits& edits) {
  json list = json::array();
  for (const Edit& edit : edits) {
    const EditForm& form = form_of(edit.kind);
    json object{{"edit", form.name}};
    for (const EditField& field : form.fields) {
      if (!field.optional || has_value(edit, field)) {
        object[std::string(field.name)] = std::visit([&](auto member) { return value_of(edit.*member); }, field.member);
      }
    }
    list.push_back(std::move(object));
  }
  return json{{"edits", std::move(list)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Edits> parse_edits(const std::string& text, const std::string& file) {
  LOCUS_TRY(const json document, parse_json(text, file));
  const auto list = document.is_object() ? document.find("edits") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array() || document.size() != 1) {
    return bad_input("expected an object with the one field edits, a list, found " + shown_json(document), file);
  }
  if (list->size() > kMaxEdits) {
    return bad_input("edits: expected at most " + std::to_string(kMaxEdits) + ", found " + std::to_string(list->size()),
                     file);
  }
  Edits edits;
  for (const json& value : *list) {
    LOCUS_TRY(Edit edit, within(edit_from_json(value, edits.size()), file));
    edits.push_back(std::move(edit));
  }
  return edits;
}

}  // namespace locus::models
