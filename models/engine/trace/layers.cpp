// A layer of a trace: its scores are computed (q, k and an encoding this build knows), stored (attention), or both.
#include <cstdint>
#include <map>
#include <utility>

#include "core/base/numbers.h"
#include "core/position/grape.h"
#include "core/position/path.h"
#include "core/position/relative_state.h"
#include "core/position/rope.h"
#include "models/edits/run_edits.h"
#include "models/engine/trace/open_trace.h"
#include "models/engine/trace/pictures.h"

namespace locus::models::trace {

namespace {

// Key heads that divide the heads; some encodings give each head keys of its own, others do not.
Result<at::Tensor> keys_of_one(const OpenTrace& trace, const std::string& name) {
  LOCUS_TRY(const at::Tensor found, trace.file.float_tensor(name, {-1, trace.keys(), -1}));
  if (found.defined() && trace.data.model.heads % found.size(0) != 0) {
    return bad_input("expected key heads that divide " + std::to_string(trace.data.model.heads) + " heads, found " +
                         std::to_string(found.size(0)),
                     trace.file.where(name));
  }
  return found.defined() ? found.unsqueeze(0) : found;
}

Result<at::Tensor> batch_of_one(const OpenTrace& trace, const std::string& name, std::int64_t heads) {
  LOCUS_TRY(const at::Tensor value, trace.file.float_tensor(name, {heads, trace.length(), -1}));
  return value.defined() ? value.unsqueeze(0) : value;
}

// Gives an edited layer the encoding that shows its scores as they were; what is left to cap them.
Result<double> edit_layer(const OpenTrace& trace, std::int64_t index, double soft_cap, const attention::Mask& mask,
                          TraceLayer& layer) {
  if (trace.data.edits.empty() || !layer.encoding) {
    return soft_cap;
  }
  const Layout layout{trace.data.grid.columns, trace.data.images};
  LOCUS_TRY(const transformer::LayerEdit own,
            within(edited_layer(trace.data.edits, trace.data.model,
                                {index, layer.encoding, layer.encoding_layer, soft_cap, trace.positions, layout, mask}),
                   trace.file.metadata("locus.edits")));
  if (!own.encoding) {
    return soft_cap;
  }
  layer.encoding = own.encoding;
  return 0.0;
}

// Which experts each token went to, and what they weigh: both or neither.
Status read_experts(const OpenTrace& trace, TraceLayer& layer, const std::string& prefix) {
  LOCUS_TRY(layer.experts, trace.file.tensor(prefix + "experts", {trace.length(), -1}));
  const std::int64_t chosen = layer.experts.defined() ? layer.experts.size(1) : -1;
  LOCUS_TRY(layer.expert_weights, trace.file.float_tensor(prefix + "expert_weights", {trace.length(), chosen}));
  if (!layer.experts.defined() && !layer.expert_weights.defined()) {
    return {};
  }
  const bool numbers = layer.experts.defined() && at::isIntegralType(layer.experts.scalar_type(), false);
  if (!numbers || !layer.expert_weights.defined() || layer.experts.min().item<std::int64_t>() < 0) {
    return bad_input("expected experts [T, k] of whole numbers from 0, and expert_weights [T, k] beside them",
                     trace.file.where(prefix + "experts"));
  }
  layer.experts = layer.experts.to(at::kLong);
  return {};
}

Result<std::optional<position::State>> state_of(const OpenTrace& trace, const UsedEncoding& used,
                                                const std::string& prefix) {
  std::optional<position::State> state = used.complete ? used.start : std::nullopt;
  if (state && used.encoding->description().updates) {
    const TensorInfo* info = trace.file.find(prefix + "position_state");
    if (info == nullptr) {
      return std::optional<position::State>();
    }
    std::vector<std::int64_t> shape = state->table.sizes().vec();
    shape.erase(shape.begin());
    LOCUS_TRY(const at::Tensor table, trace.file.float_tensor(prefix + "position_state", shape));
    state->table = table.unsqueeze(0);
  }
  return state;
}

constexpr std::int64_t kSummedAnew = 512;  // traces up to this many tokens: their sums are computed, not believed
constexpr std::int64_t kCheckedRows = 64;

// Whether what a trace says its rows sum to, `stored` (H, T), is what its queries and keys sum to: of all rows of a
// short trace, of some in the middle and the last ones of a long one. Weights are exp(logit − sum), so that others make
// rows that sum to anything. The tolerance is that of numbers kept as bfloat16.
Status check_sums(const OpenTrace& trace, const std::string& name, const attention::Attention& attention,
                  const at::Tensor& stored) {
  constexpr double kTolerance = 2e-2;
  const std::int64_t length = trace.length();
  std::vector<Range> checked{{0, length}};
  if (length > kSummedAnew) {
    checked = {{length / 2, length / 2 + kCheckedRows}, {length - kCheckedRows, length}};
  }
  for (const Range& rows : checked) {
    LOCUS_TRY(const attention::Attended attended, attention::attend_streaming(attention, {rows, 0, 0, {}}));
    const at::Tensor own = attended.log_sum_exp.select(0, 0).to(at::kDouble);
    const at::Tensor said = stored.slice(1, rows.begin, rows.end).to(at::kDouble);
    const at::Tensor same = (own == said).logical_or_(own.isnan().logical_and(said.isnan()));
    const at::Tensor fits = ((own - said).abs() <= kTolerance * (own.abs() + 1)).logical_or_(same);
    if (!fits.all().item<bool>()) {
      const auto place = fits.logical_not().flatten().to(at::kLong).argmax().item<std::int64_t>();
      const std::int64_t head = place / rows.size();
      const std::int64_t row = place % rows.size();
      return bad_input("expected what q and k sum to, " + general_text(own[head][row].item<double>(), 6) + " of head " +
                           std::to_string(head) + " at token " + std::to_string(rows.begin + row) + ", found " +
                           general_text(said[head][row].item<double>(), 6),
                       trace.file.where(name));
    }
  }
  return {};
}

// Turns q and k back where the trace does not hold them as they were before the rotation.
Status restore_content(const UsedEncoding* used, position::Prepared& prepared) {
  const auto* const rope = used == nullptr ? nullptr : dynamic_cast<const position::Rope*>(used->encoding.get());
  const bool given = prepared.content_query.defined() && prepared.content_key.defined();
  if (given || rope == nullptr || !used->start || rope->options().norm) {
    return {};
  }
  return rope->restore_content(*used->start, prepared);
}

// Checks, where sections count key heads, that a layer has these key heads. A layer with edited pairs has a key head for
// each query head, and does not say which component turned it.
Status check_key_heads(const OpenTrace& trace, const UsedEncoding* used, const position::Prepared& prepared,
                       const std::string& prefix) {
  const auto* const rope = used == nullptr ? nullptr : dynamic_cast<const position::Rope*>(used->encoding.get());
  if (rope == nullptr || !rope->options().by_heads()) {
    return {};
  }
  LOCUS_TRY(const nlohmann::json shape, trace.file.value("shape"));
  const nlohmann::json said = shape.is_object() ? shape.value("kv_heads", nlohmann::json()) : nlohmann::json();
  const std::int64_t expected = whole_number(said, 1, INT64_MAX).value_or(rope->shape().kv_heads);
  for (const std::int64_t found : {prepared.key.size(1), rope->shape().kv_heads}) {
    if (found != expected) {
      return bad_input("expected " + std::to_string(expected) + " key heads, which section_layout heads deals to " +
                           "components, found " + std::to_string(found),
                       trace.file.where(prefix + "k"));
    }
  }
  return {};
}

// Whether PaTH has for every key what turns the keys before it, in vectors as wide as they are.
Status check_reflections(const UsedEncoding* used, const position::Prepared& prepared, const std::string& where) {
  const auto* const path = used == nullptr ? nullptr : dynamic_cast<const position::Path*>(used->encoding.get());
  if (path == nullptr) {
    return {};
  }
  const std::int64_t width = path->shape().head_width;
  const at::Tensor& kept = prepared.gate_key;
  if (prepared.query.size(3) != width || !kept.defined() || kept.size(1) != prepared.key.size(1) ||
      kept.size(3) != width + 1) {
    return bad_input("expected " + std::to_string(width + 1) + " numbers per key head and token, and q and k of " +
                         std::to_string(width) + ", found " + (kept.defined() ? std::to_string(kept.size(3)) : "none") +
                         " and " + std::to_string(prepared.query.size(3)),
                     where);
  }
  return {};
}

// As many numbers of each token and head as its encoding reads.
Status check_numbers(const std::string& where, const at::Tensor& found, std::int64_t numbers, std::int64_t heads) {
  const std::int64_t own = found.defined() ? found.size(3) : 0;
  return own == numbers && (numbers == 0 || found.size(1) == heads)
             ? Status()
             : Status(bad_input("expected " + std::to_string(numbers) + " numbers for each token and each of " +
                                    std::to_string(heads) + " heads, found " + std::to_string(own),
                                where));
}

// The numbers that GRAPE keeps of each token.
Status check_grape(const OpenTrace& trace, const UsedEncoding* used, const position::Prepared& prepared,
                   const std::string& prefix) {
  const auto* const grape = used == nullptr ? nullptr : dynamic_cast<const position::Grape*>(used->encoding.get());
  if (grape == nullptr) {
    return {};
  }
  const auto check = [&](const char* name, const at::Tensor& found, std::int64_t numbers, std::int64_t heads) {
    return check_numbers(trace.file.where(prefix + name), found, numbers, heads);
  };
  const position::ModelShape& shape = grape->shape();
  LOCUS_CHECK(check("q", prepared.query, shape.head_width, shape.heads));
  LOCUS_CHECK(check("k", prepared.key, shape.head_width, shape.kv_heads));
  LOCUS_CHECK(check("q_gate", prepared.gate_query, grape->query_numbers(), shape.heads));
  return check("k_gate", prepared.gate_key, grape->key_numbers(), shape.kv_heads);
}

// The numbers by which each token mixes its profiles of distance.
Status check_states(const UsedEncoding* used, const position::Prepared& prepared, const std::string& where) {
  const auto* const mixing =
      used == nullptr ? nullptr : dynamic_cast<const position::RelativeState*>(used->encoding.get());
  return mixing == nullptr ? Status()
                           : check_numbers(where, prepared.gate_query, mixing->options().states, mixing->shape().heads);
}

Result<std::shared_ptr<const attention::ComputedScores>> computed(const OpenTrace& trace, const TraceLayer& layer,
                                                                  const UsedEncoding* used, const attention::Mask& mask,
                                                                  double soft_cap, const std::string& prefix) {
  using Computed = std::shared_ptr<const attention::ComputedScores>;
  const ModelInfo& model = trace.data.model;
  position::Prepared prepared;
  LOCUS_TRY(prepared.query, batch_of_one(trace, prefix + "q", model.heads));
  LOCUS_TRY(prepared.key, keys_of_one(trace, prefix + "k"));
  LOCUS_TRY(prepared.content_query, batch_of_one(trace, prefix + "q_content", model.heads));
  LOCUS_TRY(prepared.content_key, keys_of_one(trace, prefix + "k_content"));
  LOCUS_TRY(prepared.gate_query, batch_of_one(trace, prefix + "q_gate", model.heads));
  LOCUS_TRY(prepared.gate_key, keys_of_one(trace, prefix + "k_gate"));
  prepared.positions = trace.positions;
  if (!layer.encoding || !prepared.query.defined() || !prepared.key.defined()) {
    return Computed();
  }
  if (prepared.query.size(3) != prepared.key.size(3)) {
    return bad_input("expected q and k of one width, found " + std::to_string(prepared.query.size(3)) + " and " +
                         std::to_string(prepared.key.size(3)),
                     trace.file.where(prefix + "q"));
  }
  const position::Description& about = layer.encoding->description();
  if ((about.forgets || about.learns_positions) &&
      (!prepared.gate_query.defined() || prepared.gate_query.size(3) != 1)) {
    return bad_input(std::string("expected the ") + (about.forgets ? "logarithm of a gate" : "position") +
                         " per head and token, found " +
                         (prepared.gate_query.defined() ? std::to_string(prepared.gate_query.size(3)) : "none"),
                     trace.file.where(prefix + "q_gate"));
  }
  LOCUS_CHECK(check_reflections(used, prepared, trace.file.where(prefix + "k_gate")));
  LOCUS_CHECK(check_grape(trace, used, prepared, prefix));
  LOCUS_CHECK(check_states(used, prepared, trace.file.where(prefix + "q_gate")));
  LOCUS_CHECK(check_key_heads(trace, used, prepared, prefix));
  LOCUS_CHECK(restore_content(used, prepared));
  LOCUS_TRY(at::Tensor sums, trace.file.float_tensor(prefix + "log_sum_exp", {model.heads, trace.length()}));
  at::Tensor chosen;
  const at::Tensor nothing = at::empty({1, prepared.key.size(1), trace.keys(), 0});
  const attention::Attention attention{*layer.encoding, prepared,   layer.encoding_layer, nothing, {}, mask,
                                       soft_cap,        layer.sinks};
  if (sums.defined() && !layer.encoding->hard_attention()) {
    LOCUS_CHECK(check_sums(trace, prefix + "log_sum_exp", attention, sums));
  }
  if (!layer.sinks.defined()) {
    // A long head opens at once: its rows are summed as they are looked at.
    if (Computed unsummed =
            attention::ComputedScores::unsummed(layer.encoding, layer.encoding_layer, prepared, mask, soft_cap)) {
      return unsummed;
    }
  }
  if (sums.defined() && !layer.encoding->hard_attention() && trace.length() > kSummedAnew) {
    sums = sums.unsqueeze(0);
  } else {
    LOCUS_TRY(const attention::Attended attended, attention::attend_streaming(attention));
    sums = attended.log_sum_exp;
    chosen = attended.chosen;
  }
  return Computed(std::make_shared<attention::ComputedScores>(layer.encoding, layer.encoding_layer, prepared, sums,
                                                              chosen, soft_cap));
}

}  // namespace

Result<TraceLayer> read_layer(const OpenTrace& trace, std::int64_t index) {
  const std::string prefix = "layers." + std::to_string(index) + ".";
  const std::vector<std::int64_t> map_shape{trace.data.model.heads, trace.length(), trace.keys()};
  TraceLayer layer;
  LOCUS_TRY(layer.hidden, trace.file.float_tensor(prefix + "hidden", {trace.length(), -1}));
  if (!trace.data.model.layer_info[static_cast<std::size_t>(index)].attends) {
    LOCUS_CHECK(read_experts(trace, layer, prefix));
    layer.scores = no_scores(trace.data.model.heads, trace.length());
    return layer;
  }
  std::map<attention::Quantity, at::Tensor> maps;
  for (const auto& [quantity, name] :
       {std::pair{attention::Quantity::kWeight, "attention"}, std::pair{attention::Quantity::kGate, "gates"},
        std::pair{attention::Quantity::kPosition, "positions"}}) {
    LOCUS_TRY(const at::Tensor map, trace.file.tensor(prefix + name, map_shape));
    if (map.defined()) {
      maps.emplace(quantity, map);
    }
  }
  const auto n = static_cast<std::size_t>(index);
  const UsedEncoding* const used = n < trace.places.size() && trace.places[n].slot >= 0
                                       ? &trace.encodings[static_cast<std::size_t>(trace.places[n].slot)]
                                       : nullptr;
  if (used != nullptr && used->encoding) {
    layer.encoding = used->encoding;
    layer.encoding_layer = trace.places[n].number;
  }
  const LayerInfo& info = trace.data.model.layer_info[n];
  attention::Mask mask{trace.data.model.causal, info.window, info.chunk};
  LOCUS_TRY(std::shared_ptr<const attention::Blocks> blocks, read_blocks(trace.file, prefix, trace.length()));
  const bool none = blocks == nullptr;
  mask = mask.with(std::move(blocks));
  if (!none && mask.blocks == nullptr) {
    return bad_input("expected none in a layer without a window, found those of one",
                     trace.file.where(prefix + "blocks"));
  }
  LOCUS_TRY(const double soft_cap, edit_layer(trace, index, info.soft_cap, mask, layer));
  LOCUS_TRY(layer.sinks, trace.file.float_tensor(prefix + "sinks", {trace.data.model.heads}));
  LOCUS_CHECK(read_experts(trace, layer, prefix));
  LOCUS_TRY(layer.computed, computed(trace, layer, used, mask, soft_cap, prefix));
  if (maps.empty() && !layer.computed) {
    const std::vector<std::string>& said = trace.data.model.warnings;  // of the encoding
    return bad_input("expected attention, or q and k with an encoding that this build knows, found neither" +
                         (said.empty() ? std::string() : " (" + said.back() + ")"),
                     trace.file.path() + ": layer " + std::to_string(index));
  }
  if (used != nullptr) {
    LOCUS_TRY(layer.state, state_of(trace, *used, prefix));
  }
  std::shared_ptr<const attention::ScoreSource> source = layer.computed;
  if (!maps.empty()) {
    source = std::make_shared<const attention::StoredScores>(std::move(maps), layer.computed);
  }
  layer.scores = std::make_shared<const attention::ScoreField>(source, mask);
  return layer;
}

Status read_edits(OpenTrace& trace) {
  if (const std::string stored = trace.file.text("locus.edits"); !stored.empty()) {
    LOCUS_TRY(trace.data.edits, parse_edits(stored, trace.file.metadata("locus.edits")));
    return within(check_edits(trace.data.edits, trace.data.model, trace.length()), trace.file.metadata("locus.edits"));
  }
  return {};
}

}  // namespace locus::models::trace
