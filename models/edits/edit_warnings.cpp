// Warnings about edits: those overridden by others, and those that drive scores too far.
#include <algorithm>
#include <string>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/edits/edited_encoding.h"
#include "models/edits/run_edits.h"

namespace locus::models {

namespace {

std::string quoted(const Edit& edit) {
  return "\"" + shown(to_text(edit)) + "\"";
}

bool meet(const Places& a, const Places& b, std::int64_t count, std::int64_t& first) {
  for (first = 0; first < count; ++first) {
    if (a.has(first) && b.has(first)) {
      return true;
    }
  }
  return false;
}

// True if `other` has no effect on a head that `winner` overrides; a mean ablation keeps the effect of other edits.
bool decides(const Edit& winner, const Edit& other) {
  return !moves(other) && !of_mixers(other) && (winner.to != HeadTo::kMean || other.kind == EditKind::kHead);
}

void add_overruled(const Edits& edits, const ModelInfo& model, std::vector<std::string>& warnings) {
  for (std::size_t w = 0; w < edits.size(); ++w) {
    if (edits[w].kind != EditKind::kHead) {
      continue;
    }
    std::vector<std::string> others;
    std::int64_t layer = 0;
    std::int64_t head = 0;
    std::string where;
    for (std::size_t n = 0; n < edits.size(); ++n) {
      // The last of several `head` edits of one head applies.
      if (n != w && decides(edits[w], edits[n]) && (edits[n].kind != EditKind::kHead || n < w) &&
          meet(edits[w].layer, edits[n].layer, model.layers, layer) &&
          meet(edits[w].head, edits[n].head, model.heads, head)) {
        where = where.empty() ? "layer " + std::to_string(layer) + ", head " + std::to_string(head) : where;
        others.push_back(quoted(edits[n]));
      }
    }
    if (!others.empty()) {
      warnings.push_back("edits: " + quoted(edits[w]) + " decides over " + where + ": " + listed(others) +
                         (others.size() == 1 ? " has" : " have") + " no effect there");
    }
  }
}

void add_overflow(const transformer::LayerEdits& layers, std::vector<std::string>& warnings) {
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const auto* const edited = dynamic_cast<const EditedEncoding*>(layers[n].encoding.get());
    if (edited != nullptr && edited->overflowed()) {
      warnings.push_back(
          "edits: layer " + std::to_string(n) +
          ": scores overflow: values beyond ±1e12 after a scale or a bias were clamped, and clamped keys "
          "share their weight equally");
      return;
    }
  }
}

}  // namespace

void add_warnings(const Edits& edits, const ModelInfo& model, const transformer::LayerEdits* layers,
                  std::vector<std::string>& warnings) {
  add_overruled(edits, model, warnings);
  if (layers != nullptr) {
    add_overflow(*layers, warnings);
  }
}

}  // namespace locus::models
