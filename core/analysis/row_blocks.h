// Walks a score field by blocks of queries, so that an analysis sees every visible cell without a (T, T) map.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "core/attention/score_field.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::analysis {

// Called with (h, R, K) float32 scores of `rows` × `columns`, `columns` being all keys any of these queries sees;
// hidden cells are 0 for weights and NaN for every other quantity.
using BlockVisitor = std::function<void(Range rows, Range columns, const at::Tensor& scores)>;

// The queries [rows.begin, rows.end) (empty: all), in order, in blocks of at most 2²¹ cells. Errors: those of
// ScoreSource::scores, kCancelled.
Status for_each_row_block(const attention::ScoreField& field, attention::Quantity quantity, Range heads, Range rows,
                          const BlockVisitor& visit, StopToken stop = {});

// `count` distinct queries of `rows`, ascending, drawn without replacement (deterministic in `seed`); all of them when
// count ≤ 0 or there are no more.
std::vector<std::int64_t> sample_rows(Range rows, std::int64_t count, std::uint64_t seed);

}  // namespace locus::analysis
