// models/api/pairs.h, and models/api/addressing.h and models/api/score_sources.h, which read queries and keys too
#include "models/api/pairs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "core/analysis/pair_layer.h"
#include "core/attention/attend.h"
#include "core/base/guarded.h"
#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/pair_form.h"
#include "models/api/addressing.h"
#include "models/api/local.h"
#include "models/api/score_sources.h"
#include "models/edits/edited_encoding.h"
#include "models/experiments/fields.h"
#include "models/experiments/rerun.h"
#include "models/transformer/direct_path.h"

namespace locus::models {

namespace {

// One layer's queries and keys. Holds while the trace does.
Result<analysis::PairSource> source_of(const Trace& trace, std::int64_t layer) {
  LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
  LOCUS_TRY(const TraceData* data, data_of(trace));
  const attention::ComputedScores* const computed = data->layers[static_cast<std::size_t>(layer)].computed.get();
  if (computed == nullptr) {
    return unsupported("layer " + std::to_string(layer) + ": a stored map has no queries and keys to take pairs of");
  }
  return analysis::PairSource{*computed, field->mask()};
}

// Queries of which the channels of these pairs alone are left.
at::Tensor only(const at::Tensor& query, const position::PairForm& form, Range pairs) {
  at::Tensor kept = at::zeros_like(query);
  const auto keep = [&](const std::vector<std::int64_t>& channels) {
    for (const std::int64_t channel : channels) {
      kept.select(3, channel).copy_(query.select(3, channel));
    }
  };
  for (std::int64_t pair = pairs.begin; pair < std::min(pairs.end, form.pairs()); ++pair) {
    keep(form.channels[static_cast<std::size_t>(pair)]);
  }
  if (pairs.contains(form.pairs())) {
    keep(form.rest);
  }
  return kept;
}

using Computed = std::shared_ptr<const attention::ComputedScores>;

Result<Computed> computed_with(const analysis::PairSource& source, position::Prepared prepared) {
  const attention::ComputedScores& was = source.scores;
  if (Computed unsummed = attention::ComputedScores::unsummed(was.shared_encoding(), was.layer(), prepared, source.mask,
                                                              was.soft_cap())) {
    return unsummed;
  }
  const at::Tensor nothing = at::empty({1, prepared.key.size(1), prepared.key.size(2), 0}, prepared.key.options());
  const attention::Attention attention{was.encoding(), prepared, was.layer(), nothing, {}, source.mask, was.soft_cap()};
  LOCUS_TRY(const attention::Attended attended, attention::attend_streaming(attention));
  return Computed(std::make_shared<const attention::ComputedScores>(
      was.shared_encoding(), was.layer(), std::move(prepared), attended.log_sum_exp, attended.chosen, was.soft_cap()));
}

}  // namespace

Result<analysis::PairList> local::pair_list(const Trace& trace, std::int64_t layer, std::int64_t head) {
  return guarded([&]() -> Result<analysis::PairList> {
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    return analysis::pair_list(source, head);
  });
}

Result<Field> local::pair_energy(const Trace& trace, std::int64_t layer, analysis::PairNorm norm, StopToken stop) {
  return guarded([&]() -> Result<Field> {
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    return analysis::pair_energy(source, norm, stop);
  });
}

Result<analysis::CellParts> local::pair_parts(const Trace& trace, std::int64_t layer, std::int64_t head,
                                              std::int64_t query, std::int64_t key,
                                              const std::vector<double>& distances) {
  return guarded([&]() -> Result<analysis::CellParts> {
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    return analysis::pair_parts(source, head, query, key, distances);
  });
}

Result<analysis::PairProfile> local::pair_profile(const Trace& trace, std::int64_t layer, std::int64_t head,
                                                  std::int64_t skip_keys, StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<analysis::PairProfile> {
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    return analysis::pair_profile(source, head, skip_keys, stop, progress);
  });
}

Result<analysis::PairPlane> local::pair_plane(const Trace& trace, std::int64_t layer, std::int64_t head,
                                              std::int64_t pair) {
  return guarded([&]() -> Result<analysis::PairPlane> {
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    return analysis::pair_plane(source, head, pair);
  });
}

Result<std::vector<std::vector<analysis::PairStatistics>>> local::pair_statistics(const Trace& trace, StopToken stop,
                                                                                  const Progress& progress) {
  using Layers = std::vector<std::vector<analysis::PairStatistics>>;
  return guarded([&]() -> Result<Layers> {
    LOCUS_TRY(const TraceData* data, data_of(trace));
    Layers layers;
    for (std::size_t layer = 0; layer < data->layers.size(); ++layer) {
      report_layer(progress, layer, data->layers.size());
      layers.emplace_back();
      const Result<analysis::PairSource> source = source_of(trace, static_cast<std::int64_t>(layer));
      auto statistics = source ? analysis::pair_statistics(*source, stop) : source.error();
      if (!statistics && statistics.error().code != ErrorCode::kUnsupported) {
        return statistics.error();
      }
      if (statistics) {
        layers.back() = *std::move(statistics);
      }
    }
    return layers;
  });
}

namespace {

// One layer's scores, queries, keys and state. Holds while the trace does.
Result<analysis::AddressingSource> addressed(const Trace& trace, std::int64_t layer) {
  LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
  LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
  if (dynamic_cast<const EditedEncoding*>(&source.scores.encoding()) != nullptr) {
    return unsupported("layer " + std::to_string(layer) +
                       ": edited logits are not split; take the edits of this layer away");
  }
  LOCUS_TRY(const TraceData* data, data_of(trace));
  const std::optional<position::State>& state = data->layers[static_cast<std::size_t>(layer)].state;
  const bool renewed = source.scores.encoding().description().updates;
  return analysis::AddressingSource{*field, source.scores, renewed && state ? &*state : nullptr};
}

// `measure` of every layer; of one that does not support it nothing, or its error where none does.
template <class Answer>
Result<std::vector<Answer>> each_layer(
    const Trace& trace, const Progress& progress,
    const std::function<Result<Answer>(const analysis::AddressingSource&)>& measure) {
  LOCUS_TRY(const TraceData* data, data_of(trace));
  std::vector<Answer> layers;
  std::optional<Error> reason;
  bool any = false;
  for (std::size_t layer = 0; layer < data->layers.size(); ++layer) {
    report_layer(progress, layer, data->layers.size());
    const Result<analysis::AddressingSource> source = addressed(trace, static_cast<std::int64_t>(layer));
    Result<Answer> answer = source ? measure(*source) : Result<Answer>(source.error());
    if (!answer.ok() && answer.error().code != ErrorCode::kUnsupported) {
      return answer.error();
    }
    any = any || answer.ok();
    if (!answer.ok() && !reason) {
      reason = answer.error();
    }
    layers.push_back(answer.ok() ? *std::move(answer) : Answer());
  }
  if (!any && reason) {
    return *reason;
  }
  return layers;
}

}  // namespace

Result<std::vector<analysis::LayerAddressing>> local::addressing(const Trace& trace,
                                                                 const analysis::AddressingOptions& options,
                                                                 StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<std::vector<analysis::LayerAddressing>> {
    return each_layer<analysis::LayerAddressing>(trace, progress, [&](const analysis::AddressingSource& source) {
      return analysis::addressing(source, options, stop);
    });
  });
}

Result<analysis::AddressingSpectrum> local::addressing_spectrum(const Trace& trace, std::int64_t layer,
                                                                std::int64_t head,
                                                                const analysis::AddressingOptions& options,
                                                                StopToken stop) {
  return guarded([&]() -> Result<analysis::AddressingSpectrum> {
    LOCUS_TRY(const analysis::AddressingSource source, addressed(trace, layer));
    return analysis::addressing_spectrum(source, head, options, stop);
  });
}

Result<analysis::AddressingRow> local::addressing_row(const Trace& trace, std::int64_t layer, std::int64_t head,
                                                      std::int64_t query, const analysis::AddressingOptions& options,
                                                      StopToken stop) {
  return guarded([&]() -> Result<analysis::AddressingRow> {
    LOCUS_TRY(const analysis::AddressingSource source, addressed(trace, layer));
    return analysis::addressing_row(source, head, query, options, stop);
  });
}

Result<std::vector<std::vector<analysis::SwapScores>>> local::swap_scores(const Trace& trace, double temperature,
                                                                          const analysis::AddressingOptions& options,
                                                                          StopToken stop, const Progress& progress) {
  using Heads = std::vector<analysis::SwapScores>;
  return guarded([&]() -> Result<std::vector<Heads>> {
    return each_layer<Heads>(trace, progress, [&](const analysis::AddressingSource& source) {
      return analysis::swap_scores(source, temperature, options, stop);
    });
  });
}

Result<std::shared_ptr<const Trace>> local::with_pairs(const Trace& trace, std::int64_t layer, Range pairs) {
  return guarded([&]() -> Result<std::shared_ptr<const Trace>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    position::Prepared prepared = source.scores.prepared();
    LOCUS_TRY(const position::PairForm form,
              position::pair_form(source.scores.encoding(), prepared, source.scores.layer()));
    const std::int64_t rows = form.pairs() + (form.rest.empty() ? 0 : 1);
    if (form.modulation) {
      return unsupported("the logit of " + source.scores.encoding().description().name + " is no sum of pairs");
    }
    if (trace.model().layer_info[static_cast<std::size_t>(layer)].sink) {
      return unsupported("layer " + std::to_string(layer) + " has a sink, whose logit this run does not hold");
    }
    if (pairs.begin < 0 || pairs.end > rows || pairs.empty()) {
      return bad_input("pairs: expected a range within 0:" + std::to_string(rows) + ", found " +
                       std::to_string(pairs.begin) + ":" + std::to_string(pairs.end));
    }
    prepared.query = only(prepared.query, form, pairs);
    prepared.content_query = prepared.content_key = at::Tensor();
    LOCUS_TRY(Computed computed, computed_with(source, std::move(prepared)));
    LOCUS_TRY(const TraceData* data, data_of(trace));
    TraceData own = *data;
    TraceLayer& changed = own.layers[static_cast<std::size_t>(layer)];
    changed.computed = computed;
    changed.scores = std::make_shared<const attention::ScoreField>(std::move(computed), source.mask);
    return std::shared_ptr<const Trace>(std::make_shared<RecordedTrace>(std::move(own)));
  });
}

namespace {

// Queries of parts (S, D) as they meet the key's, (S', D): turned by the angle between the two where pairs turn.
struct MeetingParts {
  at::Tensor query, key;  // float64
  double scale = 1;
  bool of_pairs = false;
};

at::Tensor stacked(const std::vector<transformer::RunPart>& parts) {
  std::vector<at::Tensor> vectors;
  vectors.reserve(parts.size());
  for (const transformer::RunPart& part : parts) {
    vectors.push_back(part.vector);
  }
  return at::stack(vectors);
}

// The factor of the pairs that are counted, 1 where all are.
Result<MeetingParts> meeting_parts(const analysis::PairSource& source, const models::ScoreSourcesOptions& options,
                                   std::int64_t query, std::int64_t key, at::Tensor query_parts, at::Tensor key_parts) {
  const position::PositionEncoding& encoding = source.scores.encoding();
  const std::string& name = encoding.description().name;
  if (!encoding.is_linear()) {
    return unsupported("score sources: the score of " + name + " is not linear in queries and keys");
  }
  MeetingParts meet{std::move(query_parts), std::move(key_parts), encoding.scale()};
  const Result<analysis::PairLayer> layer = analysis::PairLayer::of(source);
  if (!layer.ok() && layer.error().code != ErrorCode::kUnsupported) {
    return layer.error();
  }
  if (!layer.ok()) {
    const bool adds = dynamic_cast<const position::AddsToContent*>(&encoding) != nullptr;
    if (!adds && !encoding.is_dot_product()) {
      return unsupported("score sources: the score of " + name +
                         " is no product of query and key with a bias beside it");
    }
    if (!options.pairs.empty()) {
      return unsupported("score sources: " + name + " has no pairs");
    }
    return meet;
  }
  const position::PairForm& form = layer->form;
  if (form.modulation || form.state || form.planes.empty() || !form.frequencies.defined()) {
    return unsupported("score sources: the pairs of " + name + " are no planes that turn with the position alone");
  }
  const Range pairs = options.pairs.empty() ? Range{0, layer->rows()} : options.pairs;
  if (pairs.begin < 0 || pairs.end > layer->rows()) {
    return bad_input("pairs: expected a range within 0:" + std::to_string(layer->rows()) + ", found " +
                     std::to_string(pairs.begin) + ":" + std::to_string(pairs.end));
  }
  meet.of_pairs = true;
  const analysis::Steps steps = layer->steps(query, key);
  const double length = form.magnitude * form.magnitude;
  at::Tensor turned = at::zeros_like(meet.query);
  for (std::int64_t pair = pairs.begin; pair < std::min(pairs.end, form.pairs()); ++pair) {
    const auto& plane = form.planes[static_cast<std::size_t>(pair)];
    const double angle = layer->angle(options.head, pair, steps);
    const double factor = length * std::exp(layer->decay(pair, steps[0]));
    const at::Tensor real = meet.query.select(1, plane[0]);
    const at::Tensor imaginary = meet.query.select(1, plane[1]);
    turned.select(1, plane[0]).copy_((real * std::cos(angle) - imaginary * std::sin(angle)) * factor);
    turned.select(1, plane[1]).copy_((real * std::sin(angle) + imaginary * std::cos(angle)) * factor);
  }
  if (pairs.contains(form.pairs())) {
    for (const std::int64_t channel : form.rest) {
      turned.select(1, channel).copy_(meet.query.select(1, channel));
    }
  }
  meet.query = turned;
  return meet;
}

ScoreSource named(const transformer::RunPart& part) {
  using Kind = transformer::RunPart::Kind;
  const std::string layer = std::to_string(part.layer);
  switch (part.kind) {
    case Kind::kEnd:
      return {part.name};
    case Kind::kHead:
      return {"head " + layer + "." + std::to_string(part.head), part.layer, part.head};
    case Kind::kFeedForward:
      return {"feed-forward " + layer, part.layer};
    case Kind::kMixer:
      return {"mixer " + layer, part.layer};
    case Kind::kBiases:
      break;
  }
  return {"biases " + layer, part.layer};
}

// The parts of one side of the cell, without those that wrote nothing.
Result<std::vector<transformer::RunPart>> parts_of_side(const Rerun& run, const transformer::ScoreSide& side,
                                                        const StopToken& stop, const Progress& progress) {
  const Range row{side.row, side.row + 1};
  transformer::ObserveOptions observe{.read = row, .writes = true, .stop = stop, .progress = progress};
  observe.hidden = run.transformer.spec().is_image();  // whose last layer computes what its head reads alone
  LOCUS_TRY(const transformer::Observation seen, run.transformer.observe(run.batch, observe));
  LOCUS_TRY(std::vector<transformer::RunPart> parts,
            transformer::score_parts(run.transformer, run.batch, seen, row, side));
  std::erase_if(parts, [](const transformer::RunPart& part) { return !part.vector.any().item<bool>(); });
  return parts;
}

// The token of a row, or the last; the key that it attends to most, or the one that is asked for.
struct Cell {
  std::int64_t query = 0;
  std::int64_t key = 0;
  double weight = 0;
  double logit = 0;
  double capped = 0;  // what the cap adds
};
Result<Cell> cell_of(const analysis::AddressingSource& source, const ScoreSourcesOptions& options) {
  const attention::ScoreSource& scores = source.field.source();
  const std::int64_t length = scores.length();
  if (options.head < 0 || options.head >= scores.heads() || options.query >= length || options.key >= scores.keys()) {
    return bad_input("score sources: expected a head below " + std::to_string(scores.heads()) +
                     ", a query and a key below " + std::to_string(length) + ", found " + std::to_string(options.head) +
                     ", " + std::to_string(options.query) + " and " + std::to_string(options.key));
  }
  Cell cell;
  cell.query = options.query < 0 ? length - 1 : options.query;
  const Range row{cell.query, cell.query + 1};
  const Range head{options.head, options.head + 1};
  const attention::Mask& mask = source.field.mask();
  const Range keys = mask.columns(row, scores.keys());
  at::Tensor carry;
  LOCUS_TRY(const at::Tensor weights, scores.scores(attention::Quantity::kWeight, head, row, keys, carry));
  const at::Tensor own = weights[0][0].to(at::kCPU, at::kDouble).masked_fill(mask.hidden(row, keys, at::kCPU)[0], -1.0);
  const std::int64_t first = keys.begin == 0 && keys.size() > 1 ? 1 : 0;  // without the sink
  cell.key = options.key < 0 ? keys.begin + first + own.slice(0, first).argmax().item<std::int64_t>() : options.key;
  if (!mask.visible(cell.query, cell.key)) {
    return bad_input("score sources: query " + std::to_string(cell.query) + " does not see key " +
                     std::to_string(cell.key));
  }
  cell.weight = own[cell.key - keys.begin].item<double>();
  const position::Tile tile{source.scores.layer(), head, row, {cell.key, cell.key + 1}};
  const double score = source.scores.encoding().score(source.scores.prepared(), tile).logits[0][0][0][0].item<double>();
  const double cap = source.scores.soft_cap();
  cell.logit = cap > 0 ? cap * std::tanh(score / cap) : score;
  cell.capped = cell.logit - score;
  return cell;
}

}  // namespace

Result<ScoreSources> local::score_sources(const Model& model, const Trace& trace, const ScoreSourcesOptions& options,
                                          StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<ScoreSources> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const Rerun run, rerun_of(model, trace, "score sources"));
    LOCUS_TRY(const analysis::AddressingSource source, addressed(trace, options.layer));
    LOCUS_TRY(const Cell cell, cell_of(source, options));
    const auto half = [&progress](double from) -> Progress {
      return [&progress, from](const ProgressReport& own) {
        report(progress, own.fraction < 0 ? own.fraction : from + own.fraction / 2, own.what);
      };
    };
    LOCUS_TRY(const auto queries, parts_of_side(run, {options.layer, options.head, false, cell.query}, stop, half(0)));
    LOCUS_TRY(const auto keys, parts_of_side(run, {options.layer, options.head, true, cell.key}, stop, half(0.5)));
    LOCUS_TRY(const MeetingParts meet, meeting_parts({source.scores, source.field.mask()}, options, cell.query,
                                                     cell.key, stacked(queries), stacked(keys)));
    const at::Tensor terms = at::matmul(meet.query, meet.key.t()) * meet.scale;
    ScoreSources made;
    made.logit = cell.logit;
    made.weight = cell.weight;
    made.query_token = cell.query;
    made.key_token = cell.key;
    std::ranges::transform(queries, std::back_inserter(made.query), named);
    std::ranges::transform(keys, std::back_inserter(made.key), named);
    made.terms = Field::zeros(terms.size(0), terms.size(1));
    made.terms.quantity = "part of the logit";
    made.terms.row_axis = {"query source", ""};
    made.terms.column_axis = {"key source", ""};
    const at::Tensor rounded = terms.to(at::kFloat).contiguous();
    std::copy_n(rounded.data_ptr<float>(), rounded.numel(), made.terms.values.begin());
    if (!options.pairs.empty()) {
      return made;
    }
    made.cap = cell.capped;
    const double rest = cell.logit - cell.capped - terms.sum().item<double>();
    if (dynamic_cast<const position::AddsToContent*>(&source.scores.encoding()) != nullptr) {
      made.place = rest;
    } else if (constexpr double kRounding = 1e-3; !(std::abs(rest) <= kRounding * (1 + std::abs(cell.logit)))) {
      return unsupported("score sources: the scores of " + source.scores.encoding().description().name + " in layer " +
                         std::to_string(options.layer) + " are no product of these queries and keys");
    }
    return made;
  });
}

}  // namespace locus::models
