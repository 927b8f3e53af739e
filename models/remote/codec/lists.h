// The lists of calls: one file each.
#pragma once

#include <vector>

#include "models/remote/codec/call.h"

namespace locus::remote {

std::vector<Entry> trace_calls();
std::vector<Entry> model_calls();
std::vector<Entry> file_calls();
std::vector<Entry> analysis_calls();
std::vector<Entry> edit_calls();
std::vector<Entry> pair_calls();
std::vector<Entry> kernel_calls();

}  // namespace locus::remote
