#include "core/position/list.h"

namespace locus::position {

const std::vector<Entry>& encodings() {
  static const std::vector<Entry> list;
  return list;
}

Result<std::unique_ptr<PositionEncoding>> make_encoding(std::string_view name, const Settings& options,
                                                        const ModelShape& shape) {
  std::string known;
  for (const Entry& entry : encodings()) {
    if (entry.description.name == name) {
      return entry.make(options, shape);
    }
    known += (known.empty() ? "" : ", ") + entry.description.name;
  }
  return bad_input("unknown position encoding " + std::string(name) + "; known: " + known);
}

}  // namespace locus::position
