// The read-out of the place under the pointer: the number that is drawn there, and its name.
#pragma once

#include <optional>
#include <string>

#include "app/views/shared/view.h"
#include "renderers/figure/figure.h"

namespace locus::views {

struct ReadOut {
  std::string name;   // of the quantity with its unit, as the colour bar has it
  std::string words;  // "attention weight 0.25", "logit -1.3 (mean of up to 4×4 cells)"; without a number its name
  float value = 0;    // as data has it; NaN: none
  bool said = false;  // the view chose the words
  // The panel beside which the place's colours have their bar, and the number that has the place's colour there, which
  // may be a share of `value`; empty: no bar has these colours.
  std::optional<std::size_t> bar = std::nullopt;
  float colored = 0;
};

// Reads the cell of a map, or a token of a text; empty where there is neither.
std::optional<ReadOut> read_out(const figure::Figure& figure, const Hit& hit);

// Why a query does not see a key, of a cell that is masked: "masked: the key comes after the query".
std::string masked_text(const models::ModelInfo& model, std::int64_t layer, std::int64_t query, std::int64_t key);

}  // namespace locus::views
