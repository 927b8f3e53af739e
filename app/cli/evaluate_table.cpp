#include "app/cli/evaluate_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"

namespace locus::cli {
namespace {

std::string value_text(const training::Evaluation& row, std::size_t n) {
  const double value = row.splits[n].second;
  if (std::isnan(value)) {
    return "length not supported";
  }
  const bool is_error = row.metric == "error";
  const auto text = [&](double each) { return is_error ? fixed_text(100 * each, 1) : fixed_text(each, 3); };
  return text(value) + (is_error ? " %" : "") + " (" + text(row.intervals[n].first) + " … " +
         text(row.intervals[n].second) + ")";
}

std::string seed_text(const training::Budget& budget) {
  return budget.steps == 0        ? ""
         : budget.other_seeds > 0 ? std::to_string(budget.seed) + " of " + std::to_string(budget.other_seeds + 1)
                                  : std::to_string(budget.seed);
}

std::string budget_line(const std::vector<training::Evaluation>& rows) {
  std::vector<std::int64_t> tokens;
  for (const training::Evaluation& row : rows) {
    if (row.budget.tokens > 0 && std::find(tokens.begin(), tokens.end(), row.budget.tokens) == tokens.end()) {
      tokens.push_back(row.budget.tokens);
    }
  }
  if (tokens.size() < 2) {
    return "";
  }
  const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
  return "\nUnequal budgets: " + std::to_string(*least) + " to " + std::to_string(*most) + " tokens of training.\n";
}

}  // namespace

std::string evaluation_table(const std::vector<training::Evaluation>& rows) {
  std::string table = "| checkpoint | encoding | steps | seed |";
  std::string rule = "|---|---|---:|---:|";
  for (const auto& [split, value] : rows.front().splits) {
    table += " " + split + " |";
    rule += "---|";
  }
  table += "\n" + rule + "\n";
  for (const training::Evaluation& row : rows) {
    table += "| `" + row.checkpoint + "` | " + row.encoding + " | " +
             (row.budget.steps > 0 ? std::to_string(row.budget.steps) : "") + " | " + seed_text(row.budget) + " |";
    for (std::size_t n = 0; n < row.splits.size(); ++n) {
      table += " " + value_text(row, n) + " |";
    }
    table += "\n";
  }
  return table + budget_line(rows);
}

}  // namespace locus::cli
