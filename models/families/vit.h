// What all vision families share.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

// What every ViT has alike.
void fix_vit(Draft& draft);
// Its patch grid, of the config's image_size or this one. Errors: kBadInput for an image smaller than a patch.
Status shape_grid(transformer::Spec& spec, const Config& config);
Status shape_grid(transformer::Spec& spec, std::int64_t image_size, const Config& config);

// The number of classes: num_labels, the head's rows, or id2label. A model without the tensor `head` has no head; "":
// it must have one.
Status read_classes(const CheckpointFiles& checkpoint, const std::string& head, transformer::Spec& spec);

// The towers of CLIP and SigLIP as parts of a larger file: their names follow "vision_model.".
Family clip_tower();
Family siglip_tower();
// SigLIP's without that prefix (Idefics 3).
Family plain_siglip_tower();
// Pixtral's: rotary rows and columns, gated feed-forwards, pictures of any size.
struct Placeholders;
Family pixtral_tower();
void end_rows(Placeholders& placeholders);  // as its processor does
// What pictures of another size would need is not known: positions are those of the table.
void keep_table(transformer::Spec& spec);

// ViT's table under Hugging Face's names.
Family vit(std::string_view name);

// Learned positions of class tokens and patches, resampled for other grids.
void learned_grid(transformer::Spec& spec);

}  // namespace locus::families
