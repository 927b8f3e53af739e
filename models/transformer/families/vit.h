// What all vision families share.
#pragma once

#include "models/transformer/families/family.h"

namespace locus::families {

// The fields every ViT has alike, and its patch grid. Errors: kBadInput for an image smaller than a patch.
Status shape_vit(transformer::Spec& spec, std::int64_t image_size, const Config& config);

// Learned positions of the class token and the patches, resampled for other grids.
void learned_grid(transformer::Spec& spec);

}  // namespace locus::families
