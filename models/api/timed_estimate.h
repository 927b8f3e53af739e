// What a long run will take, told from short ones.
#pragma once

#include <cstdint>

#include "core/base/progress.h"
#include "models/api/model.h"

namespace locus::models {

// What a multiply-accumulate of a model takes on this machine, in milliseconds: products and attention have a rate
// each, and encodings that add more to a score than a product have one that no other measurement tells.
struct Pace {
  double fixed_ms = 0;  // of a run, however short: a large model's weights are read once
  double token_ms = 0;  // of those that grow with the tokens
  double cell_ms = 0;   // of those that grow with the cells
};

// estimate(), whose memory includes the weights, and whose time is work from shapes times the model's pace where a run
// over `length` tokens may be long. The pace is measured at the first such estimate, by runs that take half a second
// together (and read the weights, where that is still to be done), and kept with the model. `taken_over`: tokens at
// the beginning that a causal model's run takes from another. Where no short run can be made, and for images,
// estimate()'s own time stands.
Estimate timed_estimate(const Model& model, std::int64_t length, const RunOptions& options, const StopToken& stop = {},
                        std::int64_t taken_over = 0);

// What is left of work that was expected to take `expected_ms` and has taken `elapsed_ms` for a `fraction` of it, in
// milliseconds. From the first parts that are done, `sure` of the whole together, what they took counts the more the
// more of them there is; then it counts alone.
double left_ms(double expected_ms, double fraction, double elapsed_ms, double sure);

// The pace that runs over `first` and `second` tokens tell, which took so many milliseconds. Neither rate is negative.
// Where the second run is too short for its cells to be seen, a cell's is a usual multiple of a token's, what does not
// grow with the tokens is fixed, and a token's is at least half of what estimate() says.
Pace pace_of(const Model& model, std::int64_t first, double first_ms, std::int64_t second, double second_ms);
// The time of a run over `length` tokens at this pace.
double time_of(const Model& model, const Pace& pace, std::int64_t length);

}  // namespace locus::models
