// The rows of `locus evaluate` as a Markdown table, with what each checkpoint was trained with.
#pragma once

#include <string>
#include <vector>

#include "models/api/train.h"

namespace locus::cli {

// Values with their 95 % intervals, errors in percent; checkpoint, encoding, steps, seed. Below it one line where the
// checkpoints saw different numbers of tokens. `rows` is not empty.
std::string evaluation_table(const std::vector<training::Evaluation>& rows);

}  // namespace locus::cli
