#include "app/cli/model_lines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/listed.h"

namespace locus::cli {

namespace {

// An encoding and those of its options that are not what they are by default; its base in any case where there are
// several encodings.
std::string encoding_line(const models::EncodingUse& use, bool one_of_several) {
  std::string line = use.name;
  for (const models::EncodingInfo& encoding : models::encodings()) {
    if (encoding.name != use.name) {
      continue;
    }
    for (const auto& option : encoding.options) {
      const auto value = use.options.values().find(option.name);
      const bool said = one_of_several && option.name == "base";
      if (value != use.options.values().end() && (said || to_text(value->second) != option.shape)) {
        line += " " + option.name + "=" + to_text(value->second);
      }
    }
  }
  return line;
}

// ", layers 5, 11, 17": those that have the encoding; an encoding that no layer has is only added to the embeddings.
std::string layers_of(const models::ModelInfo& info, std::int64_t encoding) {
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

// Layers that have the same, and what: "0, 1, 2, 4" and "rope base=10000, window 64".
std::vector<std::pair<std::string, std::string>> layer_lines(const models::ModelInfo& info) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (std::int64_t n = 0; n < info.layers; ++n) {
    const std::string text = models::layer_text(info, n);
    const auto known = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.second == text; });
    if (known == lines.end()) {
      lines.emplace_back(std::to_string(n), text);
    } else {
      known->first += ", " + std::to_string(n);
    }
  }
  return lines;
}

}  // namespace

void print_row(const std::string& name, const std::string& value, Console& console) {
  console.print(name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + value);
}

void print_encodings_of(const models::ModelInfo& info, Console& console) {
  const bool several = info.encodings.size() > 1;
  for (std::size_t n = 0; n < info.encodings.size(); ++n) {
    print_row("encoding",
              encoding_line(info.encodings[n], several) +
                  (several ? layers_of(info, static_cast<std::int64_t>(n)) : std::string()),
              console);
  }
}

void print_layers_of(const models::ModelInfo& info, Console& console) {
  print_row("layers × heads",
            std::to_string(info.layers) + " × " + std::to_string(info.heads) +
                (info.kv_heads == info.heads ? "" : " (" + std::to_string(info.kv_heads) + " key heads)"),
            console);
  if (!info.uniform() || (!info.layer_info.empty() && info.layer_info.front().window > 0)) {
    for (const auto& [layers, text] : layer_lines(info)) {
      print_row(layers.find(',') == std::string::npos ? "layer " + layers : "layers " + layers, text, console);
    }
  }
}

Json encoding_json(const models::EncodingUse& encoding) {
  Json json = {{"name", encoding.name}};
  for (const auto& [name, value] : encoding.options.values()) {
    json[name] = value;
  }
  return json;
}

}  // namespace locus::cli
