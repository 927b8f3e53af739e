// Task results: the errors of task checkpoints, as `locus evaluate --json` printed them or as training.json keeps them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "app/views/view.h"

namespace locus::views {

struct Split {
  std::string name;
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();  // 95 %; NaN when not known
  double high = std::numeric_limits<double>::quiet_NaN();
};

// One checkpoint's results, as `locus evaluate` prints them.
struct Accuracy {
  std::string checkpoint;
  std::string metric;
  std::vector<Split> splits;
  // (length of the first operand, of the second), each cell the error of sums of these lengths; empty where it was not
  // measured.
  std::optional<Field> map = std::nullopt;
  std::int64_t samples = 0;  // of each cell; 0: not known
  std::int64_t trained = 0;  // the longest operand of training; 0: not known
};

// Of the file that option "file" names, or else of training.json beside each column's weights. Errors: kUnsupported
// where a column has none, kBadInput for a file that is malformed, naming what is expected.
Result<std::vector<Accuracy>> read_accuracies(const ViewInput& input);

// The names of all splits, in the order they are met.
std::vector<std::string> split_names(const std::vector<Accuracy>& list);
const Split* find_split(const Accuracy& row, const std::string& name);

}  // namespace locus::views
