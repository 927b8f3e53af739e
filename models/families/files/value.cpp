#include "models/families/files/value.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/numbers.h"
#include "models/families/engine/family.h"

namespace locus::families {

namespace {

using formats::Node;

// Numbers of a family file are whole numbers and sizes of models: larger ones have no meaning.
constexpr double kLargest = 1e15;

// A whole number stays one, so that sizes can be sums and products.
SettingValue made_of(double value) {
  const bool whole = std::abs(value) < kLargest && value == std::floor(value);
  return whole ? SettingValue(static_cast<std::int64_t>(value)) : SettingValue(value);
}

Result<SettingValue> field_value(const Config& config, const std::string& field, const LayerOf& layer) {
  const std::string kind = config.kind(field);
  if (kind == "list" && layer.count > 0) {
    LOCUS_TRY(const std::vector<double> entries, config.numbers(field));
    LOCUS_CHECK(check_entries(entries.size(), layer.count, config.context(field)));
    return made_of(entries[static_cast<std::size_t>(layer.index)]);
  }
  if (kind == "true or false") {
    LOCUS_TRY(const bool flag, config.boolean(field));
    return SettingValue(flag);
  }
  if (kind == "text") {
    LOCUS_TRY(std::string word, config.text(field));
    return SettingValue(std::move(word));
  }
  if (kind == "number") {
    if (const Result<std::int64_t> whole = config.integer(field); whole.ok()) {
      return SettingValue(*whole);
    }
    LOCUS_TRY(const double number, config.number(field));
    return SettingValue(number);
  }
  return bad_input("expected a number, a word, or true or false, found " + kind, config.context(field));
}

double computed(const std::string& name, const std::vector<double>& of) {
  if (name == "sqrt") {
    return std::sqrt(of.front());
  }
  if (name == "inverse") {
    return 1 / of.front();
  }
  if (name == "over") {
    return of.front() / of.back();
  }
  if (name == "multiple") {
    return of.back() * std::ceil(std::floor(of.front()) / of.back());
  }
  double result = name == "plus" ? 0 : 1;
  for (const double each : of) {
    result = name == "plus" ? result + each : result * each;
  }
  return result;
}

std::vector<Value> read_operands(const std::string& name, const Node& node) {
  std::vector<Value> operands;
  if (name == "sqrt" || name == "inverse") {
    operands.push_back(Value::read(node));
    return operands;
  }
  node.each([&](const Node& item) { operands.push_back(Value::read(item)); });
  const bool two = name == "over" || name == "multiple";
  if (operands.empty() || (two && operands.size() != 2)) {
    node.fail(two ? "a list of two values" : "a list of values");
    operands.assign(2, Value());
  }
  return operands;
}

}  // namespace

std::string spelling(const Config& config, const std::string& spellings) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= spellings.size();) {
    const std::size_t end = std::min(spellings.find('|', begin), spellings.size());
    names.push_back(spellings.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& name : names) {
    if (config.has(name)) {
      return name;
    }
  }
  for (const std::string& name : names) {
    if (config.has_null(name)) {
      return name;
    }
  }
  return names.front();
}

Value Value::read(const Node& node) {
  Value value;
  value.place_ = node.path();
  if (const auto constant = node.value().setting();
      constant && !std::holds_alternative<std::vector<double>>(*constant)) {
    value.formula_ = [held = *constant](const Config&, const LayerOf&) { return Result<SettingValue>(held); };
    return value;
  }
  if (!node.value().is_object() || node.value().fields().empty()) {
    node.fail("a number, a word, true, false or a formula");
    return value;
  }
  const std::string first = node.value().fields().front().first;
  if (node.has("field")) {
    std::string field;
    node.get("field", field);
    std::vector<Value> absent;
    std::vector<Value> null;
    node.each_field([&](const std::string& name, const Node& part) {
      if (name == "or") {
        absent.push_back(read(part));
      } else if (name == "null") {
        null.push_back(read(part));
      } else if (name != "field") {
        part.fail(bad_input(part.path() + ": expected one of field, or, null, found " + name));
      }
    });
    value.constant_ = false;
    value.formula_ = [field, absent, null](const Config& config, const LayerOf& layer) -> Result<SettingValue> {
      const std::string own = spelling(config, field);
      if (!null.empty() && config.has_null(own)) {
        return null.front().of(config, layer);
      }
      if (!config.has(own) && !absent.empty()) {
        return absent.front().of(config, layer);
      }
      if (!config.has(own)) {
        return bad_input("expected a value, found nothing", config.context(own));
      }
      return field_value(config, own, layer);
    };
    return value;
  }
  const bool known = first == "sqrt" || first == "inverse" || first == "plus" || first == "times" || first == "over" ||
                     first == "multiple";
  if (!known || node.value().fields().size() != 1) {
    node.fail(
        bad_input(node.path() + ": expected one of field, sqrt, inverse, plus, times, over, multiple, found " + first));
    return value;
  }
  std::vector<Value> operands = read_operands(first, node.field(first));
  for (const Value& operand : operands) {
    value.constant_ = value.constant_ && operand.constant_;
  }
  value.formula_ = [first, operands = std::move(operands), place = value.place_](
                       const Config& config, const LayerOf& layer) -> Result<SettingValue> {
    std::vector<double> numbers;
    for (const Value& operand : operands) {
      LOCUS_TRY(const double number, operand.number(config, layer));
      numbers.push_back(number);
    }
    const double result = computed(first, numbers);
    if (!std::isfinite(result)) {
      return bad_input("expected a finite result of " + first + ", found " + general_text(result, 6), place);
    }
    return made_of(result);
  };
  return value;
}

Value Value::flag(const std::string& field, std::string place) {
  Value value;
  value.place_ = std::move(place);
  value.constant_ = false;
  value.formula_ = [field](const Config& config, const LayerOf&) -> Result<SettingValue> {
    LOCUS_TRY(const bool set, config.boolean(spelling(config, field), false));
    return SettingValue(set);
  };
  return value;
}

Error Value::other_kind(const char* expected) const {
  return bad_input(std::string("expected ") + expected + ", found a value of another kind", place_);
}

Result<SettingValue> Value::of(const Config& config, const LayerOf& layer) const {
  return formula_ ? formula_(config, layer) : Result<SettingValue>(other_kind("a value"));
}

Result<double> Value::number(const Config& config, const LayerOf& layer) const {
  LOCUS_TRY(const SettingValue value, of(config, layer));
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*whole);
  }
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr ? Result<double>(*number) : Result<double>(other_kind("a number"));
}

Result<std::int64_t> Value::integer(const Config& config) const {
  LOCUS_TRY(const SettingValue value, of(config));
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? Result<std::int64_t>(*whole) : Result<std::int64_t>(other_kind("a whole number"));
}

Result<bool> Value::boolean(const Config& config) const {
  LOCUS_TRY(const SettingValue value, of(config));
  const auto* const flag = std::get_if<bool>(&value);
  return flag != nullptr ? Result<bool>(*flag) : Result<bool>(other_kind("true or false"));
}

Result<std::string> Value::word(const Config& config) const {
  LOCUS_TRY(SettingValue value, of(config));
  auto* const word = std::get_if<std::string>(&value);
  return word != nullptr ? Result<std::string>(std::move(*word)) : Result<std::string>(other_kind("a word"));
}

}  // namespace locus::families
