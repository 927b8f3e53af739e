// models/api/analyses.h: what one run's heads do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "core/analysis/key_shares.h"
#include "core/analysis/rollout.h"
#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"

namespace locus::models {

namespace {

constexpr std::int64_t kShortestBias = 8;  // tokens below which no two ranges of distances fit

// NaN where the encoding has no counterfactual scores.
Result<double> counterfactual_bias(const attention::ScoreField& field, std::int64_t head,
                                   const HeadTableOptions& options, const StopToken& stop) {
  if (options.bias_pairs < 1 || field.source().length() < kShortestBias) {
    return kNaN;
  }
  analysis::DistanceBiasOptions bias;
  bias.pairing = analysis::Pairing::kCounterfactual;
  bias.pairs = options.bias_pairs;
  bias.head = head;
  bias.seed = options.seed;
  const auto result = analysis::distance_bias({&field.source()}, bias, stop);
  if (!result.ok() && result.error().code != ErrorCode::kUnsupported) {
    return result.error();
  }
  return result.ok() ? result->mean : kNaN;
}

// Attention of words behind the first picture: part 0 the cells of pictures, part 1 all other tokens. Empty without
// pictures.
std::optional<analysis::KeyParts> picture_parts(const Trace& trace) {
  const std::vector<ImageSpan>& images = trace.images();
  if (images.empty() || trace.crosses()) {
    return std::nullopt;
  }
  const auto length = static_cast<std::size_t>(trace.length());
  analysis::KeyParts parts{std::vector<std::int64_t>(length, 1), std::vector<bool>(length, false), 2};
  for (std::size_t token = 0; token < length; ++token) {
    const auto index = static_cast<std::int64_t>(token);
    const bool cell =
        std::ranges::any_of(images, [&](const ImageSpan& span) { return span.holds(index) || span.ends(index); });
    parts.of_key[token] = cell ? 0 : 1;
    parts.query[token] = !cell && index > images.front().token(images.front().count - 1);
  }
  return parts;
}

// (on images, on text) of each head; NaN of a text without pictures.
Result<std::vector<std::pair<double, double>>> picture_shares(const attention::ScoreField& field,
                                                              const std::optional<analysis::KeyParts>& parts,
                                                              const std::vector<analysis::HeadStatistics>& heads,
                                                              const StopToken& stop) {
  std::vector<std::pair<double, double>> shares(heads.size(), {kNaN, kNaN});
  if (!parts) {
    return shares;
  }
  LOCUS_TRY(const auto sums, analysis::key_shares(field, *parts, stop));
  for (std::size_t head = 0; head < heads.size(); ++head) {
    shares[head] = {sums[head][0], sums[head][1]};
  }
  return shares;
}

}  // namespace

Result<analysis::DistanceBias> local::distance_bias(const std::vector<TracePointer>& texts, std::int64_t layer,
                                                    const analysis::DistanceBiasOptions& options, StopToken stop,
                                                    const Progress& progress) {
  return guarded([&]() -> Result<analysis::DistanceBias> {
    std::vector<const attention::ScoreSource*> sources;
    for (const TracePointer& text : texts) {
      LOCUS_TRY(const attention::ScoreField* field, scores_of(*text, layer));
      sources.push_back(&field->source());
    }
    return analysis::distance_bias(sources, options, stop, progress);
  });
}

Result<analysis::DistanceProfile> local::distance_profile(const Trace& trace, std::int64_t layer,
                                                          const analysis::DistanceProfileOptions& options,
                                                          StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<analysis::DistanceProfile> {
    LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
    return analysis::distance_profile(*field, options, stop, progress);
  });
}

Result<std::vector<HeadRow>> local::head_table(const Trace& trace, const HeadTableOptions& options, StopToken stop,
                                               const Progress& progress) {
  return guarded([&]() -> Result<std::vector<HeadRow>> {
    LOCUS_TRY(const auto fields, all_scores(trace));
    const Range wanted = options.layers.empty() ? Range{0, static_cast<std::int64_t>(fields.size())} : options.layers;
    if (wanted.begin < 0 || wanted.end > static_cast<std::int64_t>(fields.size())) {
      return bad_input("expected layers 0 to " + std::to_string(fields.size()) + ", found " +
                       std::to_string(wanted.begin) + " to " + std::to_string(wanted.end));
    }
    const auto parts = picture_parts(trace);
    std::vector<HeadRow> rows;
    for (auto layer = static_cast<std::size_t>(wanted.begin); layer < static_cast<std::size_t>(wanted.end); ++layer) {
      report_layer(progress, layer, fields.size());
      LOCUS_TRY(const auto statistics, analysis::head_statistics(*fields[layer], stop));
      LOCUS_TRY(const auto shares, picture_shares(*fields[layer], parts, statistics, stop));
      for (std::size_t head = 0; head < statistics.size(); ++head) {
        const auto index = static_cast<std::int64_t>(head);
        LOCUS_TRY(const double bias, counterfactual_bias(*fields[layer], index, options, stop));
        rows.push_back(
            {static_cast<std::int64_t>(layer), index, statistics[head], bias, shares[head].first, shares[head].second});
      }
    }
    return rows;
  });
}

Result<Field> local::induction_map(const Model& model, const InductionOptions& options, StopToken stop,
                                   const Progress& progress) {
  const ModelInfo& info = model.info();
  if (info.image) {
    return unsupported("induction scores need a text model; " + info.name + " takes images");
  }
  if (options.period < 2 || options.repeats < 1 || info.vocabulary < 2) {
    return bad_input("induction scores: expected a period of 2 or more tokens and at least one repeat");
  }
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<std::int64_t> draw(0, info.vocabulary - 1);
  const auto count = static_cast<double>(options.repeats);
  Field total = layer_head_field(info.layers, info.heads, "induction score");
  for (std::int64_t repeat = 0; repeat < options.repeats; ++repeat) {
    report(progress, static_cast<double>(repeat) / count, "repeated random tokens");
    std::vector<std::int64_t> ids(static_cast<std::size_t>(2 * options.period));
    const auto half = ids.begin() + options.period;
    std::generate(ids.begin(), half, [&] { return draw(random); });
    std::copy(ids.begin(), half, half);
    LOCUS_TRY(const TracePointer trace, model.run({.ids = std::move(ids)}, {}, stop));
    LOCUS_CHECK(guarded([&]() -> Status {
      LOCUS_TRY(const auto fields, all_scores(*trace));
      for (std::size_t layer = 0; layer < fields.size(); ++layer) {
        LOCUS_TRY(const auto scores, analysis::induction_scores(*fields[layer], options.period, stop));
        for (std::size_t head = 0; head < scores.size(); ++head) {
          total.values[layer * scores.size() + head] += static_cast<float>(scores[head] / count);
        }
      }
      return {};
    }));
  }
  return total;
}

Result<std::vector<float>> local::attention_rollout(const Trace& trace, std::int64_t query, StopToken stop) {
  if (!trace.model().attends_everywhere()) {
    return unsupported("rollout: expected attention in every layer, found layers without");
  }
  return guarded([&]() -> Result<std::vector<float>> {
    LOCUS_TRY(const auto fields, all_scores(trace));
    return analysis::attention_rollout(fields, query, stop);
  });
}

}  // namespace locus::models
