#include "app/workbench/work/cell_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/series.h"
#include "app/workbench/work/token_words.h"
#include "core/base/numbers.h"
#include "models/api/pairs.h"

namespace locus::workbench {

namespace {

constexpr std::array kCellQuantities = {
    models::Quantity::kContent, models::Quantity::kContribution, models::Quantity::kLogit,  models::Quantity::kWeight,
    models::Quantity::kGate,    models::Quantity::kPosition,     models::Quantity::kC2p,    models::Quantity::kP2c,
    models::Quantity::kImplied, models::Quantity::kDeviation,    models::Quantity::kCarried};

// The rotary pairs that give most to the cell's logit, with their wavelengths and signs.
std::string strongest_pairs(const models::Trace& trace, const models::MapRequest& where) {
  constexpr std::size_t kShown = 3;
  if (where.head < 0) {
    return {};
  }
  const auto list = models::pair_list(trace, where.layer, where.head);
  const auto cell =
      list ? models::pair_parts(trace, where.layer, where.head, where.rows.begin, where.columns.begin) : list.error();
  if (!cell) {
    return {};
  }
  std::vector<std::size_t> order(cell->parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(cell->parts[a]) > std::abs(cell->parts[b]); });
  std::string text;
  for (std::size_t n = 0; n < std::min(kShown, order.size()); ++n) {
    const analysis::PairRow& row = list->rows[order[n]];
    const double part = cell->parts[order[n]];
    text += (n > 0 ? ", " : "") + row.name;
    text += std::isfinite(row.wavelength) ? " (λ " + views::short_number(row.wavelength) + ") " : " ";
    text += (part > 0 ? "+" : "") + views::short_number(part);
  }
  return text;
}

Cell cell_of(const views::Column& column, const models::MapRequest& where, bool scores, const StopToken& stop) {
  Cell cell;
  cell.column = column.name;
  cell.query = where.rows.begin;
  cell.key = where.columns.begin;
  cell.query_token = shown_token(*column.trace, cell.query);
  cell.key_token = shown_key(*column.trace, cell.key);
  cell.has_distance = !column.trace->crosses() && column.trace->image_grid().rows == 0;
  if (!scores) {
    for (const models::Quantity quantity : kCellQuantities) {
      cell.values.push_back({quantity, std::nullopt});
    }
    cell.values.push_back({std::nullopt, std::nullopt});
    return cell;
  }
  cell.pairs = strongest_pairs(*column.trace, where);
  const models::ModelInfo& model = column.trace->model();
  for (const models::Quantity quantity : kCellQuantities) {
    const bool of_gates = quantity == models::Quantity::kGate || quantity == models::Quantity::kPosition;
    const bool of_parts = quantity == models::Quantity::kC2p || quantity == models::Quantity::kP2c;
    const bool of_mixers = quantity == models::Quantity::kImplied;
    const bool of_transforms = quantity == models::Quantity::kDeviation || quantity == models::Quantity::kCarried;
    if ((of_gates && !model.has_gates()) || (of_parts && !model.has_parts()) || (of_mixers && !model.of_mixers()) ||
        (of_transforms && !model.transforms())) {
      cell.values.push_back({quantity, std::nullopt});
      continue;
    }
    models::MapRequest request = where;
    request.mark_masked = true;
    request.quantity = quantity;
    const auto value = column.trace->map(request, stop);
    cell.values.push_back(
        {quantity, value && !value->values.empty() ? std::optional(value->values.front()) : std::nullopt});
  }
  const auto sink = column.trace->sink(where.layer, where.head, where.rows, stop);
  cell.values.push_back({std::nullopt, sink ? std::optional(sink->values.front()) : std::nullopt});
  return cell;
}

}  // namespace

std::string value_text(float value, int digits) {
  return std::isnan(value) ? "masked" : general_text(static_cast<double>(value), digits);
}

Result<std::vector<Cell>> cell_values(const views::View& view, const views::ViewInput& input, const views::Token& query,
                                      const views::Token& key, const StopToken& stop) {
  const std::vector<views::Column>& columns = input.columns;
  std::vector<Cell> cells;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const views::Column& column = columns[n];
    const std::int64_t own_query = views::own_token(input, query, column);
    const std::int64_t own_key = views::own_key(input, key, column);
    if (own_query == views::kNone || own_key == views::kNone) {
      continue;
    }
    models::MapRequest where;
    const views::HeadRef head = views::head_of_column(input, n);
    where.layer = head.layer;
    where.head = head.head;
    where.rows = {own_query, own_query + 1};
    where.columns = {own_key, own_key + 1};
    const auto drawn = view.drawn_at(input, n, own_query, own_key);
    const bool of_view = drawn.ok() && drawn->has_value();
    cells.push_back(cell_of(column, where, !of_view, stop));
    if (of_view) {
      cells.back().drawn = **drawn;
    }
    cells.back().encoding = models::layer_text(column.trace->model(), where.layer);
    cells.back().asked_query = query;
    cells.back().asked_key = key;
    if (stop.stop_requested()) {
      return cancelled();
    }
  }
  return cells;
}

}  // namespace locus::workbench
