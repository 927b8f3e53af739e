#include "core/position/list.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"

namespace locus::position {

namespace {

Status check_shape(const ModelShape& shape) {
  if (shape.layers < 1 || shape.heads < 1 || shape.kv_heads < 1 || shape.head_width < 1 || shape.width < 1 ||
      shape.trained_length < 0) {
    return bad_input("model shape: layers, heads, kv_heads, head_width and width must be at least 1");
  }
  if (shape.heads % shape.kv_heads != 0) {
    return bad_input("model shape: " + std::to_string(shape.heads) + " heads cannot share " +
                     std::to_string(shape.kv_heads) + " key heads");
  }
  return {};
}

const Entry* find_entry(std::string_view name) {
  const auto found = std::find_if(encodings().begin(), encodings().end(),
                                  [&](const Entry& entry) { return entry.description.name == name; });
  return found == encodings().end() ? nullptr : &*found;
}

}  // namespace

const Description* find_description(std::string_view name) {
  const Entry* const entry = find_entry(name);
  return entry == nullptr ? nullptr : &entry->description;
}

Result<std::unique_ptr<PositionEncoding>> make_encoding(std::string_view name, const Settings& options,
                                                        const ModelShape& shape) {
  if (const Entry* const entry = find_entry(name)) {
    LOCUS_CHECK(check_known(entry->description, options));
    LOCUS_CHECK(check_shape(shape));
    return entry->make(options, shape);
  }
  const std::string known =
      listed_known(encodings(), "encodings", [](const Entry& entry) { return entry.description.name; });
  return bad_input("unknown position encoding " + shown(name) + "; known: " + known);
}

}  // namespace locus::position
