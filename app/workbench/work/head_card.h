// HeadCard: what is said of one head on the present text beside its measurements: a small map, what it reads most, and
// whether it looks at places or words; and the effect of removing it. Computed on the worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::workbench {

// Tokens of one label, as keys of a head.
struct ReadKey {
  std::string label;
  double share = 0;        // mean weight on them, over the queries that have a choice
  std::int64_t count = 0;  // of these tokens in the text
};

// The tokens that the head gives most of its weight to, the largest share first; the patches of an image. Errors: those
// of the trace's map.
Result<std::vector<ReadKey>> most_read(const models::Trace& trace, const views::HeadRef& head, std::size_t count,
                                       const StopToken& stop, const Progress& progress);

struct HeadCard {
  Field map;  // at most `side` cells each way
  std::vector<ReadKey> reads;
};
Result<HeadCard> head_card(const models::Trace& trace, const views::HeadRef& head, std::int64_t side,
                           const StopToken& stop, const Progress& progress);

// Shares of the logits' variance, by the view `addressing`.
struct PlaceAndWord {
  double place = 0;
  double word = 0;
  double both = 0;
  std::string said;   // by the view, of one head: "head 1.2 looks at places: …"; empty: it has only numbers
  std::string pairs;  // "16 rotary pairs, wavelengths 6.3 to 3500 tokens"; empty: there are none
};
// The shares of the chosen head of the input's only column. Measures that head alone where it has rotary pairs, else all
// heads, as the view does; takes what the input's cache holds. Errors: those of the view.
Result<PlaceAndWord> place_and_word(const views::ViewInput& input);

// The prediction without the head, which gives its mean over the queries instead: the change of the mean loss, in nats
// a token, with half of its 95 % interval over the tokens; of a model that does not predict the next token the mean
// KL(unedited ‖ edited).
struct HeadEffect {
  double value = 0;
  double half = 0;  // NaN: none
  bool of_loss = true;
  std::int64_t tokens = 0;
};
// Two passes. Errors: those of models::effect_on().
Result<HeadEffect> head_effect(const views::Column& column, const views::HeadRef& head, const StopToken& stop,
                               const Progress& progress);

}  // namespace locus::workbench
