// open_trace(): a trace file of this or of another program. A layer's scores are computed (q, k and an encoding this
// build knows), stored (attention), or both.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/checked.h"
#include "core/position/list.h"
#include "models/checkpoint/shown.h"
#include "models/checkpoint/tensor_source.h"
#include "models/edits/run_edits.h"
#include "models/guard.h"
#include "models/recorded_trace.h"
#include "models/settings_json.h"
#include "models/text/json.h"
#include "models/trace/sides.h"
#include "models/transformer/weights.h"

namespace locus::models {

namespace {

using checkpoint::TensorInfo;
using nlohmann::json;

constexpr std::int64_t kMostLayers = 4096;
// Sizes that metadata names beyond these are a corrupt file, not a model.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;

bool has_elements(const TensorInfo* info, std::size_t rank) {
  return info != nullptr && info->shape.size() == rank && info->elements() > 0;
}

class Reader {
 public:
  // Of a side of an encoder–decoder, or of a trace without sides. `keys`: the encoder's tokens, for cross-attention.
  Reader(checkpoint::Source source, std::string file, SideNames names = {}, std::vector<TokenInfo> keys = {})
      : source_(std::move(source)), file_(std::move(file)), names_(names) {
    data_.key_tokens = std::move(keys);
  }

  // The tokens alone.
  Result<std::vector<TokenInfo>> tokens() {
    LOCUS_CHECK(read_tokens());
    return std::move(data_.tokens);
  }

  Result<TraceData> read() {
    if (text("locus.format") != "trace/1") {
      return bad_input("metadata locus.format: expected trace/1, found " + text("locus.format"), file_);
    }
    LOCUS_CHECK(read_tokens());
    LOCUS_CHECK(read_shape());
    LOCUS_CHECK(read_encodings());
    LOCUS_CHECK(read_edits());
    for (std::int64_t n = 0; n < data_.model.layers; ++n) {
      LOCUS_TRY(TraceLayer layer, read_layer(n));
      data_.layers.push_back(std::move(layer));
    }
    if (names_.crosses()) {
      set_cross_encoding(data_.model);
    }
    return std::move(data_);
  }

 private:
  std::string text(const std::string& key) const {
    const auto found = source_->metadata().find(names_.metadata(key));
    return found == source_->metadata().end() ? std::string() : found->second;
  }
  std::string metadata(const std::string& key) const { return file_ + ": metadata " + names_.metadata(key); }
  const TensorInfo* find(const std::string& name) const { return source_->find(names_.tensor(name)); }
  // A metadata entry as JSON; null when absent.
  Result<json> value(const std::string& key) const {
    const std::string value = text(key);
    return value.empty() ? Result<json>(json()) : parse_json(value, metadata(key));
  }
  // A member of a metadata object, within 0 … most.
  static Result<std::int64_t> size(const JsonObject& object, const std::string& name, std::int64_t fallback,
                                   std::int64_t most) {
    LOCUS_TRY(const std::int64_t value, object.integer(name, fallback));
    if (object.find(name) != nullptr && (value < 0 || value > most)) {
      return object.wrong(name, "0 to " + std::to_string(most));
    }
    return value;
  }
  std::string where(const std::string& name) const { return file_ + ": tensor " + names_.tensor(name); }

  // The tensor, or undefined. Errors: kBadInput for another shape; −1 stands for any size.
  Result<at::Tensor> tensor(const std::string& name, const std::vector<std::int64_t>& shape) const {
    const TensorInfo* info = find(name);
    if (info == nullptr) {
      return at::Tensor();
    }
    const bool fits = info->shape.size() == shape.size() &&
                      std::equal(shape.begin(), shape.end(), info->shape.begin(), [](auto expected, auto found) {
                        return expected == -1 ? found > 0 : expected == found;
                      });
    if (!fits) {
      return bad_input(
          "expected shape " + transformer::shape_text(shape) + ", found " + transformer::shape_text(info->shape),
          where(name));
    }
    return transformer::to_tensor_as_stored(*info, source_);
  }
  Result<at::Tensor> float_tensor(const std::string& name, const std::vector<std::int64_t>& shape) const {
    LOCUS_TRY(const at::Tensor value, tensor(name, shape));
    return value.defined() ? value.to(at::kFloat) : value;
  }

  // How the tokens are shown; empty when the file does not say.
  Result<std::vector<std::string>> read_labels() const {
    LOCUS_TRY(const json list, value("tokens"));
    std::vector<std::string> labels;
    if (!list.is_null() && !list.is_array()) {
      return bad_input(std::string("expected a list of texts, found ").append(list.type_name()), metadata("tokens"));
    }
    for (const json& label : list) {
      if (!label.is_string()) {
        return bad_input("[" + std::to_string(labels.size()) + "]: expected a text, found " + label.type_name(),
                         metadata("tokens"));
      }
      labels.push_back(label.get<std::string>());
    }
    return labels;
  }

  Status read_tokens() {
    LOCUS_TRY(const std::vector<std::string> labels, read_labels());
    LOCUS_TRY(const at::Tensor ids, tensor("input_ids", {-1}));
    const TensorInfo* position_info = find("position_ids");
    const TensorInfo* query_info = find("layers.0.q");
    const bool has_positions = has_elements(position_info, 1) || has_elements(position_info, 2);
    const auto named = static_cast<std::int64_t>(labels.size());
    length_ = ids.defined()                 ? ids.size(0)
              : named > 0                   ? named
              : has_positions               ? position_info->shape[0]
              : has_elements(query_info, 3) ? query_info->shape[1]
                                            : 0;
    if (length_ < 1 || (named > 0 && named != length_)) {
      return bad_input("expected input_ids and as many tokens in the metadata, found " + std::to_string(length_) +
                           " ids and " + std::to_string(named) + " tokens",
                       file_);
    }
    LOCUS_CHECK(read_grid());
    LOCUS_CHECK(read_positions(position_info));
    if (ids.defined()) {
      data_.input_ids = ids.to(at::kLong);
    }
    const at::Tensor flat =
        (data_.position_ids.dim() == 1 ? data_.position_ids : at::arange(length_, at::kDouble)).contiguous();
    const at::Tensor own_ids = (ids.defined() ? data_.input_ids : at::arange(length_, at::kLong)).contiguous();
    data_.tokens.reserve(static_cast<std::size_t>(length_));
    for (std::int64_t n = 0; n < length_; ++n) {
      const std::int64_t id = own_ids.data_ptr<std::int64_t>()[n];
      data_.tokens.push_back(
          {id, named > 0 ? labels[static_cast<std::size_t>(n)] : std::to_string(id), {}, flat.data_ptr<double>()[n]});
    }
    return {};
  }

  Status read_grid() {
    LOCUS_TRY(const json stored, value("image_grid"));
    if (stored.is_null()) {
      return {};
    }
    LOCUS_TRY(const JsonObject object, JsonObject::of(stored, metadata("image_grid")));
    ImageGrid& grid = data_.grid;
    for (const auto& [name, member] : {std::pair{"rows", &grid.rows}, std::pair{"columns", &grid.columns},
                                       std::pair{"cls", &grid.cls}, std::pair{"registers", &grid.registers}}) {
      LOCUS_TRY(*member, size(object, name, 0, length_));
    }
    const auto patches = checked_product({grid.rows, grid.columns});
    const auto tokens = patches ? checked_sum({*patches, grid.cls, grid.registers}) : std::nullopt;
    if (tokens != length_ || *patches == 0) {
      return bad_input("expected rows × columns + cls + registers to be the " + std::to_string(length_) +
                           " tokens, found " + std::to_string(grid.rows) + " × " + std::to_string(grid.columns) +
                           " + " + std::to_string(grid.cls) + " + " + std::to_string(grid.registers),
                       metadata("image_grid"));
    }
    return {};
  }

  Status read_positions(const TensorInfo* info) {
    const ImageGrid& grid = data_.grid;
    positions_ = grid.rows > 0 ? position::Positions::grid(grid.rows, grid.columns, grid.cls + grid.registers)
                               : position::Positions::sequence(length_);
    if (info != nullptr) {
      LOCUS_TRY(const at::Tensor ids,
                info->shape.size() == 2 ? tensor("position_ids", {length_, 2}) : tensor("position_ids", {length_}));
      positions_.ids = ids.to(at::kDouble);
    }
    data_.position_ids = positions_.ids;
    return {};
  }

  // Layers, heads and widths: from the tensors, and from the metadata what they do not tell.
  Status read_shape() {
    ModelInfo& model = data_.model;
    const std::string before = names_.tensor("layers.");
    for (const TensorInfo& info : source_->tensors()) {
      std::int64_t layer = 0;
      const char* begin = info.name.data() + before.size();
      if (info.name.rfind(before, 0) == 0 &&
          std::from_chars(begin, info.name.data() + info.name.size(), layer).ec == std::errc() && layer >= 0 &&
          layer < kMostLayers) {
        model.layers = std::max(model.layers, layer + 1);
      }
    }
    const TensorInfo* q = find("layers.0.q");
    const TensorInfo* k = find("layers.0.k");
    const TensorInfo* attention = find("layers.0.attention");
    const TensorInfo* scores = q != nullptr ? q : attention;
    if (!has_elements(scores, 3)) {
      return bad_input("expected " + names_.tensor("layers.0.q") + " and " + names_.tensor("layers.0.k") +
                           " [H, T, D] or " + names_.tensor("layers.0.attention") + " [H, T, T], found none",
                       file_);
    }
    LOCUS_TRY(json stored, value("shape"));
    stored = stored.is_null() ? json::object() : std::move(stored);
    LOCUS_TRY(const JsonObject shape, JsonObject::of(stored, metadata("shape")));
    model.heads = scores->shape[0];
    model.kv_heads = has_elements(k, 3) ? k->shape[0] : model.heads;
    LOCUS_TRY(model.head_width, size(shape, "head_width", q != nullptr ? q->shape[2] : 1, kLargestSize));
    LOCUS_TRY(model.width,
              size(shape, "width", checked_product({model.heads, model.head_width}).value_or(0), kLargestSize));
    LOCUS_TRY(model.trained_length, size(shape, "trained_length", 0, kLargestCount));
    LOCUS_TRY(model.vocabulary, size(shape, "vocabulary", 0, kLargestCount));
    LOCUS_TRY(model.parameters, size(shape, "parameters", 0, kLargestCount));
    model.name = text("model");
    model.family = text("family");
    model.image = data_.grid.rows > 0;
    model.files = {file_};
    LOCUS_CHECK(read_layer_info());
    return read_logits();
  }

  Status read_mask(LayerInfo& all) {
    const std::string causal = text("causal");
    if (!causal.empty() && causal != "true" && causal != "false") {
      return bad_input("expected true or false, found " + checkpoint::shown(causal, 40), metadata("causal"));
    }
    data_.model.causal = causal != "false" && !names_.crosses();
    const std::string window = text("window");
    std::int64_t& width = all.window;
    const auto [end, code] = std::from_chars(window.data(), window.data() + window.size(), width);
    if (!window.empty() && (code != std::errc() || end != window.data() + window.size() || width < 0)) {
      return bad_input("expected a whole number of tokens (0: none), found " + checkpoint::shown(window, 40),
                       metadata("window"));
    }
    return {};
  }

  // Windows, chunks, caps and sinks: lists of the metadata with an entry a layer; without, one window for all.
  Status read_layer_info() {
    LayerInfo all;
    LOCUS_CHECK(read_mask(all));
    data_.model.layer_info.assign(static_cast<std::size_t>(data_.model.layers), all);
    LOCUS_CHECK(read_list("windows", "whole numbers of at least 0", [](LayerInfo& layer, const json& value) {
      layer.window = value.is_number_integer() ? value.get<std::int64_t>() : -1;
      return layer.window >= 0;
    }));
    LOCUS_CHECK(read_list("chunks", "whole numbers of at least 0", [](LayerInfo& layer, const json& value) {
      layer.chunk = value.is_number_integer() ? value.get<std::int64_t>() : -1;
      return layer.chunk >= 0;
    }));
    LOCUS_CHECK(read_list("soft_caps", "numbers of at least 0", [](LayerInfo& layer, const json& value) {
      layer.soft_cap = value.is_number() ? value.get<double>() : -1;
      return layer.soft_cap >= 0;
    }));
    return read_list("sinks", "true or false", [](LayerInfo& layer, const json& value) {
      layer.sink = value.is_boolean() && value.get<bool>();
      return value.is_boolean();
    });
  }

  // A metadata list with an entry a layer; nothing where there is none.
  template <class Take>
  Status read_list(const char* name, const char* expected, const Take& take) {
    LOCUS_TRY(const json list, value(name));
    if (list.is_null()) {
      return {};
    }
    bool good = list.is_array() && list.size() == data_.model.layer_info.size();
    for (std::size_t n = 0; good && n < list.size(); ++n) {
      good = take(data_.model.layer_info[n], list[n]);
    }
    return good ? Status()
                : Status(bad_input(
                      "expected a list of " + std::to_string(data_.model.layers) + " " + expected + ", one a layer",
                      metadata(name)));
  }

  Status read_logits() {
    LOCUS_TRY(data_.hidden, float_tensor("hidden", {length_, -1}));
    const TensorInfo* info = find("logits");
    if (info == nullptr) {
      return {};
    }
    LOCUS_TRY(data_.logits, info->shape.size() == 1 ? float_tensor("logits", {-1}) : float_tensor("logits", {-1, -1}));
    data_.logits = data_.logits.dim() == 1 ? data_.logits.unsqueeze(0) : data_.logits;
    data_.model.vocabulary = data_.logits.size(1);
    return {};
  }

  // The metadata's encodings: `layer_encodings` with an entry a layer, else `encoding` for all. Layers with the same
  // entry share one.
  Status read_encodings() {
    LOCUS_TRY(json one, value("encoding"));
    one = names_.crosses() ? json{{"name", "none"}} : std::move(one);
    LOCUS_TRY(const json list, value("layer_encodings"));
    if (!list.is_null() && (!list.is_array() || list.size() != data_.model.layer_info.size())) {
      return bad_input("expected a list of " + std::to_string(data_.model.layers) + " entries, one a layer",
                       metadata("layer_encodings"));
    }
    if (one.is_null() && list.is_null() && find("layers.0.q") != nullptr && find("layers.0.k") != nullptr &&
        find("layers.0.attention") == nullptr) {
      data_.model.warnings.push_back("the trace names no encoding: its q and k are taken as the score sees them");
      one = json{{"name", "none"}};
    }
    std::vector<json> known;
    std::vector<std::vector<std::int64_t>> layers;
    std::vector<std::int64_t> without;
    for (std::int64_t n = 0; n < data_.model.layers; ++n) {
      LayerInfo& info = data_.model.layer_info[static_cast<std::size_t>(n)];
      const json& own = list.is_null() ? one : list[static_cast<std::size_t>(n)];
      if (own.is_null()) {
        info.encoding = -1;
        without.push_back(n);
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
    const std::string from = metadata(list.is_null() ? "encoding" : "layer_encodings");
    for (std::size_t n = 0; n < known.size(); ++n) {
      LOCUS_CHECK(read_encoding(known[n], layers[n], from));
    }
    if (!list.is_null() && !without.empty()) {
      LOCUS_CHECK(read_encoding(json{{"name", "none"}}, without, from));
      data_.model.encodings.pop_back();
    }
    if (!data_.model.encodings.empty()) {
      data_.model.encoding = data_.model.encodings.front().name;
      data_.model.encoding_options = data_.model.encodings.front().options;
    }
    return {};
  }

  // An encoding of some of the layers.
  struct Used {
    std::shared_ptr<position::PositionEncoding> encoding;  // null: not known here, or incomplete
    std::optional<position::State> start;
    bool complete = true;  // every tensor of the encoding is here
  };

  // An encoding this build does not know, or whose tensors are not here, leaves the stored maps alone.
  Status read_encoding(json object, const std::vector<std::int64_t>& layers, const std::string& from) {
    ModelInfo& model = data_.model;
    const std::size_t index = used_.size();
    used_.emplace_back();
    places_.resize(static_cast<std::size_t>(model.layers));
    for (std::size_t n = 0; n < layers.size(); ++n) {
      places_[static_cast<std::size_t>(layers[n])] = {static_cast<std::int64_t>(index), static_cast<std::int64_t>(n)};
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
    if (model.kv_heads < 1 || model.heads % model.kv_heads != 0) {
      return bad_input("expected key heads that divide " + std::to_string(model.heads) + " heads, found " +
                           std::to_string(model.kv_heads),
                       file_);
    }
    const position::ModelShape shape{static_cast<std::int64_t>(layers.size()),
                                     model.heads,
                                     model.kv_heads,
                                     model.head_width,
                                     model.width,
                                     model.trained_length,
                                     model.causal};
    auto made = position::make_encoding(use.name, use.options, shape);
    if (!made.ok()) {
      model.warnings.push_back(made.error().describe());
      return {};
    }
    Used& used = used_.back();
    LOCUS_CHECK(read_parameters(**made, index, layers, used));
    const position::Description& description = (*made)->description();
    if (!used.complete && description.scores) {
      model.warnings.push_back("the trace lacks tensors of its encoding: only stored maps can be shown");
      return {};
    }
    used.encoding = std::move(*made);
    EncodingUse& known = model.encodings.back();
    known.has_gates = description.has_gates;
    known.content = description.content;
    if (used.encoding->accepts(positions_).ok()) {
      used.start = used.encoding->begin(positions_, 1);
      known.has_dot_product = used.complete && description.has_dot_product;
    }
    model.has_gates = model.has_gates || known.has_gates;
    model.has_dot_product = model.has_dot_product || known.has_dot_product;
    model.content = model.content.empty() ? known.content : model.content;
    return {};
  }

  Status read_parameters(position::PositionEncoding& encoding, std::size_t index,
                         const std::vector<std::int64_t>& layers, Used& used) {
    for (const position::Parameter& parameter : encoding.parameters()) {
      const std::string name = trace_name(parameter.name, index, layers);
      LOCUS_TRY(const at::Tensor value, float_tensor(name, parameter.value->sizes().vec()));
      used.complete = used.complete && value.defined();
      if (value.defined()) {
        *parameter.value = value;
        data_.encoding_parameters.emplace_back(name, value);
      }
    }
    return {};
  }

  Result<TraceLayer> read_layer(std::int64_t index) const {
    const std::string prefix = "layers." + std::to_string(index) + ".";
    const std::vector<std::int64_t> map_shape{data_.model.heads, length_, keys()};
    TraceLayer layer;
    LOCUS_TRY(layer.hidden, float_tensor(prefix + "hidden", {length_, -1}));
    std::map<attention::Quantity, at::Tensor> maps;
    for (const auto& [quantity, name] :
         {std::pair{attention::Quantity::kWeight, "attention"}, std::pair{attention::Quantity::kGate, "gates"},
          std::pair{attention::Quantity::kPosition, "positions"}}) {
      LOCUS_TRY(const at::Tensor map, tensor(prefix + name, map_shape));
      if (map.defined()) {
        maps.emplace(quantity, map);
      }
    }
    const auto n = static_cast<std::size_t>(index);
    const Used* const used =
        n < places_.size() && places_[n].slot >= 0 ? &used_[static_cast<std::size_t>(places_[n].slot)] : nullptr;
    if (used != nullptr && used->encoding) {
      layer.encoding = used->encoding;
      layer.encoding_layer = places_[n].number;
    }
    const LayerInfo& info = data_.model.layer_info[n];
    LOCUS_TRY(const double soft_cap, edit_layer(index, info.soft_cap, layer));
    const attention::Mask mask{data_.model.causal, info.window, info.chunk};
    LOCUS_TRY(layer.sinks, float_tensor(prefix + "sinks", {data_.model.heads}));
    LOCUS_CHECK(read_experts(layer, prefix));
    LOCUS_TRY(layer.computed, computed(layer, mask, soft_cap, prefix));
    if (maps.empty() && !layer.computed) {
      return bad_input("expected attention, or q and k with an encoding that this build knows, found neither",
                       file_ + ": layer " + std::to_string(index));
    }
    if (used != nullptr) {
      LOCUS_TRY(layer.state, state(*used, prefix));
    }
    std::shared_ptr<const attention::ScoreSource> source = layer.computed;
    if (!maps.empty()) {
      source = std::make_shared<const attention::StoredScores>(std::move(maps), layer.computed);
    }
    layer.scores = std::make_shared<const attention::ScoreField>(source, mask);
    return layer;
  }

  // Gives an edited layer the encoding that shows its scores as they were; what is left to cap them.
  Result<double> edit_layer(std::int64_t index, double soft_cap, TraceLayer& layer) const {
    if (data_.edits.empty() || !layer.encoding) {
      return soft_cap;
    }
    Result<transformer::LayerEdit> own =
        edited_layer(data_.edits, data_.model,
                     {index, layer.encoding, layer.encoding_layer, soft_cap, positions_, data_.grid.columns});
    if (!own.ok()) {
      return own.error().within(metadata("locus.edits"));
    }
    if (!own->encoding) {
      return soft_cap;
    }
    layer.encoding = own->encoding;
    return 0.0;
  }

  Status read_edits() {
    if (const std::string stored = text("locus.edits"); !stored.empty()) {
      LOCUS_TRY(data_.edits, parse_edits(stored, metadata("locus.edits")));
      const Status fits = check_edits(data_.edits, data_.model, length_);
      return fits.ok() ? fits : Status(fits.error().within(metadata("locus.edits")));
    }
    return {};
  }

  // Which experts each token went to, and what they weigh: both or neither.
  Status read_experts(TraceLayer& layer, const std::string& prefix) const {
    LOCUS_TRY(layer.experts, tensor(prefix + "experts", {length_, -1}));
    const std::int64_t chosen = layer.experts.defined() ? layer.experts.size(1) : -1;
    LOCUS_TRY(layer.expert_weights, float_tensor(prefix + "expert_weights", {length_, chosen}));
    if (!layer.experts.defined() && !layer.expert_weights.defined()) {
      return {};
    }
    const bool numbers = layer.experts.defined() && at::isIntegralType(layer.experts.scalar_type(), false);
    if (!numbers || !layer.expert_weights.defined() || layer.experts.min().item<std::int64_t>() < 0) {
      return bad_input("expected experts [T, k] of whole numbers from 0, and expert_weights [T, k] beside them",
                       where(prefix + "experts"));
    }
    layer.experts = layer.experts.to(at::kLong);
    return {};
  }

  Result<std::optional<position::State>> state(const Used& used, const std::string& prefix) const {
    std::optional<position::State> state = used.complete ? used.start : std::nullopt;
    if (state && used.encoding->description().updates) {
      const TensorInfo* info = find(prefix + "position_state");
      if (info == nullptr) {
        return std::optional<position::State>();
      }
      std::vector<std::int64_t> shape = state->table.sizes().vec();
      shape.erase(shape.begin());
      LOCUS_TRY(const at::Tensor table, float_tensor(prefix + "position_state", shape));
      state->table = table.unsqueeze(0);
    }
    return state;
  }

  Result<std::shared_ptr<const attention::ComputedScores>> computed(const TraceLayer& layer,
                                                                    const attention::Mask& mask, double soft_cap,
                                                                    const std::string& prefix) const {
    using Computed = std::shared_ptr<const attention::ComputedScores>;
    const ModelInfo& model = data_.model;
    position::Prepared prepared;
    LOCUS_TRY(prepared.query, batch_of_one(prefix + "q", model.heads));
    LOCUS_TRY(prepared.key, keys_of_one(prefix + "k"));
    LOCUS_TRY(prepared.content_query, batch_of_one(prefix + "q_content", model.heads));
    LOCUS_TRY(prepared.content_key, keys_of_one(prefix + "k_content"));
    LOCUS_TRY(prepared.gate_query, batch_of_one(prefix + "q_gate", model.heads));
    LOCUS_TRY(prepared.gate_key, keys_of_one(prefix + "k_gate"));
    prepared.positions = positions_;
    if (!layer.encoding || !prepared.query.defined() || !prepared.key.defined()) {
      return Computed();
    }
    if (prepared.query.size(3) != prepared.key.size(3)) {
      return bad_input("expected q and k of one width, found " + std::to_string(prepared.query.size(3)) + " and " +
                           std::to_string(prepared.key.size(3)),
                       where(prefix + "q"));
    }
    LOCUS_TRY(at::Tensor sums, float_tensor(prefix + "log_sum_exp", {model.heads, length_}));
    at::Tensor chosen;
    if (!sums.defined() && !layer.sinks.defined()) {
      // A long head opens at once: its rows are summed as they are looked at.
      if (Computed unsummed =
              attention::ComputedScores::unsummed(layer.encoding, layer.encoding_layer, prepared, mask, soft_cap)) {
        return unsummed;
      }
    }
    if (sums.defined() && !layer.encoding->hard_attention()) {
      sums = sums.unsqueeze(0);
    } else {
      const at::Tensor nothing = at::empty({1, model.kv_heads, keys(), 0});
      const attention::Attention attention{*layer.encoding, prepared,   layer.encoding_layer, nothing, {}, mask,
                                           soft_cap,        layer.sinks};
      LOCUS_TRY(const attention::Attended attended, attention::attend_streaming(attention));
      sums = attended.log_sum_exp;
      chosen = attended.chosen;
    }
    return Computed(std::make_shared<attention::ComputedScores>(layer.encoding, layer.encoding_layer, prepared, sums,
                                                                chosen, soft_cap));
  }

  // Key heads that divide the heads; some encodings give each head keys of its own, others do not.
  Result<at::Tensor> keys_of_one(const std::string& name) const {
    LOCUS_TRY(const at::Tensor found, float_tensor(name, {-1, keys(), -1}));
    if (found.defined() && data_.model.heads % found.size(0) != 0) {
      return bad_input("expected key heads that divide " + std::to_string(data_.model.heads) + " heads, found " +
                           std::to_string(found.size(0)),
                       where(name));
    }
    return found.defined() ? found.unsqueeze(0) : found;
  }

  Result<at::Tensor> batch_of_one(const std::string& name, std::int64_t heads) const {
    LOCUS_TRY(const at::Tensor value, float_tensor(name, {heads, length_, -1}));
    return value.defined() ? value.unsqueeze(0) : value;
  }

  std::int64_t keys() const {
    return data_.key_tokens.empty() ? length_ : static_cast<std::int64_t>(data_.key_tokens.size());
  }

  checkpoint::Source source_;
  std::string file_;
  SideNames names_;
  TraceData data_;
  std::int64_t length_ = 0;
  position::Positions positions_;
  std::vector<Used> used_;
  // Where a layer finds its encoding; none: a file that does not say.
  struct Place {
    std::int64_t slot = -1;
    std::int64_t number = 0;
  };
  std::vector<Place> places_;
};

bool has_tensor(const checkpoint::Source& source, std::string_view begin, std::string_view part = {}) {
  return std::any_of(source->tensors().begin(), source->tensors().end(), [&](const TensorInfo& info) {
    return info.name.starts_with(begin) && info.name.find(part) != std::string::npos;
  });
}

// A decoder's trace, with the other sides that the file holds.
Result<TraceData> read_sides(const checkpoint::Source& source, const std::string& file) {
  LOCUS_TRY(TraceData data, Reader(source, file, SideNames(Side::kDecoder)).read());
  if (has_tensor(source, "encoder.layers.")) {
    LOCUS_TRY(TraceData encoder, Reader(source, file, SideNames(Side::kEncoder)).read());
    data.model.encoder_layers = encoder.model.layers;
    data.encoder = std::make_shared<const RecordedTrace>(std::move(encoder));
  }
  if (has_tensor(source, "decoder.layers.", ".cross_")) {
    LOCUS_TRY(std::vector<TokenInfo> keys, Reader(source, file, SideNames(Side::kEncoder)).tokens());
    LOCUS_TRY(TraceData cross, Reader(source, file, SideNames(Side::kCross), std::move(keys)).read());
    data.cross = std::make_shared<const RecordedTrace>(std::move(cross));
  }
  return data;
}

}  // namespace

Result<std::shared_ptr<const Trace>> open_trace(const std::filesystem::path& path) {
  return guarded([&]() -> Result<std::shared_ptr<const Trace>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const checkpoint::Source source, checkpoint::open_tensors(path));
    const std::string file = path.string();
    LOCUS_TRY(TraceData data,
              has_tensor(source, "decoder.layers.") ? read_sides(source, file) : Reader(source, file).read());
    return std::shared_ptr<const Trace>(std::make_shared<RecordedTrace>(std::move(data)));
  });
}

}  // namespace locus::models
