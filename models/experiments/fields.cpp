#include "models/experiments/fields.h"

#include <utility>

namespace locus::models {

Result<const TraceData*> data_of(const Trace& trace) {
  const auto* const recorded = recorded_of(trace);
  if (recorded == nullptr) {
    return unsupported("this trace keeps no queries and keys");
  }
  if (trace.crosses()) {
    return unsupported("an analysis of one text's queries and keys; the keys of cross-attention are another text's");
  }
  return &recorded->data();
}

Result<const attention::ScoreField*> scores_of(const Trace& trace, std::int64_t layer) {
  LOCUS_TRY(const TraceData* data, data_of(trace));
  const auto layers = static_cast<std::int64_t>(data->layers.size());
  if (layer < 0 || layer >= layers) {
    return bad_input("layer: expected 0 to " + std::to_string(layers - 1) + ", found " + std::to_string(layer));
  }
  const attention::ScoreField* scores = data->layers[static_cast<std::size_t>(layer)].scores.get();
  if (scores == nullptr) {
    return unsupported("layer " + std::to_string(layer) + ": the trace holds no attention and no queries and keys");
  }
  return scores;
}

Result<std::vector<const attention::ScoreField*>> all_scores(const Trace& trace) {
  LOCUS_TRY(const TraceData* data, data_of(trace));
  std::vector<const attention::ScoreField*> fields;
  for (std::size_t layer = 0; layer < data->layers.size(); ++layer) {
    LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, static_cast<std::int64_t>(layer)));
    fields.push_back(field);
  }
  return fields;
}

bool begins_with_special(const std::vector<TokenInfo>& tokens) {
  return tokens.size() > 1 && tokens[0].bytes.empty() && !tokens[1].bytes.empty();
}

void report_layer(const Progress& progress, std::size_t layer, std::size_t layers) {
  report(progress, static_cast<double>(layer) / static_cast<double>(layers),
         "layer " + std::to_string(layer + 1) + " of " + std::to_string(layers));
}

Field layer_head_field(std::int64_t layers, std::int64_t heads, std::string quantity) {
  Field field = Field::zeros(layers, heads);
  field.row_axis.name = field.row_axis.unit = "layer";
  field.column_axis.name = field.column_axis.unit = "head";
  field.quantity = std::move(quantity);
  return field;
}

}  // namespace locus::models
