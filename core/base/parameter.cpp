#include "core/base/parameter.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus {

namespace {

using Kind = Parameter::Kind;

Error wrong(const Parameter& parameter, const std::string& found, const std::string& name) {
  return usage((name.empty() ? "option " + parameter.name : name) + ": expected " + expected(parameter) + ", found " +
               (found.empty() ? "nothing" : shown(found)));
}

std::string bounds(const Parameter& parameter, const std::string& what) {
  const bool below = std::isfinite(parameter.low);
  const bool above = std::isfinite(parameter.high);
  return what + (below ? " from " + number_text(parameter.low) : "") +
         (above ? (below ? " to " : " up to ") + number_text(parameter.high) : "");
}

bool within(const Parameter& parameter, double value) {
  return value >= parameter.low && value <= parameter.high && std::isfinite(value);
}

std::vector<std::string> toggled(const Parameter& parameter) {
  return parameter.choices.empty() ? std::vector<std::string>{"false", "true"} : parameter.choices;
}

std::optional<bool> parse_toggle(const Parameter& parameter, const std::string& text) {
  if (const auto words = toggled(parameter); text == words[0] || text == words[1]) {
    return text == words[1];
  }
  const bool on = text == "1" || text == "on";
  return parameter.choices.empty() && (on || text == "0" || text == "off") ? std::optional(on) : std::nullopt;
}

std::optional<SettingValue> parse_kind(const Parameter& parameter, const std::string& text) {
  const auto value = [](const auto& parsed) { return parsed ? std::optional<SettingValue>(*parsed) : std::nullopt; };
  switch (parameter.kind) {
    case Kind::kToggle:
      return value(parse_toggle(parameter, text));
    case Kind::kWhole: {
      const auto word = std::find_if(parameter.words.begin(), parameter.words.end(),
                                     [&](const auto& each) { return each.first == text; });
      if (word != parameter.words.end()) {
        return SettingValue(word->second);
      }
      const auto number = parse_number<std::int64_t>(text);  // what a word stands for is typed as that word
      return number && within(parameter, static_cast<double>(*number)) ? value(number) : std::nullopt;
    }
    case Kind::kNumber:
      return value(parse_number<double>(text));
    case Kind::kList:
      return value(parse_numbers<double>(split(text, ",: ")));
    case Kind::kChoice:
    case Kind::kText:
      break;
  }
  return SettingValue(text);
}

// Whether a whole number is one of the words', or within the bounds.
bool known(const Parameter& parameter, std::int64_t value) {
  const bool word = std::any_of(parameter.words.begin(), parameter.words.end(),
                                [&](const auto& each) { return each.second == value; });
  return word || within(parameter, static_cast<double>(value));
}

std::optional<SettingValue> check_kind(const Parameter& parameter, const SettingValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  const auto* text = std::get_if<std::string>(&value);
  const auto* list = std::get_if<std::vector<double>>(&value);
  switch (parameter.kind) {
    case Kind::kToggle:
      return std::holds_alternative<bool>(value) ? std::optional(value) : std::nullopt;
    case Kind::kWhole: {
      const bool is_whole = number != nullptr && std::nearbyint(*number) == *number && std::abs(*number) < 9e15;
      const auto least = whole != nullptr ? *whole : is_whole ? static_cast<std::int64_t>(*number) : 0;
      return (whole != nullptr || is_whole) && known(parameter, least) ? std::optional<SettingValue>(least)
                                                                       : std::nullopt;
    }
    case Kind::kNumber: {
      const double least = number != nullptr ? *number : whole != nullptr ? static_cast<double>(*whole) : std::nan("");
      return within(parameter, least) ? std::optional<SettingValue>(least) : std::nullopt;
    }
    case Kind::kChoice: {
      const bool listed = text != nullptr && std::find(parameter.choices.begin(), parameter.choices.end(), *text) !=
                                                 parameter.choices.end();
      return listed || (text != nullptr && value == parameter.fallback) ? std::optional(value) : std::nullopt;
    }
    case Kind::kText:
      return text != nullptr ? std::optional(value) : std::nullopt;
    case Kind::kList:
      break;
  }
  const bool all =
      list != nullptr && std::all_of(list->begin(), list->end(), [&](double each) { return within(parameter, each); });
  return all ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string expected(const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::kToggle:
      return parameter.choices.empty() ? "true or false" : listed_choices(parameter.choices);
    case Kind::kWhole: {
      std::string words;
      for (const auto& [word, value] : parameter.words) {
        words += word + ", ";
      }
      return (words.empty() ? "" : words.substr(0, words.size() - 2) + " or ") + bounds(parameter, "a whole number");
    }
    case Kind::kNumber:
      return bounds(parameter, "a number");
    case Kind::kChoice:
      return "one of " + listed(parameter.choices);
    case Kind::kText:
      return "a text";
    case Kind::kList:
      break;
  }
  return bounds(parameter, "numbers");
}

Result<SettingValue> parse(const Parameter& parameter, const std::string& text, const std::string& name) {
  const auto value = parse_kind(parameter, text);
  const auto good = value ? check_kind(parameter, *value) : std::nullopt;
  return good ? Result<SettingValue>(*good) : wrong(parameter, text, name);
}

Result<SettingValue> checked(const Parameter& parameter, const SettingValue& value, const std::string& name) {
  const auto good = check_kind(parameter, value);
  return good ? Result<SettingValue>(*good) : wrong(parameter, to_text(value), name);
}

std::string to_text(const Parameter& parameter, const SettingValue& value) {
  if (const bool* on = std::get_if<bool>(&value); on != nullptr && parameter.kind == Kind::kToggle) {
    return toggled(parameter)[*on ? 1 : 0];
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    for (const auto& [word, stands] : parameter.words) {
      if (stands == *whole) {
        return word;
      }
    }
  }
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    std::string text;
    for (const double each : *list) {
      text += (text.empty() ? "" : ",") + number_text(each);
    }
    return text;
  }
  return to_text(value);
}

}  // namespace locus
