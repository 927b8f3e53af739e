// Layers, heads, widths and masks of a trace.
#include <algorithm>
#include <charconv>

#include "core/base/checked.h"
#include "core/base/shown.h"
#include "models/engine/trace/open_trace.h"

namespace locus::models::trace {

namespace {

using nlohmann::json;

constexpr std::int64_t kMaxLayers = 4096;
// Sizes that metadata names beyond these are a corrupt file, not a model.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;

Status read_mask(OpenTrace& trace, LayerInfo& all) {
  const std::string causal = trace.file.text("causal");
  if (!causal.empty() && causal != "true" && causal != "false") {
    return bad_input("expected true or false, found " + shown(causal, 40), trace.file.metadata("causal"));
  }
  trace.data.model.causal = causal != "false" && !trace.file.crosses();
  const std::string window = trace.file.text("window");
  std::int64_t& width = all.window;
  const auto [end, code] = std::from_chars(window.data(), window.data() + window.size(), width);
  if (!window.empty() && (code != std::errc() || end != window.data() + window.size() || width < 0)) {
    return bad_input("expected a whole number of tokens (0: none), found " + shown(window, 40),
                     trace.file.metadata("window"));
  }
  return {};
}

// A metadata list with an entry per layer; nothing where there is none.
template <class Take>
Status read_list(OpenTrace& trace, const char* name, const char* expected, const Take& take) {
  LOCUS_TRY(const json list, trace.file.value(name));
  if (list.is_null()) {
    return {};
  }
  bool good = list.is_array() && list.size() == trace.data.model.layer_info.size();
  for (std::size_t n = 0; good && n < list.size(); ++n) {
    good = take(trace.data.model.layer_info[n], list[n]);
  }
  return good ? Status()
              : Status(bad_input("expected a list of " + std::to_string(trace.data.model.layers) + " " + expected +
                                     ", one per layer",
                                 trace.file.metadata(name)));
}

// Windows, chunks, caps, sinks, shared keys and the shapes of heads that differ: lists of the metadata with an entry per layer;
// without, one window for all.
Status read_layer_info(OpenTrace& trace) {
  LayerInfo all;
  LOCUS_CHECK(read_mask(trace, all));
  trace.data.model.layer_info.assign(static_cast<std::size_t>(trace.data.model.layers), all);
  for (const auto& [name, member] :
       {std::pair{"windows", &LayerInfo::window}, std::pair{"chunks", &LayerInfo::chunk},
        std::pair{"head_widths", &LayerInfo::head_width}, std::pair{"key_heads", &LayerInfo::kv_heads},
        std::pair{"mixer_heads", &LayerInfo::mixer_heads}, std::pair{"mixer_reaches", &LayerInfo::mixer_reach}}) {
    const bool size = member == &LayerInfo::head_width || member == &LayerInfo::kv_heads ||
                      member == &LayerInfo::mixer_heads || member == &LayerInfo::mixer_reach;
    const auto take = [&, member = member](LayerInfo& layer, const json& value) {
      layer.*member = whole_number(value, 0, size ? kLargestSize : INT64_MAX).value_or(-1);
      return layer.*member >= 0;
    };
    LOCUS_CHECK(read_list(trace, name, "whole numbers of at least 0", take));
  }
  for (std::int64_t n = 0; n < trace.data.model.layers; ++n) {
    const std::string name = "layers." + std::to_string(n) + ".q";
    const TensorInfo* const q = trace.file.find(name);
    const std::int64_t said = trace.data.model.layer_info[static_cast<std::size_t>(n)].head_width;
    if (said > 0 && has_elements(q, 3) && q->shape[2] != said) {
      return bad_input("expected " + std::to_string(said) + " channels, as metadata head_widths says, found " +
                           std::to_string(q->shape[2]),
                       trace.file.where(name));
    }
  }
  const std::int64_t last = trace.data.model.layers - 1;
  LOCUS_CHECK(read_list(trace, "key_sources", "layers or −1", [&](LayerInfo& layer, const json& value) {
    const std::optional<std::int64_t> source = whole_number(value, -1, last);
    layer.source = source.value_or(-1);
    return source.has_value();
  }));
  LOCUS_CHECK(read_list(trace, "soft_caps", "numbers of at least 0", [](LayerInfo& layer, const json& value) {
    layer.soft_cap = value.is_number() ? value.get<double>() : -1;
    return layer.soft_cap >= 0;
  }));
  LOCUS_CHECK(read_list(trace, "attends", "true or false", [](LayerInfo& layer, const json& value) {
    layer.attends = value.is_boolean() && value.get<bool>();
    return value.is_boolean();
  }));
  LOCUS_CHECK(read_list(trace, "mixers", "texts", [](LayerInfo& layer, const json& value) {
    layer.mixer = value.is_string() ? printable(value.get<std::string>()) : "";
    return value.is_string();
  }));
  return read_list(trace, "sinks", "true or false", [](LayerInfo& layer, const json& value) {
    layer.sink = value.is_boolean() && value.get<bool>();
    return value.is_boolean();
  });
}

Status read_logits(OpenTrace& trace) {
  LOCUS_TRY(trace.data.hidden, trace.file.float_tensor("hidden", {trace.length(), -1}));
  const TensorInfo* info = trace.file.find("logits");
  if (info == nullptr) {
    return {};
  }
  LOCUS_TRY(trace.data.logits, info->shape.size() == 1 ? trace.file.float_tensor("logits", {-1})
                                                       : trace.file.float_tensor("logits", {-1, -1}));
  trace.data.logits = trace.data.logits.dim() == 1 ? trace.data.logits.unsqueeze(0) : trace.data.logits;
  trace.data.model.vocabulary = trace.data.logits.size(1);
  return {};
}

}  // namespace

// Layers, heads and widths: from the tensors, and from the metadata what they do not tell.
Status read_shape(OpenTrace& trace) {
  ModelInfo& model = trace.data.model;
  const std::string before = trace.file.tensor_name("layers.");
  for (const TensorInfo& info : trace.file.tensors()) {
    std::int64_t layer = 0;
    const char* begin = info.name.data() + before.size();
    if (info.name.rfind(before, 0) == 0 &&
        std::from_chars(begin, info.name.data() + info.name.size(), layer).ec == std::errc() && layer >= 0 &&
        layer < kMaxLayers) {
      model.layers = std::max(model.layers, layer + 1);
    }
  }
  LOCUS_TRY(const json attends, trace.file.value("attends"));
  std::int64_t first = 0;  // layer with attention
  if (attends.is_array() && attends.size() <= static_cast<std::size_t>(kMaxLayers)) {
    model.layers = std::max(model.layers, static_cast<std::int64_t>(attends.size()));
    first = std::find(attends.begin(), attends.end(), json(true)) - attends.begin();
  }
  const std::string layer = "layers." + std::to_string(first) + ".";
  const TensorInfo* q = trace.file.find(layer + "q");
  const TensorInfo* k = trace.file.find(layer + "k");
  const TensorInfo* attention = trace.file.find(layer + "attention");
  const TensorInfo* scores = q != nullptr ? q : attention;
  if (!has_elements(scores, 3)) {
    return bad_input("expected " + trace.file.tensor_name(layer + "q") + " and " + trace.file.tensor_name(layer + "k") +
                         " [H, T, D] or " + trace.file.tensor_name(layer + "attention") + " [H, T, T], found none",
                     trace.file.path());
  }
  for (std::int64_t n = first + 1; q == nullptr && n < model.layers; ++n) {  // a stored map tells no widths
    q = trace.file.find("layers." + std::to_string(n) + ".q");
    k = trace.file.find("layers." + std::to_string(n) + ".k");
  }
  LOCUS_TRY(json stored, trace.file.value("shape"));
  stored = stored.is_null() ? json::object() : std::move(stored);
  LOCUS_TRY(const JsonObject shape, JsonObject::of(stored, trace.file.metadata("shape")));
  model.heads = scores->shape[0];
  model.kv_heads = has_elements(k, 3) ? k->shape[0] : model.heads;
  LOCUS_TRY(model.head_width, size_of(shape, "head_width", has_elements(q, 3) ? q->shape[2] : 1, kLargestSize));
  LOCUS_TRY(model.width,
            size_of(shape, "width", checked_product({model.heads, model.head_width}).value_or(0), kLargestSize));
  LOCUS_TRY(model.trained_length, size_of(shape, "trained_length", 0, kLargestCount));
  LOCUS_TRY(model.vocabulary, size_of(shape, "vocabulary", 0, kLargestCount));
  LOCUS_TRY(model.parameters, size_of(shape, "parameters", 0, kLargestCount));
  model.name = printable(trace.file.text("model"));
  model.family = trace.file.text("family");
  model.image = trace.data.grid.rows > 0;
  model.files = {trace.file.path()};
  LOCUS_CHECK(read_layer_info(trace));
  return read_logits(trace);
}

}  // namespace locus::models::trace
