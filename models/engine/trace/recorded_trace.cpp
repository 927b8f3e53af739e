#include "models/engine/trace/recorded_trace.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string_view>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/mixers/half_life.h"

namespace locus::models {

namespace {

attention::Region region_of(const MapRequest& request) {
  return {request.quantity, request.head, request.rows, request.columns, request.mark_masked};
}

// Bytes of the tensors, each storage counted once.
class MemoryCount {
 public:
  void add(const at::Tensor& tensor) {
    if (tensor.defined() && seen_.insert(tensor.storage().data()).second) {
      bytes_ += tensor.storage().nbytes();
    }
  }
  std::int64_t megabytes() const { return static_cast<std::int64_t>((bytes_ + 500'000) / 1'000'000); }

 private:
  std::set<const void*> seen_;
  std::size_t bytes_ = 0;
};

Field field_of(const at::Tensor& values, Range rows, Range columns) {
  const at::Tensor host = values.to(at::kCPU, at::kFloat).contiguous();
  Field field = Field::zeros(rows.size(), columns.size());
  std::copy_n(host.data_ptr<float>(), host.numel(), field.values.begin());
  field.row_axis = {"position i", "token", static_cast<double>(rows.begin), 1};
  field.column_axis = {"position j", "token", static_cast<double>(columns.begin), 1};
  return field;
}

}  // namespace

const RecordedTrace* recorded_of(const Trace& trace) {
  return dynamic_cast<const RecordedTrace*>(&trace);
}

RecordedTrace::RecordedTrace(TraceData data) : data_(std::move(data)) {
  MemoryCount count;
  count.add(data_.logits);
  count.add(data_.before_head);
  count.add(data_.hidden);
  count.add(data_.pixels);
  for (const TraceLayer& layer : data_.layers) {
    count.add(layer.hidden);
    count.add(layer.value);
    count.add(layer.experts);
    count.add(layer.expert_weights);
    for (const transformer::MixerMark& mark : layer.marks) {
      count.add(mark.state.convolution);
      count.add(mark.state.recurrence);
    }
    for (const at::Tensor& rows : layer.map ? layer.map->inputs() : std::vector<at::Tensor>()) {
      count.add(rows);
    }
    if (layer.state) {
      count.add(layer.state->table);
    }
    if (layer.computed) {
      const position::Prepared& prepared = layer.computed->prepared();
      for (const at::Tensor* tensor : {&prepared.query, &prepared.key, &prepared.content_query, &prepared.content_key,
                                       &prepared.gate_query, &prepared.gate_key}) {
        count.add(*tensor);
      }
      if (layer.computed->summed()) {
        count.add(layer.computed->log_sum_exp());
      }
    }
  }
  memory_mb_ = count.megabytes();
  for (const auto& side : {data_.encoder, data_.cross}) {
    memory_mb_ += side ? side->memory_mb() : 0;
  }
}

std::vector<std::array<double, 3>> RecordedTrace::position_vectors() const {
  std::vector<std::array<double, 3>> vectors;
  if (data_.position_ids.dim() == 2 && data_.position_ids.size(1) == 3) {
    const at::Tensor ids = data_.position_ids.to(at::kCPU, at::kDouble).contiguous();
    const double* const id = ids.data_ptr<double>();
    for (std::int64_t n = 0; n < ids.size(0); ++n) {
      vectors.push_back({id[3 * n], id[3 * n + 1], id[3 * n + 2]});
    }
  }
  return vectors;
}

std::shared_ptr<const Trace> RecordedTrace::side(Side side) const {
  return side == Side::kEncoder  ? data_.encoder
         : side == Side::kCross  ? data_.cross
         : side == Side::kVision ? data_.vision
         : side == Side::kMixer  ? data_.mixer
                                 : nullptr;
}

Result<const TraceLayer*> RecordedTrace::layer(std::int64_t index) const {
  if (index < 0 || index >= static_cast<std::int64_t>(data_.layers.size())) {
    return bad_input("layer: expected 0 to " + std::to_string(data_.layers.size() - 1) + ", found " +
                     std::to_string(index));
  }
  return &data_.layers[static_cast<std::size_t>(index)];
}

std::vector<float> RecordedTrace::token_scores() const {
  if (!data_.logits.defined() || data_.model.image || data_.logits.size(1) != 1) {
    return {};
  }
  const at::Tensor scores = data_.logits.to(at::kCPU, at::kFloat).flatten().contiguous();
  return {scores.data_ptr<float>(), scores.data_ptr<float>() + scores.numel()};
}

std::vector<Prediction> RecordedTrace::top(std::int64_t count) const {
  if (!data_.logits.defined() || data_.logits.numel() == 0 || count < 1 || !token_scores().empty()) {
    return {};
  }
  const at::NoGradGuard no_grad;
  const at::Tensor last = data_.logits.select(0, data_.logits.size(0) - 1);
  const at::Tensor probabilities = at::softmax(last.to(at::kCPU, at::kFloat), -1);
  const auto [values, ids] = probabilities.topk(std::min(count, probabilities.size(0)));
  std::vector<Prediction> predictions;
  for (std::int64_t n = 0; n < ids.size(0); ++n) {
    const auto id = ids[n].item<std::int64_t>();
    predictions.push_back({id, data_.label ? data_.label(id) : std::to_string(id), values[n].item<float>()});
  }
  return predictions;
}

Result<Field> RecordedTrace::map(const MapRequest& request, StopToken stop) const {
  return guarded([&]() -> Result<Field> {
    LOCUS_TRY(const TraceLayer* found, layer(request.layer));
    return found->scores->map(region_of(request), stop);
  });
}

Result<Field> RecordedTrace::overview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                      Reduction reduction, StopToken stop) const {
  return overview_band(request, height, width, reduction, {}, std::move(stop));
}

Result<Field> RecordedTrace::preview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                     StopToken stop) const {
  return guarded([&]() -> Result<Field> {
    LOCUS_TRY(const TraceLayer* found, layer(request.layer));
    return found->scores->preview(region_of(request), height, width, stop);
  });
}

Result<Field> RecordedTrace::overview_band(const MapRequest& request, std::int64_t height, std::int64_t width,
                                           Reduction reduction, Range band, StopToken stop) const {
  return guarded([&]() -> Result<Field> {
    LOCUS_TRY(const TraceLayer* found, layer(request.layer));
    return found->scores->overview(region_of(request), height, width, reduction, stop, band);
  });
}

Result<Field> RecordedTrace::dot_product(std::int64_t index, std::int64_t head, Range rows, Range columns,
                                         const Similarity& similarity) const {
  return guarded([&]() -> Result<Field> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceLayer* found, layer(index));
    const at::Tensor vectors =
        found->encoding && found->state ? found->encoding->vectors(*found->state, found->encoding_layer) : at::Tensor();
    if (!vectors.defined()) {
      const EncodingUse* const own = data_.model.encoding_of(index);
      return unsupported(own == nullptr ? "layer " + std::to_string(index) + " has no position encoding"
                                        : "encoding " + own->name + " has no dot product of positions");
    }
    return dot_product_field(vectors, head, data_.model.heads, rows, columns, similarity);
  });
}

Result<Field> RecordedTrace::sink(std::int64_t index, std::int64_t head, Range rows, StopToken stop) const {
  return guarded([&]() -> Result<Field> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceLayer* found, layer(index));
    const auto n = static_cast<std::size_t>(index);
    if (n >= data_.model.layer_info.size() || !data_.model.layer_info[n].sink) {
      return unsupported("layer " + std::to_string(index) + " has no sink");
    }
    const Range all{0, found->scores->source().length()};
    rows = rows == Range{} ? all : rows;
    const std::int64_t heads = found->scores->source().heads();
    if (rows != rows.clamped(all) || rows.empty() || head < kMeanHead || head >= heads) {
      return bad_input("sink: expected a head below " + std::to_string(heads) + " and rows within 0 … " +
                       std::to_string(all.end));
    }
    Field field = Field::zeros(rows.size(), 1);
    field.quantity = "attention weight of the sink";
    field.row_axis = {"query", "token", static_cast<double>(rows.begin), 1};
    field.column_axis = {"key", "sink", -1, 1};
    if (found->computed && found->sinks.defined()) {
      const at::Tensor sums = found->computed->log_sum_exp().select(0, 0).slice(1, rows.begin, rows.end);
      const at::Tensor shares = (found->sinks.to(sums.options()).unsqueeze(1) - sums).exp();  // (H, R)
      const at::Tensor own =
          (head == kMeanHead ? shares.mean(0) : shares.select(0, head)).to(at::kCPU, at::kFloat).contiguous();
      std::copy_n(own.data_ptr<float>(), own.numel(), field.values.begin());
      return field;
    }
    // A stored map tells the sink by what its rows lack of 1.
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const Range one{rows.begin + row, rows.begin + row + 1};
      LOCUS_TRY(const Field weights, found->scores->map({attention::Quantity::kWeight, head, one, {}}, stop));
      double sum = 0;
      for (const float weight : weights.values) {
        sum += weight;
      }
      field.values[static_cast<std::size_t>(row)] = static_cast<float>(std::max(0.0, 1 - sum));
    }
    return field;
  });
}

namespace {

// (H, T)
Field of_tokens(const at::Tensor& numbers, const char* quantity, const char* unit) {
  const at::Tensor host = numbers.to(at::kCPU, at::kFloat).contiguous();
  Field field = Field::zeros(host.size(0), host.size(1));
  std::copy_n(host.data_ptr<float>(), host.numel(), field.values.begin());
  field.quantity = quantity;
  field.unit = unit;
  field.row_axis = {"head", "", 0, 1};
  field.column_axis = {"token", "token", 0, 1};
  return field;
}

}  // namespace

Result<Field> RecordedTrace::state_numbers(std::int64_t index, StateNumber number, StopToken stop) const {
  return guarded([&]() -> Result<Field> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const TraceLayer* found, layer(index));
    if (stop.stop_requested()) {
      return cancelled();
    }
    const std::string name = "layer " + std::to_string(index);
    if (number == StateNumber::kPosition) {
      const at::Tensor places =
          found->computed ? found->computed->encoding().learned_positions(found->computed->prepared()) : at::Tensor();
      return places.defined() ? Result<Field>(of_tokens(places[0].squeeze(-1), "position", "token"))
                              : unsupported(name + " learns no positions");
    }
    const bool norm = number == StateNumber::kNorm;
    if (!norm && found->computed && found->computed->encoding().description().forgets) {
      const at::Tensor logs = found->computed->encoding().log_gates(found->computed->prepared());
      return of_tokens(mixers::half_lives(logs[0].squeeze(-1)), "half-life", "token");
    }
    if (!found->implied) {
      const bool stored = data_.model.of_mixers() && data_.model.layer_info[static_cast<std::size_t>(index)].attends;
      return unsupported(name + (stored ? ": a file does not keep the state of its mixer" : " has no mixer here"));
    }
    const mixers::ImpliedMap& map = found->implied->map();
    const at::Tensor numbers = norm ? map.state_norm(stop) : map.half_life();
    if (stop.stop_requested()) {
      return cancelled();
    }
    if (!numbers.defined()) {
      return unsupported(name + (norm ? " has no state: " : " has no decay: ") + layer_text(data_.model, index));
    }
    return norm ? of_tokens(numbers, "norm of the state", "") : of_tokens(numbers, "half-life", "token");
  });
}

Result<Field> dot_product_field(const at::Tensor& vectors, std::int64_t head, std::int64_t heads, Range rows,
                                Range columns, const Similarity& similarity) {
  const Range all{0, vectors.size(1)};
  rows = rows == Range{} ? all : rows;
  columns = columns == Range{} ? all : columns;
  const Range& centre = similarity.centred;
  if (rows != rows.clamped(all) || columns != columns.clamped(all) || rows.empty() || columns.empty() ||
      (centre != Range{} && (centre != centre.clamped(all) || centre.empty()))) {
    return bad_input("positions: expected ranges within 0 … " + std::to_string(all.end));
  }
  if (head < kMeanHead || head >= heads) {
    return bad_input("head: expected 0 to " + std::to_string(heads - 1) + ", found " + std::to_string(head));
  }
  // One set of vectors serves all heads where the encoding has only one.
  at::Tensor chosen = head == kMeanHead || vectors.size(0) == 1 ? vectors : vectors.narrow(0, head, 1);
  if (!centre.empty()) {
    chosen = chosen - chosen.slice(1, centre.begin, centre.end).mean(1, true);
  }
  Field field = field_of(position::dot_products(chosen, rows, columns, similarity.cosine).mean(0), rows, columns);
  field.quantity = similarity.cosine ? "cosine of positions" : "dot product of positions";
  return field;
}

Status RecordedTrace::write(const std::filesystem::path& path, const std::set<std::string>& keep,
                            const Progress& progress, StopToken stop) const {
  return guarded([&]() -> Status { return write_trace(*this, path, keep, progress, stop); });
}

void set_no_encoding(ModelInfo& info) {
  info.encodings = {{"none", {}, false, false, "q·k"}};
  info.layer_info.assign(static_cast<std::size_t>(info.layers), LayerInfo{});
}

void set_cross_encoding(ModelInfo& info) {
  set_no_encoding(info);
  info.causal = false;
}

std::shared_ptr<const attention::ScoreField> no_scores(std::int64_t heads, std::int64_t length) {
  return std::make_shared<const attention::ScoreField>(std::make_shared<const attention::NoScores>(heads, length),
                                                       attention::Mask{true});
}

std::string trace_name(const std::string& parameter, std::size_t encoding, const std::vector<std::int64_t>& layers) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t dot = parameter.rfind(kLayers, 0) == 0 ? parameter.find('.', kLayers.size()) : std::string::npos;
  if (dot == std::string::npos) {
    return "encoding." + (encoding == 0 ? "" : std::to_string(encoding) + ".") + parameter;
  }
  const auto number = static_cast<std::size_t>(std::stoll(parameter.substr(kLayers.size(), dot - kLayers.size())));
  const std::int64_t layer = number < layers.size() ? layers[number] : static_cast<std::int64_t>(number);
  return std::string(kLayers) + std::to_string(layer) + ".encoding." + parameter.substr(dot + 1);
}

Result<at::Tensor> whole_map(const attention::ScoreField& scores, attention::Quantity quantity, StopToken stop) {
  const std::int64_t heads = scores.source().heads();
  at::Tensor map = at::empty({heads, scores.source().length(), scores.source().keys()}, at::kFloat);
  for (std::int64_t head = 0; head < heads; ++head) {
    LOCUS_TRY(const Field field, scores.map({quantity, head, {}, {}}, stop));
    std::copy(field.values.begin(), field.values.end(), map.select(0, head).data_ptr<float>());
  }
  return map;
}

}  // namespace locus::models
