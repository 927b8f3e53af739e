// Calls of models/api/analyses.h, perceived_distance.h, repeated_text.h, state_norms.h, transform_steps.h and verify.h.
#include "models/api/analyses.h"

#include "models/api/perceived_distance.h"
#include "models/api/picture_stability.h"
#include "models/api/repeated_text.h"
#include "models/api/state_norms.h"
#include "models/api/transform_steps.h"
#include "models/api/verify.h"
#include "models/remote/codec/call.h"
#include "models/remote/codec/checks.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

template <>
struct Expected<&models::distance_profile> : AnyAnswer {
  static Status check(const analysis::DistanceProfile& answer, const auto&...) {
    const std::size_t bins = answer.mean.size();
    return remote::check(answer.edges.size() == bins + 1 && answer.low.size() == bins && answer.high.size() == bins &&
                             answer.cells.size() == bins,
                         "numbers for each bin");
  }
};
template <>
struct Expected<&models::theory_curves> : AnyAnswer {
  static Status check(const std::vector<models::TheoryCurve>& answer, const models::Trace&, std::int64_t, std::int64_t,
                      const std::vector<double>& distances, const auto&...) {
    for (const models::TheoryCurve& curve : answer) {
      LOCUS_CHECK(remote::check(curve.mean.size() == distances.size() &&
                                    (curve.deviation.empty() || curve.deviation.size() == distances.size()),
                                "a number for each distance"));
    }
    return {};
  }
};
template <>
struct Allowed<&models::theory_curves> {
  static Status check(const auto& /*trace*/, std::int64_t /*layer*/, std::int64_t /*head*/,
                      const std::vector<double>& /*distances*/, models::TheoryAngle /*angle*/, std::int64_t pairs,
                      std::uint64_t /*seed*/) {
    return check_count("pairs", pairs, kMaxPairs);
  }
};
template <>
struct Expected<&models::head_table> : AnyAnswer {
  static Status check(const std::vector<models::HeadRow>& answer, const models::Trace& trace,
                      const models::HeadTableOptions& options, const auto&...) {
    const models::ModelInfo& model = trace.model();
    const Range layers = options.layers.empty() ? Range{0, model.layers} : options.layers;
    bool fits = static_cast<std::int64_t>(answer.size()) == layers.size() * model.heads;
    for (std::size_t n = 0; fits && n < answer.size(); ++n) {
      const auto index = static_cast<std::int64_t>(n);
      fits = answer[n].layer == layers.begin + index / model.heads && answer[n].head == index % model.heads;
    }
    return remote::check(fits, "a row for each head");
  }
};
template <>
struct Expected<&models::induction_map> : AnyAnswer {
  static Status check(const Field& answer, const models::Model& model, const auto&...) {
    return check_heads(answer, model.info());
  }
};
template <>
struct Expected<&models::attention_rollout> : AnyAnswer {
  static Status check(const std::vector<float>& answer, const models::Trace& trace, const auto&...) {
    return check_length(answer, trace.length(), "a share of each token");
  }
};
template <>
struct Expected<&models::head_difference> : AnyAnswer {
  static Status check(const Field& answer, const models::Trace& first, const auto&...) {
    return check_heads(answer, first.model());
  }
};
template <>
struct Expected<&models::match_heads> : AnyAnswer {
  static Status check(const std::vector<models::HeadMatch>& answer, const models::Trace& first,
                      const models::Trace& second, const auto&...) {
    const models::ModelInfo& other = second.model();
    bool fits = static_cast<std::int64_t>(answer.size()) == first.model().layers * first.model().heads;
    for (const models::HeadMatch& match : answer) {
      fits = fits && match.layer >= -1 && match.layer < other.layers && match.head >= -1 && match.head < other.heads;
    }
    return remote::check(fits, "a match of each head");
  }
};
template <>
struct Expected<&models::shift_stability> : AnyAnswer {
  static Status check(const std::vector<models::StabilityRow>& answer, const models::Model& model, const auto&...) {
    return check_length(answer, model.info().layers, "a row for each layer");
  }
};
template <>
struct Expected<&models::repeated_loss> : AnyAnswer {
  static Status check(const models::RepeatedLoss& answer, const models::Model&, const models::Trace&,
                      const models::RepeatedTextOptions& options, const auto&...) {
    const bool inputs = answer.first.rows == (options.own_text ? 1 : options.inputs);
    return remote::check(inputs && answer.first.columns >= 1 && answer.first.columns < options.period &&
                             answer.second.rows == answer.first.rows && answer.second.columns == answer.first.columns,
                         "a loss for each token of both copies");
  }
};
template <>
struct Expected<&models::state_norms> : AnyAnswer {
  static Status check(const models::StateNorms& answer, const models::Model&, const models::Trace& trace,
                      const auto&...) {
    bool fits = true;
    for (const Field* field : {&answer.stream, &answer.largest, &answer.value}) {
      fits = fits && field->rows == trace.model().layers && field->columns == trace.length();
    }
    return remote::check(fits, "a number for each layer and token");
  }
};
template <>
struct Expected<&models::picture_stability> : AnyAnswer {
  static Status check(const std::vector<models::PictureStabilityPoint>& answer, const models::Model&,
                      const models::Trace&, const models::PictureSweep& sweep, const auto&...) {
    bool fits = answer.size() == sweep.by.size();
    for (std::size_t n = 0; fits && n < answer.size(); ++n) {
      fits = answer[n].layers.size() == answer.front().layers.size();
    }
    return remote::check(fits, "a number of each layer for each amount");
  }
};

template <>
struct Expected<&models::transform_steps> : AnyAnswer {
  static Status check(const models::TransformSteps& answer, const models::Trace&, std::int64_t, std::int64_t,
                      std::int64_t query, std::int64_t key, const auto&...) {
    const std::int64_t count = query - key + 1;
    for (const auto* list :
         {&answer.strength, &answer.change, &answer.carried, &answer.deviation, &answer.determinant}) {
      LOCUS_CHECK(check_length(*list, count, "a number of each token"));
    }
    return {};
  }
};

template <>
struct Expected<&models::perceived_distances> : AnyAnswer {
  static Status check(const models::PerceivedDistances& answer, const models::Trace&, std::int64_t, std::int64_t,
                      std::int64_t query, const auto&...) {
    return check_length(answer.distance, query + 1, "a number of each key up to the query");
  }
};

#define LOCUS_ANALYSIS_CALLS(CALL)                                 \
  CALL("distance_bias", false, &models::distance_bias)             \
  CALL("distance_profile", false, &models::distance_profile)       \
  CALL("theory_curves", false, &models::theory_curves)             \
  CALL("head_table", false, &models::head_table)                   \
  CALL("induction_map", false, &models::induction_map)             \
  CALL("attention_rollout", false, &models::attention_rollout)     \
  CALL("head_difference", false, &models::head_difference)         \
  CALL("match_heads", false, &models::match_heads)                 \
  CALL("shift_stability", false, &models::shift_stability)         \
  CALL("picture_stability", false, &models::picture_stability)     \
  CALL("length_curve", false, &models::length_curve)               \
  CALL("repeated_loss", false, &models::repeated_loss)             \
  CALL("state_norms", false, &models::state_norms)                 \
  CALL("transform_steps", false, &models::transform_steps)         \
  CALL("perceived_distances", false, &models::perceived_distances) \
  CALL("verify", false, &models::verify)                           \
  CALL("verify_expected", false, &models::verify_expected)
LOCUS_CALLS(analysis_calls, LOCUS_ANALYSIS_CALLS)

}  // namespace locus::remote
