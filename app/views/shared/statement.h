// The statement: what a figure shows, in one line of plain words with its numbers.
#pragma once

#include <functional>
#include <string>

#include "app/views/shared/measured/fingerprint.h"
#include "app/views/shared/view.h"

namespace locus::views {

// What a head is known to do; null: it is not measured (yet).
using KnownHeads = std::function<const Fingerprint*(std::size_t column, const HeadRef& head)>;

// "head 3.2 is a previous-token head: 62 % of its weight, peaks at distance 1: 7.9 × uniform": of a map of weights what
// is found in it, else the means over all queries but the first; of other maps the range of their values, whether they
// depend on i − j alone, and where the largest is; of curves where they begin and end; of histograms their mean and the
// share above 0; of a tinted text the token of the largest value. Every column has its clause, under its name; a place
// that others tie with is not named. Empty where a figure has none of these. A view that knows better has set the
// figure's statement. `known`: of maps that are not whole, and of all heads of a grid.
std::string statement(const ViewInfo& info, const ViewInput& input, const figure::Figure& figure,
                      const KnownHeads& known = {});

}  // namespace locus::views
