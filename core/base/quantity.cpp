#include "core/base/quantity.h"

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus {

namespace {

struct Words {
  const char* name;
  const char* description;
};

// In the order of the enumeration.
constexpr std::array<Words, kQuantities.size()> kWords{{
    {"weight", "attention weight"},
    {"logit", "logit"},
    {"content", "content logit"},
    {"contribution", "position contribution"},
    {"gate", "gate"},
    {"position", "position"},
    {"c2p", "content-to-position part"},
    {"p2c", "position-to-content part"},
    {"implied", "implied weight"},
    {"deviation", "deviation from the identity"},
    {"carried", "cosine of the carried key"},
}};

}  // namespace

std::string to_text(Quantity quantity) {
  return kWords[static_cast<std::size_t>(quantity)].name;
}

Result<Quantity> parse_quantity(const std::string& name) {
  for (const Quantity quantity : kQuantities) {
    if (to_text(quantity) == name) {
      return quantity;
    }
  }
  return usage("unknown quantity " + shown(name) + "; known: " + listed(kWords, &Words::name));
}

std::string describe(Quantity quantity) {
  return kWords[static_cast<std::size_t>(quantity)].description;
}

}  // namespace locus
