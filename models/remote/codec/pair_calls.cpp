// Calls of models/api/pairs.h and models/api/addressing.h.
#include "models/api/pairs.h"

#include "models/api/addressing.h"
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

// One list per layer, each empty or with an entry for each head.
template <class Layer, class Heads>
Status check_layers(const std::vector<Layer>& layers, const models::ModelInfo& model, const Heads& heads) {
  bool fits = static_cast<std::int64_t>(layers.size()) == model.layers;
  for (const Layer& layer : layers) {
    fits = fits && (heads(layer).empty() || static_cast<std::int64_t>(heads(layer).size()) == model.heads);
  }
  return check(fits, "an entry for each head");
}
template <>
struct Expected<&models::addressing> : AnyAnswer {
  static Status check(const std::vector<analysis::LayerAddressing>& answer, const models::Trace& trace,
                      const auto&...) {
    return check_layers(
        answer, trace.model(), [](const auto& layer) -> const auto& { return layer.heads; });
  }
};
template <>
struct Expected<&models::swap_scores> : AnyAnswer {
  static Status check(const std::vector<std::vector<analysis::SwapScores>>& answer, const models::Trace& trace,
                      const auto&...) {
    return check_layers(
        answer, trace.model(), [](const auto& layer) -> const auto& { return layer; });
  }
};
template <>
struct Expected<&models::addressing_spectrum> : AnyAnswer {
  static Status check(const analysis::AddressingSpectrum& answer, const auto&...) {
    LOCUS_CHECK(check_list(answer.pairs));
    const std::size_t rows = answer.pairs.rows.size();
    return remote::check(answer.place.size() == rows && answer.word.size() == rows && answer.both.size() == rows,
                         "a number for each pair");
  }
};
template <>
struct Expected<&models::addressing_row> : AnyAnswer {
  static Status check(const analysis::AddressingRow& answer, const models::Trace& trace, const auto&...) {
    const std::size_t keys = answer.keys.size();
    LOCUS_CHECK(remote::check(answer.place.size() == keys && answer.word.size() == keys && answer.both.size() == keys &&
                                  answer.logit.size() == keys,
                              "a number for each key"));
    bool ascend = true;
    std::int64_t last = -1;
    for (const std::int64_t key : answer.keys) {
      ascend = ascend && key > last;
      last = key;
    }
    return remote::check(ascend && last < trace.length(), "keys of the run");
  }
};

#define LOCUS_PAIR_CALLS(CALL)                                     \
  CALL("pair_list", false, &models::pair_list)                     \
  CALL("pair_energy", false, &models::pair_energy)                 \
  CALL("pair_parts", false, &models::pair_parts)                   \
  CALL("pair_profile", false, &models::pair_profile)               \
  CALL("pair_plane", false, &models::pair_plane)                   \
  CALL("pair_statistics", false, &models::pair_statistics)         \
  CALL("with_pairs", false, &models::with_pairs)                   \
  CALL("addressing", false, &models::addressing)                   \
  CALL("addressing_spectrum", false, &models::addressing_spectrum) \
  CALL("addressing_row", false, &models::addressing_row)           \
  CALL("swap_scores", false, &models::swap_scores)
LOCUS_CALLS(pair_calls, LOCUS_PAIR_CALLS)

}  // namespace locus::remote
