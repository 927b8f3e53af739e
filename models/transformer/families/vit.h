// What all vision families share.
#pragma once

#include "models/transformer/families/engine/family.h"

namespace locus::families {

// What every ViT has alike.
void fix_vit(Draft& draft);
// Its patch grid, of the config's image_size or this one. Errors: kBadInput for an image smaller than a patch.
Status shape_grid(transformer::Spec& spec, const Config& config);
Status shape_grid(transformer::Spec& spec, std::int64_t image_size, const Config& config);

// The number of classes: num_labels, the head's rows, or id2label. A model without the tensor `head` has no head; "":
// it must have one.
Status read_classes(const Checkpoint& checkpoint, const std::string& head, transformer::Spec& spec);

// ViT's table under Hugging Face's names.
Family vit(std::string_view name);

// Learned positions of class tokens and patches, resampled for other grids.
void learned_grid(transformer::Spec& spec);

}  // namespace locus::families
