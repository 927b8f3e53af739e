// Lines that describe the layers and encodings of a model, those of layers that have the same together: of `locus info`
// and of the window's list of checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/listed.h"
#include "models/api/model.h"

namespace locus::views {

// Whether the layers of a model need lines of their own.
inline bool has_layer_lines(const models::ModelInfo& info) {
  return !info.uniform() || (!info.layer_info.empty() && info.layer_info.front().window > 0);
}

// Layers that have the same, and what: "layers 0, 1, 2, 4" and "rope base=10000, window 64".
inline std::vector<std::pair<std::string, std::string>> layer_lines(const models::ModelInfo& info) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups;
  for (std::int64_t n = 0; n < info.layers; ++n) {
    const std::string text = models::layer_text(info, n);
    const auto known =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == text; });
    known == groups.end() ? groups.push_back({text, {n}}) : known->second.push_back(n);
  }
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [text, layers] : groups) {
    const std::string list = listed(layers, [](std::int64_t n) { return std::to_string(n); });
    lines.emplace_back((layers.size() == 1 ? "layer " : "layers ") + list, text);
  }
  return lines;
}

// ", layers 5, 11, 17": those that have the encoding; an encoding that no layer has is only added to the embeddings.
inline std::string layers_of(const models::ModelInfo& info, std::int64_t encoding) {
  std::vector<std::int64_t> layers;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(info.layer_info.size()); ++n) {
    if (info.layer_info[static_cast<std::size_t>(n)].encoding == encoding) {
      layers.push_back(n);
    }
  }
  if (layers.empty()) {
    return ", added to the embeddings";
  }
  return (layers.size() == 1 ? ", layer " : ", layers ") +
         listed(layers, [](std::int64_t n) { return std::to_string(n); });
}

}  // namespace locus::views
