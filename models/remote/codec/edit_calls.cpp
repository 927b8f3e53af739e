// Calls of what edits do: effect.h, knock_out.h, move_curve.h, logit_attribution.h, logit_lens.h; and of
// score_sources.h.
#include "core/base/checked.h"
#include "models/api/effect.h"
#include "models/api/knock_out.h"
#include "models/api/logit_attribution.h"
#include "models/api/logit_lens.h"
#include "models/api/move_curve.h"
#include "models/api/score_sources.h"
#include "models/remote/codec/call.h"
#include "models/remote/codec/checks.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

namespace {

// One for each token, or for an image's classes once.
Status check_effect(const models::EffectNumbers& answer, const models::Trace& trace) {
  const auto positions = static_cast<std::int64_t>(answer.kl.size());
  const auto losses = static_cast<std::int64_t>(answer.delta.size());
  return check((positions == trace.length() || positions == 1) && (losses == 0 || losses == trace.length() - 1),
               "a number for each position");
}

}  // namespace

template <>
struct Expected<&models::effect_of_edits> : AnyAnswer {
  static Status check(const models::Effect& answer, const auto&...) { return check_effect(answer, *answer.unedited); }
};
template <>
struct Expected<&models::effect_of_change> : AnyAnswer {
  static Status check(const models::Effect& answer, const auto&...) { return check_effect(answer, *answer.unedited); }
};
template <>
struct Expected<&models::effect_on> : AnyAnswer {
  static Status check(const models::EffectOnTrace& answer, const models::Model&, const models::Trace& trace,
                      const auto&...) {
    LOCUS_CHECK(check_effect(answer, trace));
    LOCUS_CHECK(
        remote::check(answer.first_layer >= -1 && answer.first_layer <= trace.model().layers, "a layer of the model"));
    return remote::check(answer.top.size() == answer.kl.size() && answer.top_edited.size() == answer.kl.size(),
                         "a prediction for each position");
  }
};
template <>
struct Expected<&models::knock_out> : AnyAnswer {
  static Status check(const models::KnockOutEffects& answer, const models::Model&, const models::Trace& trace,
                      const auto&...) {
    LOCUS_CHECK(check_heads(answer.effect, trace.model()));
    return answer.error.values.empty() ? Status() : check_heads(answer.error, trace.model());
  }
};
template <>
struct Allowed<&models::knock_out_shuffled> {
  static Status check(const auto& /*model*/, const auto& /*trace*/, const models::KnockOutOptions& /*options*/,
                      std::int64_t copies, const auto&...) {
    return check_count("copies", copies, kMaxRepeats);
  }
};
template <>
struct Expected<&models::knock_out_shuffled> : AnyAnswer {
  static Status check(const std::vector<Field>& answer, const models::Model&, const models::Trace& trace,
                      const models::KnockOutOptions&, std::int64_t copies, const auto&...) {
    LOCUS_CHECK(check_length(answer, copies, "a map for each copy"));
    for (const Field& each : answer) {
      LOCUS_CHECK(check_heads(each, trace.model()));
    }
    return {};
  }
};
template <>
struct Expected<&models::logit_attribution> : AnyAnswer {
  static Status check(const models::LogitAttribution& answer, const models::Model&, const models::Trace& trace,
                      const auto&...) {
    const models::ModelInfo& model = trace.model();
    LOCUS_CHECK(check_heads(answer.heads, model));
    LOCUS_CHECK(check_length(answer.feed_forwards, model.layers, "a number for each layer"));
    LOCUS_CHECK(check_length(answer.mixers, model.has_mixers() ? model.layers : 0, "a number for each layer"));
    LOCUS_CHECK(check_length(answer.biases, model.layers, "a number for each layer"));
    return remote::check(answer.position >= 0 && answer.position < trace.length(), "a position of the text");
  }
};
template <>
struct Expected<&models::score_sources> : AnyAnswer {
  static Status check(const models::ScoreSources& answer, const models::Model&, const models::Trace& trace,
                      const auto&...) {
    const models::ModelInfo& model = trace.model();
    LOCUS_CHECK(remote::check(answer.terms.rows == static_cast<std::int64_t>(answer.query.size()) &&
                                  answer.terms.columns == static_cast<std::int64_t>(answer.key.size()),
                              "a number for each two sources"));
    for (const auto* list : {&answer.query, &answer.key}) {
      for (const models::ScoreSource& each : *list) {
        LOCUS_CHECK(remote::check(each.layer < model.layers && each.head < model.heads, "sources of the model"));
      }
    }
    return remote::check(answer.query_token >= 0 && answer.query_token < trace.length() && answer.key_token >= 0 &&
                             answer.key_token < trace.length(),
                         "tokens of the run");
  }
};
template <>
struct Expected<&models::predictions_at> : AnyAnswer {
  static Status check(const std::vector<models::Prediction>& answer, const models::Model&, const models::Trace&,
                      std::int64_t, std::int64_t count, const auto&...) {
    return remote::check(static_cast<std::int64_t>(answer.size()) <= count, "no more predictions than were asked for");
  }
};
template <>
struct Expected<&models::logit_lens> : AnyAnswer {
  static Status check(const models::LogitLens& answer, const models::Model&, const models::Trace& trace,
                      const auto&...) {
    const std::int64_t rows = trace.model().layers + 1;
    const auto cells = checked_product({rows, trace.length()}).value_or(0);
    LOCUS_CHECK(remote::check(answer.probability.rows == rows && answer.probability.columns == trace.length(),
                              "a cell for each layer and token"));
    LOCUS_CHECK(check_length(answer.ids, cells, "a token for each cell"));
    LOCUS_CHECK(check_length(answer.labels, cells, "a token for each cell"));
    return check_length(answer.ranks, cells, "a rank for each cell");
  }
};
template <>
struct Expected<&models::move_curve> : AnyAnswer {
  static Status check(const std::vector<models::MovePoint>& answer, const models::Model&, const models::Trace&,
                      const models::MoveOptions& options, const auto&...) {
    return remote::check(answer.size() == options.by.size(), "a point for each shift");
  }
};
template <>
struct Expected<&models::move_map> : AnyAnswer {
  static Status check(const std::vector<std::vector<models::MovePoint>>& answer, const models::Model&,
                      const models::Trace&, const models::MoveOptions& options, const auto&...) {
    LOCUS_CHECK(check_length(answer, options.tokens.size(), "a row for each token"));
    for (const auto& row : answer) {
      LOCUS_CHECK(remote::check(row.size() == options.by.size(), "a point for each shift"));
    }
    return {};
  }
};

#define LOCUS_EDIT_CALLS(CALL)                                   \
  CALL("effect_of_edits", false, &models::effect_of_edits)       \
  CALL("effect_of_change", false, &models::effect_of_change)     \
  CALL("effect_on", false, &models::effect_on)                   \
  CALL("knock_out", false, &models::knock_out)                   \
  CALL("knock_out_shuffled", false, &models::knock_out_shuffled) \
  CALL("logit_attribution", false, &models::logit_attribution)   \
  CALL("logit_lens", false, &models::logit_lens)                 \
  CALL("score_sources", false, &models::score_sources)           \
  CALL("predictions_at", false, &models::predictions_at)         \
  CALL("move_curve", false, &models::move_curve)                 \
  CALL("move_map", false, &models::move_map)
LOCUS_CALLS(edit_calls, LOCUS_EDIT_CALLS)

}  // namespace locus::remote
