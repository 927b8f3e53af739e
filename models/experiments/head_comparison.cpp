// models/api/analyses.h: how the heads of two runs differ, and which correspond.
#include <limits>

#include "core/analysis/head_distance.h"
#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"

namespace locus::models {

namespace {

std::string shape_of(const std::vector<const attention::ScoreField*>& layers) {
  const std::int64_t heads = layers.empty() ? 0 : layers.front()->source().heads();
  return std::to_string(layers.size()) + " layers of " + std::to_string(heads) + " heads";
}

}  // namespace

Result<Field> local::head_difference(const Trace& first, const Trace& second, std::int64_t rows, StopToken stop,
                                     const Progress& progress) {
  return guarded([&]() -> Result<Field> {
    LOCUS_TRY(const auto a, all_scores(first));
    LOCUS_TRY(const auto b, all_scores(second));
    if (a.empty() || a.size() != b.size() || a.front()->source().heads() != b.front()->source().heads()) {
      return bad_input("head difference, index with index: expected the same layers and heads, found " + shape_of(a) +
                       " and " + shape_of(b));
    }
    Field field =
        layer_head_field(static_cast<std::int64_t>(a.size()), a.front()->source().heads(), "total variation distance");
    for (std::size_t layer = 0; layer < a.size(); ++layer) {
      report_layer(progress, layer, a.size());
      LOCUS_TRY(const Field distances, analysis::head_distances(*a[layer], *b[layer], rows, 1, stop));
      for (std::int64_t head = 0; head < distances.rows; ++head) {
        field.at(static_cast<std::int64_t>(layer), head) = distances.at(head, head);
      }
    }
    return field;
  });
}

Result<std::vector<HeadMatch>> local::match_heads(const Trace& first, const Trace& second, std::int64_t rows,
                                                  StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<std::vector<HeadMatch>> {
    LOCUS_TRY(const auto a, all_scores(first));
    LOCUS_TRY(const auto b, all_scores(second));
    if (a.empty() || b.empty()) {
      return bad_input("head matching: expected layers in both traces");
    }
    const std::int64_t heads = a.front()->source().heads();
    const std::int64_t other_heads = b.front()->source().heads();
    Field cost =
        Field::zeros(static_cast<std::int64_t>(a.size()) * heads, static_cast<std::int64_t>(b.size()) * other_heads);
    for (std::size_t layer = 0; layer < a.size(); ++layer) {
      report_layer(progress, layer, a.size());
      for (std::size_t other = 0; other < b.size(); ++other) {
        LOCUS_TRY(const Field distances, analysis::head_distances(*a[layer], *b[other], rows, 1, stop));
        for (std::int64_t row = 0; row < heads; ++row) {
          for (std::int64_t column = 0; column < other_heads; ++column) {
            cost.at(static_cast<std::int64_t>(layer) * heads + row,
                    static_cast<std::int64_t>(other) * other_heads + column) = distances.at(row, column);
          }
        }
      }
    }
    const std::vector<std::int64_t> assigned = analysis::best_assignment(cost);
    std::vector<HeadMatch> matches;
    for (std::size_t row = 0; row < assigned.size(); ++row) {
      const std::int64_t column = assigned[row];
      matches.push_back(column < 0 ? HeadMatch{-1, -1, std::numeric_limits<double>::quiet_NaN()}
                                   : HeadMatch{column / other_heads, column % other_heads,
                                               static_cast<double>(cost.at(static_cast<std::int64_t>(row), column))});
    }
    return matches;
  });
}

}  // namespace locus::models
