// Calls of models/api/pairs.h.
#include "models/api/pairs.h"

#include "models/remote/codec/call.h"
#include "models/remote/codec/checks.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

template <>
struct Expected<&models::pair_list> : AnyAnswer {
  static constexpr bool kKept = true;
  static Status check(const analysis::PairList& list, const auto&...) { return check_list(list); }
};
template <>
struct Expected<&models::pair_energy> : AnyAnswer {
  static Status check(const Field& field, const models::Trace& trace, const auto&...) {
    return remote::check(field.rows == trace.model().heads, "a row for each head");
  }
};
template <>
struct Expected<&models::pair_parts> : AnyAnswer {
  static Status check(const analysis::CellParts& answer, const models::Trace&, std::int64_t, std::int64_t, std::int64_t,
                      std::int64_t, const std::vector<double>& distances) {
    const Field& elsewhere = answer.elsewhere;
    return remote::check(
        elsewhere.values.empty() || (elsewhere.rows == static_cast<std::int64_t>(answer.parts.size()) &&
                                     elsewhere.columns == static_cast<std::int64_t>(distances.size())),
        "a column for each distance");
  }
};
template <>
struct Expected<&models::pair_profile> : AnyAnswer {
  static Status check(const analysis::PairProfile& answer, const auto&...) {
    LOCUS_CHECK(check_list(answer.pairs));
    const auto rows = static_cast<std::int64_t>(answer.pairs.rows.size());
    const auto columns = static_cast<std::size_t>(answer.parts.columns);
    LOCUS_CHECK(remote::check(answer.parts.rows == rows && answer.share.size() == answer.pairs.rows.size(),
                              "a row for each pair"));
    return remote::check(answer.count.size() == columns && answer.logit.size() == columns &&
                             (answer.carrier.empty() || answer.carrier.size() == columns),
                         "numbers for each distance");
  }
};
template <>
struct Expected<&models::pair_plane> : AnyAnswer {
  static Status check(const analysis::PairPlane& answer, const models::Trace& trace, const auto&...) {
    for (const auto* points : {&answer.query, &answer.key, &answer.turned_query, &answer.turned_key}) {
      const auto count = static_cast<std::size_t>(trace.length());
      LOCUS_CHECK(
          remote::check(points->real.size() == count && points->imaginary.size() == count, "a point for each token"));
    }
    return {};
  }
};
template <>
struct Expected<&models::pair_statistics> : AnyAnswer {
  static Status check(const std::vector<std::vector<analysis::PairStatistics>>& answer, const models::Trace& trace,
                      const auto&...) {
    const models::ModelInfo& model = trace.model();
    bool fits = answer.empty() || static_cast<std::int64_t>(answer.size()) == model.layers;
    for (const auto& layer : answer) {
      fits = fits && (layer.empty() || static_cast<std::int64_t>(layer.size()) == model.heads);
    }
    return remote::check(fits, "an entry for each head");
  }
};

#define LOCUS_PAIR_CALLS(CALL)                             \
  CALL("pair_list", false, &models::pair_list)             \
  CALL("pair_energy", false, &models::pair_energy)         \
  CALL("pair_parts", false, &models::pair_parts)           \
  CALL("pair_profile", false, &models::pair_profile)       \
  CALL("pair_plane", false, &models::pair_plane)           \
  CALL("pair_statistics", false, &models::pair_statistics) \
  CALL("with_pairs", false, &models::with_pairs)
LOCUS_CALLS(pair_calls, LOCUS_PAIR_CALLS)

}  // namespace locus::remote
