// models/api/pairs.h
#include "models/api/pairs.h"

#include <utility>

#include "core/attention/attend.h"
#include "core/base/guarded.h"
#include "core/position/shared/pair_form.h"
#include "models/api/local.h"
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
