#include "models/families/files/layer_rules.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus::families {

namespace {

using formats::Node;

// Entries of lists of layers that need no rule: they name the layers that stay as they are.
constexpr std::array<std::string_view, 4> kPlain{"full_attention", "sliding_attention", "dense", "sparse"};

// Words, numbers and truth values as one kind of text.
std::vector<std::string> read_words(const Node& node) {
  std::vector<std::string> words;
  const auto add = [&](const Node& item) {
    const auto value = item.value().setting();
    if (!value || std::holds_alternative<std::vector<double>>(*value)) {
      item.fail("a word, a number, true or false");
      return;
    }
    words.push_back(to_text(*value));
  };
  if (node.value().is_list()) {
    node.each(add);
  } else {
    add(node);
  }
  return words;
}

void read_layers(const Node& node, LayerRule& rule) {
  if (node.value().is_object()) {
    node.get("field", rule.in_field);
    if (rule.in_field.empty() || node.value().fields().size() != 1) {
      node.fail("numbers of layers, or the field that has them");
    }
    return;
  }
  node.read(rule.in);
}

void read_set(const Node& node, const std::vector<std::string>& encodings, LayerRule& rule) {
  node.expect_object();
  node.each_field([&](const std::string& name, const Node& value) {
    if (name == "encoding") {
      rule.encoding.emplace_back();
      if (!value.value().is_null()) {
        value.read(rule.encoding.back());
      }
      if (!rule.encoding.back().empty() &&
          std::find(encodings.begin(), encodings.end(), rule.encoding.back()) == encodings.end()) {
        value.fail("null or one of the family's encodings");
      }
      return;
    }
    const Property* const property = find_property(name);
    if (property == nullptr || !property->of_layer) {
      value.fail(bad_input(value.path() + ": expected a value in which layers can differ, found " + shown(name)));
      return;
    }
    rule.set.emplace_back(property, Value::read(value));
  });
}

LayerRule read_rule(const Node& node, const std::vector<std::string>& encodings) {
  LayerRule rule;
  node.expect_object();
  const auto one = [](std::vector<Value>& place, const Node& value) { place.push_back(Value::read(value)); };
  node.each_field([&](const std::string& name, const Node& value) {
    if (name == "if") {
      if (const auto field = value.value().as<std::string>()) {
        rule.flag.push_back(Value::flag(*field, value.path()));
        return;
      }
      one(rule.flag, value);
    } else if (name == "list") {
      value.read(rule.list);
    } else if (name == "is") {
      rule.is = read_words(value);
    } else if (name == "every") {
      one(rule.every, value);
    } else if (name == "at") {
      value.read(rule.at);
    } else if (name == "from") {
      one(rule.from, value);
    } else if (name == "before") {
      one(rule.before, value);
    } else if (name == "in") {
      read_layers(value, rule);
    } else if (name == "letters") {
      one(rule.letters, value);
    } else if (name == "else") {
      value.read(rule.otherwise);
    } else if (name == "set") {
      read_set(value, encodings, rule);
    } else {
      value.fail(bad_input(value.path() +
                           ": expected one of if, list, is, every, at, from, before, in, letters, else, set, found " +
                           shown(name)));
    }
  });
  if (rule.list.empty() && rule.letters.empty() != rule.is.empty()) {
    node.fail("`is` beside `list` or `letters`");
  }
  if (!rule.list.empty() && rule.is.empty()) {
    node.fail("`is` beside `list`");
  }
  if (!rule.at.empty() && rule.every.empty()) {
    node.fail("`every` beside `at`");
  }
  return rule;
}

// Entries of a list of the config as texts; empty where it has none.
Result<std::vector<std::string>> entries_of(const Config& config, const std::string& list, std::int64_t layers) {
  std::vector<std::string> entries;
  const std::string field = spelling(config, list);
  if (!config.has(field)) {
    return entries;
  }
  if (const Result<std::vector<std::string>> texts = config.texts(field); texts.ok()) {
    entries = *texts;
  } else {
    LOCUS_TRY(const std::vector<double> numbers, config.numbers(field));
    for (const double number : numbers) {
      const auto whole = static_cast<std::int64_t>(number);
      entries.push_back(static_cast<double>(whole) == number ? std::to_string(whole) : to_text(SettingValue(number)));
    }
  }
  LOCUS_CHECK(check_entries(entries.size(), layers, config.context(field)));
  return entries;
}

Status check_named(const RuleGroup& group, const Config& config, std::int64_t layers) {
  for (const LayerRule& rule : group) {
    if (rule.list.empty()) {
      continue;
    }
    std::vector<std::string> known(kPlain.begin(), kPlain.end());
    for (const LayerRule& each : group) {
      known.insert(known.end(), each.is.begin(), each.is.end());
    }
    LOCUS_TRY(const std::vector<std::string> entries, entries_of(config, rule.list, layers));
    for (const std::string& entry : entries) {
      if (std::find(known.begin(), known.end(), entry) == known.end()) {
        return unsupported("expected one of " + listed(known) + ", found " + shown(entry),
                           config.context(spelling(config, rule.list)));
      }
    }
  }
  return {};
}

bool one_of(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whether a layer is one of those that `every`, `from`, `before`, `in` and `letters` name; false without any of them.
Result<bool> fits_numbers(const LayerRule& rule, const Config& config, std::int64_t n) {
  bool any = false;
  bool fits = true;
  if (!rule.every.empty()) {
    LOCUS_TRY(const std::int64_t every, rule.every.front().integer(config));
    if (every < 1) {
      return bad_input("expected at least 1, found " + std::to_string(every), rule.every.front().place());
    }
    fits = rule.at.empty() ? (n + 1) % every == 0 : std::count(rule.at.begin(), rule.at.end(), n % every) > 0;
    any = true;
  }
  if (!rule.from.empty()) {
    LOCUS_TRY(const std::int64_t from, rule.from.front().integer(config));
    fits = fits && n >= from;
    any = true;
  }
  if (!rule.before.empty()) {
    LOCUS_TRY(const std::int64_t before, rule.before.front().integer(config));
    fits = fits && n < before;
    any = true;
  }
  if (!rule.in.empty() || !rule.in_field.empty()) {
    std::vector<std::int64_t> in = rule.in;
    if (config.has(rule.in_field)) {
      LOCUS_TRY(in, config.integers(rule.in_field));
    }
    fits = fits && std::count(in.begin(), in.end(), n) > 0;
    any = true;
  }
  if (!rule.letters.empty()) {
    LOCUS_TRY(const std::string letters, rule.letters.front().word(config));
    if (letters.empty()) {
      return bad_input("expected letters, found none", rule.letters.front().place());
    }
    fits = fits && one_of(rule.is, std::string(1, letters[static_cast<std::size_t>(n) % letters.size()]));
    any = true;
  }
  return any && fits;
}

Result<bool> fits(const LayerRule& rule, const Config& config, std::int64_t layers, std::int64_t n) {
  if (!rule.flag.empty()) {
    LOCUS_TRY(const bool set, rule.flag.front().boolean(config));
    if (!set) {
      return false;
    }
  }
  if (rule.otherwise) {
    return true;
  }
  if (!rule.list.empty()) {
    LOCUS_TRY(const std::vector<std::string> entries, entries_of(config, rule.list, layers));
    if (!entries.empty()) {
      return one_of(rule.is, entries[static_cast<std::size_t>(n)]);
    }
  }
  const bool names_layers = !rule.list.empty() || !rule.every.empty() || !rule.from.empty() || !rule.before.empty() ||
                            !rule.in.empty() || !rule.in_field.empty() || !rule.letters.empty();
  return names_layers ? fits_numbers(rule, config, n) : Result<bool>(!rule.flag.empty());
}

Status apply_rule(const LayerRule& rule, const std::vector<std::string>& encodings, const Config& config,
                  const LayerOf& place, transformer::LayerSpec& layer) {
  Draft draft;
  draft.layer = layer;
  for (const auto& [property, value] : rule.set) {
    LOCUS_TRY(const SettingValue set, value.of(config, place));
    LOCUS_CHECK(set_property(*property, set, value.place(), draft));
  }
  if (draft.layer.feed_forward.experts.count == 0) {
    draft.layer.feed_forward.experts = {};
  }
  layer = draft.layer;
  for (const std::string& name : rule.encoding) {
    layer.encoding = name.empty() ? -1 : std::find(encodings.begin(), encodings.end(), name) - encodings.begin();
  }
  return {};
}

}  // namespace

std::vector<RuleGroup> read_layer_rules(const Node& node, const std::vector<std::string>& encodings) {
  std::vector<RuleGroup> groups;
  node.each([&](const Node& item) {
    if (item.value().is_list()) {
      groups.emplace_back();
      item.each([&](const Node& rule) { groups.back().push_back(read_rule(rule, encodings)); });
      return;
    }
    if (groups.empty()) {
      groups.emplace_back();
    }
    groups.front().push_back(read_rule(item, encodings));
  });
  return groups;
}

Status apply_layer_rules(const std::vector<RuleGroup>& groups, const std::vector<std::string>& encodings,
                         const Config& config, transformer::Spec& spec) {
  for (const RuleGroup& group : groups) {
    LOCUS_CHECK(check_named(group, config, spec.depth()));
    for (std::int64_t n = 0; n < spec.depth(); ++n) {
      for (const LayerRule& rule : group) {
        LOCUS_TRY(const bool own, fits(rule, config, spec.depth(), n));
        if (own) {
          LOCUS_CHECK(apply_rule(rule, encodings, config, {n, spec.depth()}, spec.layers[static_cast<std::size_t>(n)]));
          break;
        }
      }
    }
  }
  return {};
}

}  // namespace locus::families
