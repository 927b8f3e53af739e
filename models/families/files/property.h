// Property: a value of a Draft that a family file sets, by its name in the file: the slots of engine/slots.h and the
// constants of a Spec.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/settings.h"
#include "models/families/engine/family.h"

namespace locus::families {

// One of several words.
struct Choice {
  std::vector<std::string_view> words;
  void (*set)(Draft& draft, std::size_t word);
};

struct Property {
  std::string_view name;
  bool of_layer = true;  // whether layers may differ in it
  std::variant<Slot, Choice> access;

  // The engine's slot; null for a choice of words.
  const Slot* slot() const { return std::get_if<Slot>(&access); }
};

// Null for an unknown name.
const Property* find_property(std::string_view name);
// The names, for errors.
std::vector<std::string_view> property_names();

// "follows" makes a number of key heads, head width or inner width follow from others. Errors: kBadInput with `where`
// as context for a value of another kind, kUnsupported for an unknown word.
Status set_property(const Property& property, const SettingValue& value, const std::string& where, Draft& draft);

}  // namespace locus::families
