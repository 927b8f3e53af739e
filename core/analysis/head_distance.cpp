#include "core/analysis/head_distance.h"

#include <algorithm>
#include <limits>

#include "core/analysis/row_blocks.h"

namespace locus::analysis {

namespace {

// (H, R, T) weights of the queries `rows`, hidden cells 0.
Result<at::Tensor> weight_rows(const attention::ScoreField& field, Range rows, StopToken stop) {
  const std::int64_t length = field.source().length();
  at::Tensor all = at::zeros({field.source().heads(), rows.size(), length});
  const auto visit = [&](Range block, Range columns, const at::Tensor& weights) {
    all.slice(1, block.begin - rows.begin, block.end - rows.begin).slice(2, columns.begin, columns.end).copy_(weights);
  };
  LOCUS_CHECK(for_each_row_block(field, attention::Quantity::kWeight, {0, field.source().heads()}, rows, visit, stop));
  return all;
}

}  // namespace

Result<Field> head_distances(const attention::ScoreField& first, const attention::ScoreField& second, std::int64_t rows,
                             std::uint64_t seed, StopToken stop) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = first.source().length();
  if (length != second.source().length() || length < 2) {
    return bad_input("head distance: expected two runs over the same 2 or more tokens, found " +
                     std::to_string(length) + " and " + std::to_string(second.source().length()));
  }
  const std::vector<std::int64_t> chosen = sample_rows({1, length}, rows, seed);
  at::Tensor total = at::zeros({first.source().heads(), second.source().heads()}, at::kDouble);
  for (const std::int64_t row : chosen) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(const at::Tensor a, weight_rows(first, {row, row + 1}, stop));
    LOCUS_TRY(const at::Tensor b, weight_rows(second, {row, row + 1}, stop));
    total += at::cdist(a.squeeze(1), b.squeeze(1), 1.0).to(at::kDouble);
  }
  total *= 0.5 / static_cast<double>(chosen.size());

  Field field = Field::zeros(total.size(0), total.size(1));
  for (std::int64_t cell = 0; cell < total.numel(); ++cell) {
    field.values[static_cast<std::size_t>(cell)] = static_cast<float>(total.data_ptr<double>()[cell]);
  }
  field.row_axis.name = field.column_axis.name = "head";
  field.quantity = "total variation distance";
  return field;
}

namespace {

// Rows ≤ columns. The shortest-augmenting-path form with potentials: `owner[c]` is the row (from 1) of column c.
std::vector<std::int64_t> assign(std::int64_t rows, std::int64_t columns, const auto& cost) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto width = static_cast<std::size_t>(columns) + 1;
  std::vector<double> row_potential(static_cast<std::size_t>(rows) + 1);
  std::vector<double> column_potential(width);
  std::vector<std::size_t> owner(width);
  std::vector<std::size_t> way(width);
  for (std::size_t row = 1; row <= static_cast<std::size_t>(rows); ++row) {
    owner[0] = row;
    std::size_t column = 0;
    std::vector<double> slack(width, kInfinity);
    std::vector<char> used(width);
    do {
      used[column] = 1;
      const std::size_t current = owner[column];
      double delta = kInfinity;
      std::size_t next = 0;
      for (std::size_t c = 1; c < width; ++c) {
        if (used[c] != 0) {
          continue;
        }
        const double reduced = cost(current - 1, c - 1) - row_potential[current] - column_potential[c];
        if (reduced < slack[c]) {
          slack[c] = reduced;
          way[c] = column;
        }
        if (slack[c] < delta) {
          delta = slack[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c < width; ++c) {
        if (used[c] != 0) {
          row_potential[owner[c]] += delta;
          column_potential[c] -= delta;
        } else {
          slack[c] -= delta;
        }
      }
      column = next;
    } while (owner[column] != 0);
    for (; column != 0; column = way[column]) {
      owner[column] = owner[way[column]];
    }
  }
  std::vector<std::int64_t> column_of(static_cast<std::size_t>(rows), -1);
  for (std::size_t c = 1; c < width; ++c) {
    if (owner[c] != 0) {
      column_of[owner[c] - 1] = static_cast<std::int64_t>(c) - 1;
    }
  }
  return column_of;
}

}  // namespace

std::vector<std::int64_t> best_assignment(const Field& cost) {
  const auto entry = [&](std::size_t row, std::size_t column) {
    return static_cast<double>(cost.values[row * static_cast<std::size_t>(cost.columns) + column]);
  };
  if (cost.rows <= cost.columns) {
    return assign(cost.rows, cost.columns, entry);
  }
  const std::vector<std::int64_t> row_of =
      assign(cost.columns, cost.rows, [&](std::size_t row, std::size_t column) { return entry(column, row); });
  std::vector<std::int64_t> column_of(static_cast<std::size_t>(cost.rows), -1);
  for (std::size_t column = 0; column < row_of.size(); ++column) {
    column_of[static_cast<std::size_t>(row_of[column])] = static_cast<std::int64_t>(column);
  }
  return column_of;
}

}  // namespace locus::analysis
