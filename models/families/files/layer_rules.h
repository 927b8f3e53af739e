// Layer rules of a family file: which layers differ from the others, and in what.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/families/files/property.h"
#include "models/families/files/value.h"

namespace locus::families {

// A rule fits a layer when its flag `if` is set and the layer is one of those that it names: by `list`, a list of the
// config with an entry per layer, whose entry is one of `is`; where the config has no such list, or none is named, by
// all of `every` (with `at`: n mod every is one of these; without, n+1 is a multiple), `from`, `before`, `in` (layers by
// number) and `letters` (a text that is repeated, whose letter is one of `is`). `else` fits every layer.
struct LayerRule {
  std::vector<Value> flag;
  std::string list;
  std::vector<std::string> is;
  std::vector<Value> every;
  std::vector<std::int64_t> at;
  std::vector<Value> from;
  std::vector<Value> before;
  std::vector<std::int64_t> in;
  std::string in_field;
  std::vector<Value> letters;
  bool otherwise = false;
  // What the rule sets; an encoding by its name, "" for none.
  std::vector<std::pair<const Property*, Value>> set;
  std::vector<std::string> encoding;
};

// Rules of which the first that fits a layer applies to it.
using RuleGroup = std::vector<LayerRule>;

// A list of rules, or a list of such lists, each of which applies by itself. Remembers a wrong value as the node's error.
std::vector<RuleGroup> read_layer_rules(const formats::Node& node, const std::vector<std::string>& encodings);

// Changes the layers of a spec; `encodings` are the names of its encodings. Errors: kBadInput for a list of the config
// with another number of entries, kUnsupported for an entry that no rule names.
Status apply_layer_rules(const std::vector<RuleGroup>& groups, const std::vector<std::string>& encodings,
                         const Config& config, transformer::Spec& spec);

}  // namespace locus::families
