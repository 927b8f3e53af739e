// HeadLikeness: how alike heads are: by their maps where two runs have the same tokens, and by their statistics where
// they have not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/measured/fingerprint.h"
#include "app/views/shared/view.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::workbench {

// The queries that maps are compared on: all but the first of up to 256 tokens; of more, 8 stretches of 32, the last of
// which ends with the text.
std::vector<Range> compared_queries(std::int64_t length);

// The root of the mean square of the differences of six shares: previous, first, self, induction, distance over the
// longest one, entropy over that of a uniform row of all tokens. Those that are NaN on either side are left out; NaN without any.
double statistics_distance(const views::Fingerprint& a, std::int64_t length_a, const views::Fingerprint& b,
                           std::int64_t length_b);

// A run whose heads are compared.
struct HeadRun {
  int id = 0;  // of its checkpoint
  views::Column column;
  std::vector<views::Fingerprint> prints;  // (L·H) of a finished measurement; empty: measured where they are needed
};

struct LikeHead {
  views::HeadRef head;
  double distance = 0;  // of maps: the mean Jensen–Shannon divergence of their rows, in bits
};
// The heads of one run, the nearest first.
struct LikeHeads {
  int id = 0;
  std::string name;
  bool by_maps = true;  // false: by statistics, since the tokens differ
  std::vector<LikeHead> heads;
  std::optional<Error> error;  // why it cannot be compared
};

// The `count` nearest heads of each run; the head itself is left out. Errors: those of its own map, and of its
// statistics where no run has the same tokens; kCancelled.
Result<std::vector<LikeHeads>> heads_like(const HeadRun& own, const views::HeadRef& head,
                                          const std::vector<HeadRun>& runs, std::size_t count, const StopToken& stop,
                                          const Progress& progress);

}  // namespace locus::workbench
