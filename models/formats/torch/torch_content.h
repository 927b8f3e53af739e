// The content of a torch file's pickle: tensors by name, and the values beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/formats/torch/pickle.h"

namespace locus::formats {

struct TorchContent {
  std::vector<std::pair<std::string, std::size_t>> tensors;  // name, in Pickle::tensors
  std::string extra_json;                                    // empty without values beside the tensors
  std::vector<std::string> warnings;                         // without the file's name
};

// As read_torch_file describes it. Errors, without a file name: kBadInput for values nested too deep (64 levels) or
// shared so often that naming them would take more than 2,000,000 steps.
Result<TorchContent> read_torch_content(const Pickle& pickle);

}  // namespace locus::formats
