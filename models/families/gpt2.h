// The GPT-2 table without its positions: what SeqPE's GPT-2 shares.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

Family gpt2(std::string_view name);

}  // namespace locus::families
