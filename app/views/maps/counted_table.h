// The table of `positions`: how well a head's contextual positions follow the number of tokens of each class.
#pragma once

#include <vector>

#include "app/views/shared/view.h"
#include "models/api/analyses.h"

namespace locus::views {

// The kinds of characters that the text has, of letters, digits, punctuation, spaces (and tabs), line feeds and others
// (beyond ASCII); a token is of each of which it holds a character.
std::vector<analysis::TokenClass> character_classes(const models::Trace& trace);
// The most frequent tokens of the text, the first met first among equals, at most twelve.
std::vector<analysis::TokenClass> frequent_classes(const models::Trace& trace);

// A table for each column: its classes down, "all tokens" last, and R². Errors: kUsage for all layers or heads.
Result<figure::Figure> counted_figure(const ViewInput& input, bool of_tokens);
// Data of the first column, one row per class: its name, its number of tokens and R².
Result<Data> counted_data(const ViewInput& input, bool of_tokens);

}  // namespace locus::views
