// All values of one cell of a score map, for the inspector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::workbench {

// The values of one cell in one column.
struct Cell {
  std::string column;
  std::int64_t query = 0;  // index of the token in this column
  std::int64_t key = 0;
  std::string encoding;  // of the shown layer, and the keys it can attend to
  views::Token asked_query;
  views::Token asked_key;
  std::string query_token;
  std::string key_token;
  bool has_distance = true;  // false: query and key are tokens of two texts, or patches
  struct Value {
    std::optional<models::Quantity> quantity;  // empty: the sink's weight
    std::optional<float> value;                // empty: the encoding does not have it
  };
  std::vector<Value> values;  // content, contribution, logit, weight, gate, position, c2p, p2c, the sink's weight
  std::optional<views::DrawnValue> drawn;  // shown instead of `values` by views of other quantities
  std::string pairs;  // the strongest rotary pairs: "9 (λ 331) +0.52, 2 (λ 12) −0.11"; empty: none
};

// Formats a value for tooltips and the inspector: "0.25", "masked".
std::string value_text(float value, int digits = 5);

// Computes one Cell for each column of the input whose run has this query and key, at the head the column shows. Scores
// are computed only if the view is of scores. Errors: kCancelled.
Result<std::vector<Cell>> cell_values(const views::View& view, const views::ViewInput& input, const views::Token& query,
                                      const views::Token& key, const StopToken& stop);

}  // namespace locus::workbench
