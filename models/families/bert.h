// The BERT table: what every encoder with its layers starts from.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

// BERT's fields, names and post-norm layers under another model_type; finish() gives it learned positions.
Family bert(std::string_view name);

// A model without this tensor of a head has none: its outcome is every token's state.
Status headless_without(const CheckpointFiles& checkpoint, const std::string& tensor, Plan& plan);

}  // namespace locus::families
