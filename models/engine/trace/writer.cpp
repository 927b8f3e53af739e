#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "core/base/system_files.h"
#include "models/engine/trace/pictures.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/formats/json/settings_json.h"
#include "models/formats/tensor_source.h"
#include "models/formats/trace/sides.h"

namespace locus::models {

namespace {

// Maps are made whole before they are written; more than this is a mistake.
constexpr std::int64_t kMaxBytes = std::int64_t{16} << 30;

class Writer {
 public:
  Writer(const RecordedTrace& trace, const std::set<std::string>& keep, SideNames names)
      : trace_(trace), data_(trace.data()), names_(names) {
    all_ = keep.count("all") != 0;
    keep_ = keep;
  }

  Status check() const {
    for (const std::string& name : keep_) {
      if (name != "all" && std::find(kKeepNames.begin(), kKeepNames.end(), name) == kKeepNames.end()) {
        return usage("unknown tensor to keep: " + shown(name) + "; known: all, " + listed(kKeepNames));
      }
    }
    std::int64_t maps = 0;
    for (const char* name : {"attention", "gates", "positions"}) {
      maps += wants(name) ? 1 : 0;
    }
    const double bytes = 4.0 * static_cast<double>(maps * data_.model.layers * data_.model.heads) *
                         static_cast<double>(trace_.length()) * static_cast<double>(trace_.keys());
    const double available = available_bytes();
    const double most =
        available > 0 ? std::min(available, static_cast<double>(kMaxBytes)) : static_cast<double>(kMaxBytes);
    if (bytes > most) {
      return too_large("maps of " + std::to_string(static_cast<std::int64_t>(bytes / 1e9)) + " GB, of at most " +
                       std::to_string(static_cast<std::int64_t>(most / 1e9)) +
                       " GB; keep q and k instead: Locus computes maps from them");
    }
    return {};
  }

  Status collect(const Progress& progress, StopToken stop) {
    if (names_.crosses()) {
      return collect_cross(stop);
    }
    if (names_.mixes()) {
      return collect_mixers(stop);
    }
    if (data_.input_ids.defined()) {
      add("input_ids", data_.input_ids);
    }
    const bool vectors = data_.position_ids.dim() == 2 && data_.position_ids.size(1) == 3;  // time, row, column
    add("position_ids", integral_if_possible(vectors ? data_.position_ids.t() : data_.position_ids));
    if (has_text()) {
      at::Tensor bytes = at::empty({trace_.length(), 2}, at::kLong);
      auto* value = bytes.data_ptr<std::int64_t>();
      for (const TokenInfo& token : data_.tokens) {
        *value++ = token.bytes.begin;
        *value++ = token.bytes.end;
      }
      add("token_bytes", bytes);
    }
    for (const auto& [name, tensor] : trace::picture_tensors(data_)) {
      add(name, tensor);
    }
    if (wants("logits") && data_.hidden.defined()) {
      add("hidden", data_.hidden);
    } else if (!names_.sees() && (named("logits") || (all_ && data_.logits.defined()))) {
      LOCUS_CHECK(need(data_.logits.defined(), "logits"));
      add("logits", data_.model.image ? data_.logits.flatten() : data_.logits);
    }
    const bool routed = std::any_of(data_.layers.begin(), data_.layers.end(),
                                    [](const TraceLayer& layer) { return layer.experts.defined(); });
    LOCUS_CHECK(need(routed || !named("experts"), "experts"));
    for (std::size_t n = 0; n < data_.layers.size(); ++n) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      report(progress, static_cast<double>(n) / static_cast<double>(data_.layers.size()),
             "layer " + std::to_string(n + 1) + " of " + std::to_string(data_.layers.size()));
      LOCUS_CHECK(collect_layer(static_cast<std::int64_t>(n), data_.layers[n], stop));
    }
    if (wants("q") || wants("k")) {
      for (const auto& [name, value] : data_.encoding_parameters) {
        add(name, value);
      }
    }
    return {};
  }

  // Appends what was collected.
  void hand_over(std::vector<formats::OutputTensor>& tensors, std::map<std::string, std::string>& metadata) const {
    for (const auto& [name, tensor] : tensors_) {
      const auto dtype = tensor.scalar_type() == at::kLong     ? formats::DType::kI64
                         : tensor.scalar_type() == at::kDouble ? formats::DType::kF64
                                                               : formats::DType::kF32;
      tensors.push_back(
          {name, dtype, tensor.sizes().vec(), {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    if (!names_.crosses() && !names_.mixes()) {
      for (auto& [key, value] : this->metadata()) {
        metadata.emplace(names_.metadata(key), value);
      }
    }
  }

 private:
  // A header of JSON holds no other text.
  bool has_text() const { return !data_.text.empty() && is_utf8(data_.text); }

  bool wants(const std::string& name) const { return all_ || keep_.count(name) != 0; }
  bool named(const std::string& name) const { return keep_.count(name) != 0; }

  // An error when something asked for by name is not there; "all" takes what there is.
  static Status need(bool there, const std::string& name) {
    return there ? Status() : Status(unsupported("this trace has no " + name + " to keep"));
  }

  void add(const std::string& name, const at::Tensor& tensor) {
    const at::ScalarType type =
        tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kDouble ? tensor.scalar_type() : at::kFloat;
    tensors_.emplace_back(names_.tensor(name), tensor.detach().to(at::kCPU, type).contiguous());
  }

  Status add_if(const std::string& keep, const std::string& name, const at::Tensor& tensor) {
    if (!wants(keep)) {
      return {};
    }
    if (!tensor.defined()) {
      return named(keep) ? need(false, keep) : Status();
    }
    add(name, tensor.dim() == 4 ? tensor.select(0, 0) : tensor);
    return {};
  }

  Status add_map(const std::string& keep, const std::string& name, const TraceLayer& layer,
                 attention::Quantity quantity, StopToken stop) {
    if (!wants(keep)) {
      return {};
    }
    Result<at::Tensor> map = whole_map(*layer.scores, quantity, stop);
    if (map.ok()) {
      add(name, *map);
      return {};
    }
    const bool absent = map.error().code == ErrorCode::kUnsupported;
    return absent && !named(keep) ? Status() : Status(map.error());
  }

  // Maps, queries and keys: what else there is, the decoder's own layers have.
  Status collect_cross(StopToken stop) {
    for (std::size_t n = 0; n < data_.layers.size(); ++n) {
      const std::string prefix = "layers." + std::to_string(n) + ".";
      const TraceLayer& layer = data_.layers[n];
      if (layer.computed && wants("q")) {
        add(prefix + "q", layer.computed->prepared().query.select(0, 0));
        add(prefix + "log_sum_exp", layer.computed->log_sum_exp().select(0, 0).to(at::kFloat));
      }
      if (layer.computed && wants("k")) {
        add(prefix + "k", layer.computed->prepared().key.select(0, 0));
      }
      LOCUS_CHECK(add_map("attention", prefix + "attention", layer, attention::Quantity::kWeight, stop));
    }
    return {};
  }

  // The maps that mixers imply: their layers and tokens are the text's.
  Status collect_mixers(StopToken stop) {
    for (std::size_t n = 0; n < data_.layers.size(); ++n) {
      if (data_.model.layer_info[n].attends) {
        LOCUS_CHECK(add_map("attention", "layers." + std::to_string(n) + ".implied", data_.layers[n],
                            attention::Quantity::kImplied, stop));
      }
    }
    return {};
  }

  Status collect_layer(std::int64_t index, const TraceLayer& layer, StopToken stop) {
    const std::string prefix = "layers." + std::to_string(index) + ".";
    LOCUS_CHECK(layer.hidden.defined() || data_.model.layer_info[static_cast<std::size_t>(index)].attends
                    ? add_if("hidden", prefix + "hidden", layer.hidden)
                    : Status());
    if (layer.experts.defined() && wants("experts")) {
      add(prefix + "experts", layer.experts);
      add(prefix + "expert_weights", layer.expert_weights);
    }
    if (!data_.model.layer_info[static_cast<std::size_t>(index)].attends) {
      return {};
    }
    static const position::Prepared nothing;
    const position::Prepared& prepared = layer.computed ? layer.computed->prepared() : nothing;
    LOCUS_CHECK(add_if("q", prefix + "q", prepared.query));
    LOCUS_CHECK(add_if("k", prefix + "k", prepared.key));
    if (layer.computed && wants("q")) {
      add(prefix + "log_sum_exp", layer.computed->log_sum_exp().select(0, 0).to(at::kFloat));
    }
    if (const auto& blocks = layer.scores->mask().blocks; blocks && wants("q")) {
      add(prefix + "blocks", at::tensor(at::ArrayRef<std::int64_t>(blocks->of), at::kLong));
    }
    if (layer.sinks.defined() && wants("q")) {
      add(prefix + "sinks", layer.sinks);
    }
    const bool content = prepared.content_query.defined();
    LOCUS_CHECK(add_if("q_content", prefix + "q_content", content ? prepared.content_query : prepared.query));
    LOCUS_CHECK(add_if("k_content", prefix + "k_content", content ? prepared.content_key : prepared.key));
    for (const auto& [name, gate] :
         {std::pair("q_gate", &prepared.gate_query), std::pair("k_gate", &prepared.gate_key)}) {
      if (gate->defined() && (wants("q") || wants("k"))) {
        add(prefix + name, gate->select(0, 0));
      }
    }
    const bool updates = layer.encoding && layer.encoding->description().updates && layer.state;
    LOCUS_CHECK(
        add_if("position_state", prefix + "position_state", updates ? layer.state->table.select(0, 0) : at::Tensor()));
    LOCUS_CHECK(add_map("attention", prefix + "attention", layer, attention::Quantity::kWeight, stop));
    LOCUS_CHECK(add_map("gates", prefix + "gates", layer, attention::Quantity::kGate, stop));
    return add_map("positions", prefix + "positions", layer, attention::Quantity::kPosition, stop);
  }

  static at::Tensor integral_if_possible(const at::Tensor& ids) {
    return at::equal(ids, ids.round()) ? ids.to(at::kLong) : ids;
  }

  // The first layer that has an encoding; 0 where none has.
  std::int64_t first_with_encoding() const {
    for (std::int64_t n = 0; n < data_.model.layers; ++n) {
      if (data_.model.encoding_of(n) != nullptr) {
        return n;
      }
    }
    return 0;
  }

  // A layer's encoding with every option and the scale of its scores.
  nlohmann::json encoding_json(std::int64_t index) const {
    const EncodingUse* const own = data_.model.encoding_of(index);
    const TraceLayer& layer = data_.layers[static_cast<std::size_t>(index)];
    nlohmann::json encoding = to_json(own == nullptr ? Settings() : own->options);
    encoding["name"] = own == nullptr ? data_.model.first_encoding().name : own->name;
    if (layer.encoding) {
      encoding["scale"] = layer.encoding->scale();
    }
    return encoding;
  }

  std::map<std::string, std::string> metadata() const {
    using nlohmann::json;
    json tokens = json::array();
    for (const TokenInfo& token : data_.tokens) {
      tokens.push_back(token.label);
    }
    const ModelInfo& model = data_.model;
    const json shape{{"layers", model.layers},         {"heads", model.heads},
                     {"kv_heads", model.kv_heads},     {"head_width", model.head_width},
                     {"width", model.width},           {"trained_length", model.trained_length},
                     {"vocabulary", model.vocabulary}, {"parameters", model.parameters}};
    const auto text = [](const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); };
    std::map<std::string, std::string> metadata{
        {"locus.format", "trace/1"},
        {"model", data_.model.name},
        {"family", model.family},
        {"causal", model.causal ? "true" : "false"},
        {"window", std::to_string(model.layer_info.empty() ? 0 : model.layer_info.front().window)},
        {"tokens", text(tokens)},
        {"shape", text(shape)},
    };
    if (json encoding = encoding_json(first_with_encoding());
        !encoding["name"].get_ref<const std::string&>().empty()) {  // a file may have named none
      metadata["encoding"] = text(encoding);
    }
    const auto of_layers = [&](auto LayerInfo::*member) {
      json list = json::array();
      for (const LayerInfo& layer : model.layer_info) {
        list.push_back(layer.*member);
      }
      return text(list);
    };
    if (has_text()) {
      metadata["text"] = data_.text;
    }
    if (!model.uniform()) {
      json encodings = json::array();
      for (std::int64_t n = 0; n < model.layers; ++n) {
        encodings.push_back(model.encoding_of(n) == nullptr ? json() : encoding_json(n));
      }
      metadata["layer_encodings"] = text(encodings);
      metadata["windows"] = of_layers(&LayerInfo::window);
    }
    if (std::any_of(model.layer_info.begin(), model.layer_info.end(),
                    [](const LayerInfo& layer) { return layer.chunk > 0 || layer.soft_cap > 0 || layer.sink; })) {
      metadata["chunks"] = of_layers(&LayerInfo::chunk);
      metadata["soft_caps"] = of_layers(&LayerInfo::soft_cap);
      metadata["sinks"] = of_layers(&LayerInfo::sink);
    }
    if (std::any_of(model.layer_info.begin(), model.layer_info.end(),
                    [](const LayerInfo& layer) { return layer.head_width > 0 || layer.kv_heads > 0; })) {
      metadata["head_widths"] = of_layers(&LayerInfo::head_width);
      metadata["key_heads"] = of_layers(&LayerInfo::kv_heads);
    }
    if (std::any_of(model.layer_info.begin(), model.layer_info.end(),
                    [](const LayerInfo& layer) { return layer.source >= 0; })) {
      metadata["key_sources"] = of_layers(&LayerInfo::source);
    }
    if (model.has_mixers() || !model.attends_everywhere()) {
      metadata["attends"] = of_layers(&LayerInfo::attends);
      metadata["mixers"] = of_layers(&LayerInfo::mixer);
      metadata["mixer_heads"] = of_layers(&LayerInfo::mixer_heads);
      metadata["mixer_reaches"] = of_layers(&LayerInfo::mixer_reach);
    }
    if (model.overrides.fast) {
      metadata["speed"] = "fast";
    }
    if (!data_.edits.empty()) {
      metadata["locus.edits"] = to_json(data_.edits);
    }
    if (!data_.images.empty()) {
      metadata["images"] = text(trace::picture_list(data_));
    }
    for (const TraceLayer& layer : data_.layers) {
      if (const auto& blocks = layer.scores->mask().blocks; blocks) {
        metadata["blocks"] = trace::blocks_word(*blocks);
      }
    }
    if (data_.grid.rows > 0) {
      json grid{{"rows", data_.grid.rows},
                {"columns", data_.grid.columns},
                {"cls", data_.grid.cls},
                {"registers", data_.grid.registers}};
      if (data_.grid.detections > 0) {
        grid["detections"] = data_.grid.detections;
      }
      metadata["image_grid"] = text(grid);
    }
    return metadata;
  }

  const RecordedTrace& trace_;
  const TraceData& data_;
  SideNames names_;
  bool all_ = false;
  std::set<std::string> keep_;
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

}  // namespace

Status write_trace(const RecordedTrace& trace, const std::filesystem::path& path, const std::set<std::string>& keep,
                   const Progress& progress, StopToken stop) {
  const at::NoGradGuard no_grad;
  const TraceData& data = trace.data();
  const bool sides = data.encoder || data.cross;
  std::vector<Writer> writers{Writer(trace, keep, sides ? SideNames(Side::kDecoder) : SideNames())};
  if (data.encoder) {
    writers.emplace_back(*data.encoder, keep, SideNames(Side::kEncoder));
  }
  if (data.cross) {
    writers.emplace_back(*data.cross, keep, SideNames(Side::kCross));
  }
  if (data.mixer) {
    writers.emplace_back(*data.mixer, keep, SideNames(Side::kMixer));
  }
  if (data.vision) {
    writers.emplace_back(*data.vision, keep, SideNames(Side::kVision));
  }
  std::vector<formats::OutputTensor> tensors;
  std::map<std::string, std::string> metadata;
  for (Writer& writer : writers) {
    LOCUS_CHECK(writer.check());
    LOCUS_CHECK(writer.collect(progress, stop));
    writer.hand_over(tensors, metadata);
  }
  return formats::write_safetensors(path, tensors, metadata);
}

}  // namespace locus::models
