// A model's shape as the values of a GGUF file: gguf.h the other way round.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/families/gguf.h"
#include "models/formats/gguf/gguf_writer.h"

namespace locus::families {

// The architecture that writes this family; null where none does.
const GgufArchitecture* gguf_architecture_of(std::string_view family);

// Adds the values that say this spec, and to `tables` the tensors of RoPE's divisors where it has some. Errors:
// kUnsupported for what a GGUF file of this architecture cannot say.
Status add_gguf_values(const GgufArchitecture& architecture, const transformer::Spec& spec, formats::GgufValues& values,
                       std::vector<formats::GgufOutput>& tables);

}  // namespace locus::families
