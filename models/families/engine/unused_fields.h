// Fields of config.json that nothing reads: each is either known to change nothing in a forward pass, or named in a
// warning, so that no field is ignored in silence.
#pragma once

#include <string>
#include <vector>

#include "models/transformer/plan.h"

namespace locus::families {

struct Family;

// Paths in the file's order. To be called when the model, its tokenizer and its pictures have been set up.
std::vector<std::string> unused_fields(const Family& family, const transformer::CheckpointFiles& checkpoint);

// "FILE: not used: a, b"; at most twelve are named.
std::string unused_fields_warning(const std::vector<std::string>& fields, const std::string& file);

}  // namespace locus::families
