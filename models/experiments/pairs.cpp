// models/api/pairs.h, and models/api/addressing.h, which reads pairs too
#include "models/api/pairs.h"

#include <functional>
#include <optional>
#include <utility>

#include "core/attention/attend.h"
#include "core/base/guarded.h"
#include "core/position/shared/pair_form.h"
#include "models/api/addressing.h"
#include "models/api/local.h"
#include "models/edits/edited_encoding.h"
#include "models/experiments/fields.h"

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
                                                  StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<analysis::PairProfile> {
    LOCUS_TRY(const analysis::PairSource source, source_of(trace, layer));
    return analysis::pair_profile(source, head, stop, progress);
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

}  // namespace locus::models
