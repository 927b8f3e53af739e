// The short form of edits: one line of words each.
#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/edits/edit_value.h"
#include "models/edits/fields.h"

namespace locus::models {

namespace {

using nlohmann::json;

// The words of a line, one after another.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) { skip(); }

  bool empty() const { return text_.empty(); }
  std::string_view next() const { return text_.substr(0, text_.find(' ')); }
  std::string_view take() {
    const std::string_view word = next();
    text_.remove_prefix(word.size());
    skip();
    return word;
  }
  std::string_view rest() {
    const std::string_view all = text_.substr(0, text_.find_last_not_of(' ') + 1);
    text_ = {};
    return all;
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }

  std::string_view text_;
};

// Converts a word to JSON; other words stay text, which the reader refuses by name.
json index_of(std::string_view word) {
  const auto index = parse_number<std::int64_t>(word);
  return index ? json(*index) : json(word);
}

json range_of(std::string_view word) {
  const auto range = parse_range(word);
  return range ? json{range->begin, range->end} : json(word);
}

json places_of(std::string_view word) {
  const std::vector<std::string_view> parts = split(word);
  if (parts.size() == 1) {
    return index_of(word);
  }
  json list = json::array();
  for (const std::string_view part : parts) {
    list.push_back(index_of(part));
  }
  return list;
}

json number_of(std::string_view word) {
  const auto number = parse_number<double>(word);
  return number ? json(*number) : json(word);
}

json numbers_of(std::string_view word) {
  const std::vector<std::string_view> parts = split(word);
  if (parts.size() == 1) {
    return number_of(word);
  }
  json list = json::array();
  for (const std::string_view part : parts) {
    list.push_back(number_of(part));
  }
  return list;
}

std::string text_of(const Range& value) {
  return std::to_string(value.begin) + ":" + std::to_string(value.end);
}
std::string text_of(double value) {
  return number_text(value);
}
std::string text_of(std::int64_t value) {
  return std::to_string(value);
}
std::string text_of(const std::vector<double>& value) {
  return listed(
      value, [](double each) { return number_text(each); }, ",");
}
std::string text_of(const Places& value) {
  std::string text;
  for (const std::int64_t index : value.indices) {
    text += (text.empty() ? "" : ",") + std::to_string(index);
  }
  return !value.kind.empty() ? value.kind : text.empty() ? "all" : text;
}
std::string text_of(HeadTo value) {
  return std::string(word_of(kHeadWords, value));
}
std::string text_of(PairsDo value) {
  return std::string(word_of(kPairsWords, value));
}
std::string text_of(DecayTo value) {
  return std::string(word_of(kDecayWords, value));
}
std::string text_of(const std::string& value) {
  return value;
}

// The value of the next field, of as many words as it has.
json take_value(const EditField& field, Words& words) {
  if (std::holds_alternative<std::string Edit::*>(field.member) && field.unless.empty()) {
    return words.rest();
  }
  const std::string_view word = words.take();
  if (std::holds_alternative<Range Edit::*>(field.member)) {
    return range_of(word);
  }
  if (std::holds_alternative<double Edit::*>(field.member)) {
    return number_of(word);
  }
  if (std::holds_alternative<std::vector<double> Edit::*>(field.member)) {
    return numbers_of(word);
  }
  if (std::holds_alternative<std::int64_t Edit::*>(field.member)) {
    return index_of(word);
  }
  return word;
}

// "3-7" are the pairs 3 to 7, "3" is pair 3, and "3:8" a range as others are.
std::string pairs_of(std::string_view word) {
  const std::size_t to = word.find('-');
  const auto first = parse_number<std::int64_t>(word.substr(0, to));
  const auto last = to == std::string_view::npos ? first : parse_number<std::int64_t>(word.substr(to + 1));
  return first && last ? std::to_string(*first) + ":" + std::to_string(*last + 1) : std::string(word);
}

// What is switched off in a head, as the edit that it is: behind "head", "3.1 pairs 3-7 off" is "pairs 3.1 3:8 drop",
// "3.1 wavelengths 8..40 off" is "pairs 3.1 wavelengths 8..40 drop", "3.1 position off" is "head 3.1 content".
std::optional<std::string> switched_off(Words words) {
  const std::string place(words.take());
  const std::string_view what = words.take();
  if (what == "position" && words.next() == "off") {
    words.take();
    return "head " + place + " content " + std::string(words.rest());
  }
  if (what != "pairs" && what != "wavelengths") {
    return std::nullopt;
  }
  const std::string which(words.take());
  const std::string_view end = words.take();
  const std::string action(end == "off" ? "drop" : end);
  return "pairs " + place + " " + (what == "pairs" ? pairs_of(which) : "wavelengths " + which) + " " + action + " " +
         std::string(words.rest());
}

}  // namespace

Result<Edit> parse_edit(const std::string& text, std::size_t index) {
  Words words(text);
  std::string kind(words.take());
  if (const std::string both = kind + " " + std::string(words.next()); find_form(both) != nullptr) {
    kind = both;
    words.take();
  }
  if (kind == "head") {
    if (const auto other = switched_off(words)) {
      return parse_edit(*other, index);
    }
  }
  json object{{"edit", kind}};
  const EditForm* const form = find_form(kind);
  const auto fields = form == nullptr ? std::span<const EditField>() : form->fields;
  for (std::size_t n = 0; n < fields.size() && !words.empty(); ++n) {
    const EditField& field = fields[n];
    const bool other = field.named ? words.next() != field.name : words.next() == field.unless;
    const bool spared = field.named && field.optional && std::holds_alternative<Range Edit::*>(field.member);
    if ((spared || !field.unless.empty()) && other) {
      continue;
    }
    if (words.next() == field.name) {
      words.take();
    }
    if (field.name == "layer") {  // L.H are two fields
      const std::string_view place = words.take();
      const std::size_t dot = place.find('.');
      object["layer"] = places_of(place.substr(0, dot));
      object["head"] = dot == std::string_view::npos ? json("nothing") : places_of(place.substr(dot + 1));
      ++n;
      continue;
    }
    if (field.name == "rows") {  // R,C are two fields
      const std::string_view cells = words.take();
      const std::size_t comma = cells.find(',');
      object["rows"] = range_of(cells.substr(0, comma));
      object["columns"] = comma == std::string_view::npos ? json("nothing") : range_of(cells.substr(comma + 1));
      ++n;
      continue;
    }
    object[std::string(field.name)] = take_value(field, words);
  }
  LOCUS_TRY(Edit edit, edit_from_json(object, index));
  if (!words.empty()) {
    return bad_input(field_name(index, "") + ": expected no more than \"" + shown(to_text(edit)) + "\", found " +
                     shown(words.rest()));
  }
  return edit;
}

std::string to_text(const Edit& edit) {
  const EditForm& form = form_of(edit.kind);
  std::string text(form.name);
  for (const EditField& field : form.fields) {
    if ((field.name == "step" && edit.step == 1) || (field.optional && !has_value(edit, field))) {
      continue;
    }
    text += field.name == "head"      ? "."
            : field.name == "columns" ? ","
            : field.named             ? " " + std::string(field.name) + " "
                                      : " ";
    text += std::visit([&](auto member) { return text_of(edit.*member); }, field.member);
  }
  return text;
}

std::string label_of(const Edits& edits) {
  constexpr std::size_t kMaxLength = 60;
  std::string text;
  for (const Edit& edit : edits) {
    text += (text.empty() ? " " : ", ") + to_text(edit);
  }
  if (text.size() <= kMaxLength) {
    return text;
  }
  std::size_t cut = kMaxLength;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) {  // never half a character
    --cut;
  }
  return text.substr(0, cut) + "…";
}

}  // namespace locus::models
