#include "app/cli/trace_info.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/json.h"
#include "app/cli/model_lines.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/model.h"

namespace locus::cli {

namespace {

using models::ModelInfo;
using models::Trace;

struct Shown {
  Quantity quantity;
  std::vector<std::int64_t> layers;
};

// The quantities that a cell of its maps has, and the layers that have them.
std::vector<Shown> shown_of(const Trace& trace) {
  std::vector<Shown> all;
  for (const Quantity quantity : kQuantities) {
    Shown shown{quantity, {}};
    for (std::int64_t layer = 0; layer < trace.model().layers; ++layer) {
      const bool attends = trace.model().layer_info[static_cast<std::size_t>(layer)].attends;
      if (attends && trace.map({layer, 0, quantity, {0, 1}, {0, 1}}).ok()) {
        shown.layers.push_back(layer);
      }
    }
    if (!shown.layers.empty()) {
      all.push_back(std::move(shown));
    }
  }
  return all;
}

std::vector<std::pair<std::string, std::shared_ptr<const Trace>>> sides_of(const Trace& trace) {
  std::vector<std::pair<std::string, std::shared_ptr<const Trace>>> sides;
  for (const models::Side side : models::kSides) {
    if (const auto own = trace.side(side)) {
      sides.emplace_back(models::to_text(side), own);
    }
  }
  return sides;
}

Json shown_json(const Trace& trace) {
  Json json = Json::object();
  for (const Shown& shown : shown_of(trace)) {
    json[to_text(shown.quantity)] = shown.layers;
  }
  return json;
}

Json side_json(const Trace& trace) {
  const ModelInfo& info = trace.model();
  return {{"length", trace.length()},
          {"key_length", trace.keys()},
          {"encodings", list_of(info.encodings, encoding_json)},
          {"layer_encodings", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.encoding; })},
          {"attends", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.attends; })},
          {"windows", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.window; })},
          {"layers", info.layers},
          {"heads", info.heads},
          {"kv_heads", info.kv_heads},
          {"head_width", info.head_width},
          {"causal", info.causal},
          {"shows", shown_json(trace)}};
}

Json trace_json(const Trace& trace) {
  const ModelInfo& info = trace.model();
  const models::ImageGrid& grid = trace.image_grid();
  Json json = side_json(trace);
  json["trace"] = true;
  json["name"] = info.name;
  json["family"] = info.family;
  json["text"] = trace.text();
  json["tokens"] = list_of(trace.tokens(), [](const models::TokenInfo& token) { return token.label; });
  json["image_grid"] = {{"rows", grid.rows},
                        {"columns", grid.columns},
                        {"cls", grid.cls},
                        {"registers", grid.registers},
                        {"detections", grid.detections}};
  json["images"] = trace.images().size();
  json["logits"] = !trace.top(1).empty();
  json["edited"] = !trace.edits().empty();
  json["sides"] = Json::object();
  for (const auto& [name, side] : sides_of(trace)) {
    json["sides"][name] = side_json(*side);
  }
  json["warnings"] = info.warnings;
  return json;
}

std::string numbers_of(const std::vector<std::int64_t>& layers) {
  return (layers.size() == 1 ? "layer " : "layers ") + listed(layers, [](std::int64_t n) { return std::to_string(n); });
}

void print_side(const Trace& trace, Console& console) {
  const ModelInfo& info = trace.model();
  print_encodings_of(info, console);
  print_layers_of(info, console);
  print_row("head width", std::to_string(info.head_width), console);
  print_row("mask", trace.crosses() ? "none: every key is seen" : info.causal ? "causal" : "both ways", console);
  const auto attending = std::ranges::count_if(info.layer_info, [](const auto& layer) { return layer.attends; });
  print_row("shows",
            listed(shown_of(trace),
                   [&](const Shown& shown) {
                     const bool everywhere = static_cast<std::ptrdiff_t>(shown.layers.size()) == attending;
                     return to_text(shown.quantity) + (everywhere ? "" : " (" + numbers_of(shown.layers) + ")");
                   }),
            console);
}

void print_trace(const Trace& trace, const std::string& file, Console& console) {
  const ModelInfo& info = trace.model();
  print_row("trace", printable(file), console);
  print_row("model", printable(info.name) + (info.family.empty() ? "" : ", family " + printable(info.family)), console);
  print_row("tokens",
            std::to_string(trace.length()) + (trace.text().empty() ? ", without their text" : ", with their text"),
            console);
  if (const models::ImageGrid& grid = trace.image_grid(); grid.rows > 0) {
    print_row("picture",
              std::to_string(grid.rows) + " × " + std::to_string(grid.columns) + " patches, " +
                  std::to_string(grid.cls) + " class and " + std::to_string(grid.registers) + " register tokens" +
                  (grid.detections > 0 ? ", " + std::to_string(grid.detections) + " detection tokens" : ""),
              console);
  }
  if (!trace.images().empty()) {
    print_row("pictures", std::to_string(trace.images().size()) + " in the text", console);
  }
  print_side(trace, console);
  print_row("logits", trace.top(1).empty() ? "none" : "yes", console);
  if (!trace.edits().empty()) {
    print_row("edits", "yes: its scores are shown with them", console);
  }
  for (const auto& [name, side] : sides_of(trace)) {
    print_row("side",
              name + ", " + std::to_string(side->length()) + " tokens" +
                  (side->crosses() ? " over " + std::to_string(side->keys()) : ""),
              console);
    print_side(*side, console);
  }
  for (const std::string& warning : info.warnings) {
    console.warn(warning);
  }
}

}  // namespace

Status print_trace_info(const std::filesystem::path& path, bool json, Console& console) {
  LOCUS_TRY(const std::shared_ptr<const Trace> trace, models::open_trace(path));
  if (json) {
    console.print(dump(trace_json(*trace)));
  } else {
    print_trace(*trace, path.filename().string(), console);
  }
  return {};
}

}  // namespace locus::cli
