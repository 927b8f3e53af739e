// Gemma 1, which stands in vision-language models.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

Family gemma_text();

}  // namespace locus::families
