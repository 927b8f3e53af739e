// Task results: the errors of task checkpoints, as `locus evaluate --json` printed them or as training.json keeps them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

struct Split {
  std::string name;
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();  // 95 %, or the least of some seeds; NaN when not known
  double high = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> each = {};  // of the seeds, of which `value` is the mean; empty: of one run
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
  // The settings of the run in training.json, as text: "variables", "steps", "seed", "encoding", "encoding.gates";
  // empty where results came from a file.
  std::map<std::string, std::string> settings = {};
  std::vector<std::vector<Split>> other_seeds = {};  // `seeds` of training.json: the same training, another seed
  std::int64_t seeds = 1;  // runs that are one row: the splits are their mean, low and high the least and the largest
  std::string axis = {};   // what a file of other numbers calls its splits; empty: splits
};

// The accuracies in the file that option "file" names, or else in training.json beside each column's weights. Errors:
// kUnsupported where a column has none, kBadInput for a file that is malformed, naming what is expected.
Result<std::vector<Accuracy>> read_accuracies(const ViewInput& input);

// A file that training writes beside a column's weights. Errors: kUnsupported where there is none, with `hint` after
// that.
Result<std::filesystem::path> file_beside(const Column& column, const std::string& name, const std::string& hint);

// The settings of the run in training.json beside a column's weights, as Accuracy::settings; empty where there is none
// that can be read.
std::map<std::string, std::string> settings_of(const Column& column);

// The names of all splits, in the order they are met.
std::vector<std::string> split_names(const std::vector<Accuracy>& list);
const Split* find_split(const std::vector<Split>& splits, const std::string& name);
// The split of that name; NaN throughout where there is none.
Split split_of(const std::vector<Split>& splits, const std::string& name);

}  // namespace locus::views
