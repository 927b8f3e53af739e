// Every value of one cell of a score map, for the inspector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::workbench {

// Everything about one cell of one column.
struct Cell {
  std::string column;
  std::int64_t query = 0;  // tokens of this column
  std::int64_t key = 0;
  std::string encoding;  // of the layer that is shown, and which keys it sees
  views::Token asked_query;
  views::Token asked_key;
  std::string query_token;
  std::string key_token;
  bool has_distance = true;  // else query and key are tokens of two texts, or patches
  struct Value {
    std::optional<models::Quantity> quantity;  // empty: the sink's weight
    std::optional<float> value;                // empty: this encoding has none
  };
  std::vector<Value> values;  // content, contribution, logit, weight, gate, position, c2p, p2c, the sink's weight
  std::optional<views::DrawnValue> drawn;  // what the view draws there instead of these, which are then empty
  std::string pairs;  // the strongest rotary pairs: "9 (λ 331) +0.52, 2 (λ 12) −0.11"; empty: none
};

// "0.25", "masked": as tooltips and the inspector show a value.
std::string value_text(float value, int digits = 5);

// One Cell a column whose run has this query and key; empty for the others. Values that the encoding does not have are
// left empty. Errors: kCancelled.
// The input says which columns and which head of each; the view whether their scores are asked for.
Result<std::vector<Cell>> cell_values(const views::View& view, const views::ViewInput& input, const views::Token& query,
                                      const views::Token& key, const StopToken& stop);

}  // namespace locus::workbench
