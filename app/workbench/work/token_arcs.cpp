#include "app/workbench/work/token_arcs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/alignment.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr double kLeastWeight = 0.01;

std::vector<double> visible_weights(const Field& field) {
  std::vector<double> weights;
  weights.reserve(field.values.size());
  for (const float value : field.values) {
    weights.push_back(std::isfinite(value) ? static_cast<double>(value) : 0);
  }
  return weights;
}

models::MapRequest request_of(const views::ViewInput& input, std::size_t column) {
  const views::HeadRef head = views::head_of_column(input, column);
  models::MapRequest request;
  request.layer = head.layer;
  request.head = head.head;
  return request;
}

// What the token reads in a column, on the strip's tokens; without weights where the column has nothing for it.
Result<ArcRow> reading(const views::ViewInput& input, std::size_t column, std::size_t strip, std::int64_t token,
                       const StopToken& stop) {
  const views::Column& own = input.columns[column];
  const views::Column& shown = input.columns[strip];
  ArcRow row{column, true, 0, {}};
  const auto known = views::token_at(input, shown, token);
  const std::int64_t query = known ? views::own_token(input, *known, own) : views::kNone;
  if (query == views::kNone) {
    return row;
  }
  models::MapRequest request = request_of(input, column);
  request.rows = {query, query + 1};
  LOCUS_TRY(Field field, own.trace->map(request, stop));
  if (column != strip && !views::same_tokens(*own.trace, *shown.trace)) {
    field.row_axis.first = static_cast<double>(query);
    field.column_axis.first = 0;
    Field on_strip =
        views::laid_out(field, *own.trace, *shown.trace, {token, token + 1}, {0, shown.trace->length()}, true);
    field = std::move(on_strip);
  }
  row.weights = visible_weights(field);
  return row;
}

Result<ArcRow> read_by(const views::ViewInput& input, std::size_t strip, std::int64_t token, const Range& seen,
                       const StopToken& stop) {
  const views::Column& shown = input.columns[strip];
  ArcRow row{strip, false, seen.begin, {}};
  if (seen.empty()) {
    return row;
  }
  models::MapRequest request = request_of(input, strip);
  request.rows = seen;
  request.columns = {token, token + 1};
  LOCUS_TRY(const Field field, shown.trace->map(request, stop));
  row.weights = visible_weights(field);
  if (seen.begin <= token && token < seen.end) {
    row.weights[static_cast<std::size_t>(token - seen.begin)] = 0;  // it is among those that it reads
  }
  return row;
}

}  // namespace

Result<std::vector<ArcRow>> arc_rows(const views::ViewInput& input, std::size_t strip, std::int64_t token,
                                     const Range& seen, const StopToken& stop) {
  std::vector<ArcRow> rows;
  const std::int64_t length = input.columns[strip].trace->length();
  if (token < 0 || token >= length || input.columns[strip].trace->crosses()) {
    return rows;
  }
  const Range within{std::clamp<std::int64_t>(seen.begin, 0, length), std::clamp<std::int64_t>(seen.end, 0, length)};
  const auto add = [&](Result<ArcRow> row) -> Status {
    if (!row && row.error().code == ErrorCode::kCancelled) {
      return row.error();
    }
    if (row && !row->weights.empty()) {
      rows.push_back(*std::move(row));
    }
    return {};
  };
  LOCUS_CHECK(add(read_by(input, strip, token, within, stop)));
  for (std::size_t column = 0; column < input.columns.size(); ++column) {
    if (!input.columns[column].trace->crosses()) {
      LOCUS_CHECK(add(reading(input, column, strip, token, stop)));
    }
  }
  return rows;
}

ChosenArcs chosen_arcs(const ArcRow& row, std::size_t most, const std::function<bool(std::int64_t token)>& is_seen) {
  ChosenArcs chosen;
  for (std::size_t n = 0; n < row.weights.size(); ++n) {
    const std::int64_t token = row.first + static_cast<std::int64_t>(n);
    if (row.weights[n] >= kLeastWeight && is_seen(token)) {
      chosen.arcs.push_back({token, row.weights[n]});
    }
  }
  std::ranges::stable_sort(chosen.arcs, std::ranges::greater(), &Arc::weight);
  chosen.arcs.resize(std::min(chosen.arcs.size(), most));
  for (const Arc& arc : chosen.arcs) {
    chosen.held += arc.weight;
  }
  return chosen;
}

std::string arcs_text(const std::vector<ArcRow>& rows, const std::vector<ChosenArcs>& chosen) {
  std::string text;
  for (std::size_t n = 0; n < std::min(rows.size(), chosen.size()); ++n) {
    if (!rows[n].reads) {
      continue;
    }
    const std::size_t count = chosen[n].arcs.size();
    text += std::string(text.empty() ? "" : "; ") +
            (count == 0   ? "no arc of 1 % in sight"
             : count == 1 ? "1 arc holds "
                          : std::to_string(count) + " arcs hold ") +
            (count == 0 ? std::string() : fixed_text(100 * std::min(chosen[n].held, 1.0), 0) + " %");
  }
  return text;
}

}  // namespace locus::workbench
