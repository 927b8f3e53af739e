// The statement: what a figure shows, in one line of plain words with its numbers.
#pragma once

#include <string>

#include "app/views/shared/measured/fingerprint.h"
#include "app/views/shared/view.h"

namespace locus::views {

// "head 3.2 gives its own token 0.12, the one before 0.40, the first 0.05, tokens more than 32 back 0.18": of a whole
// map of weights the means over all queries but the first; of other maps the range of their values and where the
// largest is; of curves where they begin and end; of histograms their mean and the share above 0; of a tinted text the
// token of the largest value. Of several columns the first, and the others by their names. Empty where a figure has
// none of these. A view that knows better has set the figure's statement. `measured`: the fingerprint of the first
// column's head, of which a map of weights that is not whole says the same as a whole one; null: not known.
std::string statement(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure,
                      const Fingerprint* measured = nullptr);

}  // namespace locus::views
