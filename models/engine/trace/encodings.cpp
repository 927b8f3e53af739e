// The position encodings that a trace names, and their tensors.
#include <algorithm>

#include "core/position/grape.h"
#include "core/position/list.h"
#include "models/engine/trace/open_trace.h"
#include "models/formats/json/settings_json.h"
#include "models/transformer/weights.h"

namespace locus::models::trace {

namespace {

using nlohmann::json;

Status read_parameters(OpenTrace& trace, position::PositionEncoding& encoding, std::size_t index,
                       const std::vector<std::int64_t>& layers, UsedEncoding& used) {
  for (const position::Parameter& parameter : encoding.parameters()) {
    const std::string name = trace_name(parameter.name, index, layers);
    LOCUS_TRY(const at::Tensor value, trace.file.float_tensor(name, parameter.value->sizes().vec()));
    used.complete = used.complete && value.defined();
    if (value.defined()) {
      *parameter.value = value;
      trace.data.encoding_parameters.emplace_back(name, value);
    }
  }
  return {};
}

// The width of what is added to the tokens: of a table of positions its own, which in ELECTRA is narrower than the
// model.
std::int64_t added_width(const OpenTrace& trace, const std::string& encoding, std::size_t index,
                         const std::vector<std::int64_t>& layers) {
  const auto* const table =
      encoding == "learned" ? trace.file.find(trace_name("position_embedding", index, layers)) : nullptr;
  return table != nullptr && table->shape.size() == 2 && table->elements() > 0 ? table->shape[1]
                                                                               : trace.data.model.width;
}

// An encoding this build does not know, or whose tensors are not here, leaves the stored maps alone.
Status read_encoding(OpenTrace& trace, json object, const std::vector<std::int64_t>& layers, const std::string& from) {
  ModelInfo& model = trace.data.model;
  const std::size_t index = trace.encodings.size();
  trace.encodings.emplace_back();
  trace.places.resize(static_cast<std::size_t>(model.layers));
  for (std::size_t n = 0; n < layers.size(); ++n) {
    trace.places[static_cast<std::size_t>(layers[n])] = {static_cast<std::int64_t>(index),
                                                         static_cast<std::int64_t>(n)};
  }
  EncodingUse use;
  LOCUS_TRY(const JsonObject named, JsonObject::of(object, from));
  LOCUS_TRY(use.name, named.text("name", ""));
  if (use.name.empty()) {
    return named.wrong("name", "an encoding's name");
  }
  object.erase("name");
  object.erase("scale");
  LOCUS_TRY(use.options, settings_from_json(object, from));
  model.encodings.push_back(use);
  const LayerInfo first = layers.empty() ? LayerInfo() : model.layer_info[static_cast<std::size_t>(layers.front())];
  const std::int64_t key_heads = first.kv_heads > 0 ? first.kv_heads : model.kv_heads;
  const std::int64_t head_width = first.head_width > 0 ? first.head_width : model.head_width;
  if (key_heads < 1 || model.heads % key_heads != 0) {
    return bad_input(
        "expected key heads that divide " + std::to_string(model.heads) + " heads, found " + std::to_string(key_heads),
        trace.file.path());
  }
  const position::ModelShape shape{
      static_cast<std::int64_t>(layers.size()),    model.heads,          key_heads,   head_width,
      added_width(trace, use.name, index, layers), model.trained_length, model.causal};
  auto made = position::make_encoding(use.name, use.options, shape);
  if (!made.ok()) {
    model.warnings.push_back(made.error().describe());
    return {};
  }
  UsedEncoding& used = trace.encodings.back();
  LOCUS_CHECK(read_parameters(trace, **made, index, layers, used));
  const position::Description& description = (*made)->description();
  EncodingUse& known = model.encodings.back();
  known.has_parts = description.has_parts;
  known.no_distance = description.no_distance;
  // GRAPE's frequencies are its parameters.
  const bool needs_all = description.scores || dynamic_cast<const position::Grape*>(made->get()) != nullptr;
  if (!used.complete && needs_all) {
    model.warnings.push_back("the trace lacks tensors of its encoding: only stored maps can be shown");
    return {};
  }
  used.encoding = std::move(*made);
  known.has_gates = description.has_gates;
  known.forgets = description.forgets;
  known.learns_positions = description.learns_positions;
  known.transforms = description.transforms;
  known.distance = description.distance;
  known.content = description.content;
  if (used.encoding->accepts(trace.positions).ok()) {
    used.start = used.encoding->begin(trace.positions, 1);
    known.has_dot_product = used.complete && description.has_dot_product;
  }
  return {};
}

}  // namespace

// The metadata's encodings: `layer_encodings` with an entry per layer, else `encoding` for all. Layers with the same
// entry share one.
Status read_encodings(OpenTrace& trace) {
  LOCUS_TRY(json one, trace.file.value("encoding"));
  one = trace.file.crosses() ? json{{"name", "none"}} : std::move(one);
  LOCUS_TRY(const json list, trace.file.value("layer_encodings"));
  if (!list.is_null() && (!list.is_array() || list.size() != trace.data.model.layer_info.size())) {
    return bad_input("expected a list of " + std::to_string(trace.data.model.layers) + " entries, one per layer",
                     trace.file.metadata("layer_encodings"));
  }
  if (one.is_null() && list.is_null() && trace.file.find("layers.0.q") != nullptr &&
      trace.file.find("layers.0.k") != nullptr && trace.file.find("layers.0.attention") == nullptr) {
    trace.data.model.warnings.push_back("the trace names no encoding: its q and k are taken as the score sees them");
    one = json{{"name", "none"}};
  }
  std::vector<json> known;
  std::vector<std::vector<std::int64_t>> layers;
  std::vector<std::int64_t> without;
  for (std::int64_t n = 0; n < trace.data.model.layers; ++n) {
    LayerInfo& info = trace.data.model.layer_info[static_cast<std::size_t>(n)];
    const json& own = list.is_null() ? one : list[static_cast<std::size_t>(n)];
    if (own.is_null() || !info.attends) {
      info.encoding = -1;
      if (info.attends) {
        without.push_back(n);
      }
      continue;
    }
    const auto found = std::find(known.begin(), known.end(), own);
    info.encoding = found - known.begin();
    if (found == known.end()) {
      known.push_back(own);
      layers.emplace_back();
    }
    layers[static_cast<std::size_t>(info.encoding)].push_back(n);
  }
  const std::string from = trace.file.metadata(list.is_null() ? "encoding" : "layer_encodings");
  for (std::size_t n = 0; n < known.size(); ++n) {
    LOCUS_CHECK(read_encoding(trace, known[n], layers[n], from));
  }
  if (!list.is_null() && !without.empty()) {
    LOCUS_CHECK(read_encoding(trace, json{{"name", "none"}}, without, from));
    trace.data.model.encodings.pop_back();
  }
  return {};
}

}  // namespace locus::models::trace
