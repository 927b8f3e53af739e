// Every family, and the tables that several of them start from. A family that extends another stands before it in
// families(), which asks them in that order.
#pragma once

#include "models/families/engine/family.h"
#include "models/families/engine/rope.h"
#include "models/families/engine/vision.h"

namespace locus::families {

extern const Family kBeit;
extern const Family kBert;
extern const Family kBloom;
extern const Family kClip;
extern const Family kClipVision;
extern const Family kCohere2;
extern const Family kCohere;
extern const Family kCope;
extern const Family kDeepseekV2;
extern const Family kDeepseekV3;
extern const Family kDebertaV2;
extern const Family kDeit;
extern const Family kDinov2;
extern const Family kDinov2WithRegisters;
extern const Family kDinov3;
extern const Family kDistilbert;
extern const Family kElectra;
extern const Family kErnie45;
extern const Family kExaone4;
extern const Family kFalcon;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGpt2;
extern const Family kGptNeo;
extern const Family kGptNeox;
extern const Family kGptOss;
extern const Family kGptj;
extern const Family kGlm4v;
extern const Family kGranite;
extern const Family kGemma3Vision;
extern const Family kIdefics3;
extern const Family kInternvl;
extern const Family kMistral3;
extern const Family kPaligemma;
extern const Family kQwen25Vl;
extern const Family kQwen2Vl;
extern const Family kQwen3Vl;
extern const Family kSmolVlm;
extern const Family kLlama4;
extern const Family kLlama;
extern const Family kLlava;
extern const Family kLocus;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kModernbert;
extern const Family kMpt;
extern const Family kNomicBert;
extern const Family kOlmo2;
extern const Family kOpt;
extern const Family kPhi3;
extern const Family kPhi;
extern const Family kQwen2;
extern const Family kQwen2Moe;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kRoberta;
extern const Family kRopeVit;
extern const Family kSeqpeGpt2;
extern const Family kSeqpeVit;
extern const Family kSiglip;
extern const Family kSiglipVision;
extern const Family kSmolLm3;
extern const Family kStablelm;
extern const Family kStarcoder2;
extern const Family kT5;
extern const Family kTape;
extern const Family kVit;
extern const Family kVitTimm;
extern const Family kXlmRoberta;

// ---- llama.cpp

// Llama's fields, names and half-rotate RoPE under another model_type.
Family llama(std::string_view name);

// finish() of Llama: RoPE as the config says in every layer. Errors: rope_options().
Status finish_llama(const CheckpointFiles& checkpoint, Plan& plan);

// ---- gpt2.cpp

Family gpt2(std::string_view name);

// ---- gemma.cpp

Family gemma_text();

// ---- bert.cpp

// BERT's fields, names and post-norm layers under another model_type; finish() gives it learned positions.
Family bert(std::string_view name);

// A model without this tensor of a head has none: its outcome is every token's state.
Status headless_without(const CheckpointFiles& checkpoint, const std::string& tensor, Plan& plan);

// ---- vision towers: vit.cpp, clip.cpp, pixtral.cpp

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
Family pixtral_tower();
void end_rows(Placeholders& placeholders);  // as its processor does
// What pictures of another size would need is not known: positions are those of the table.
void keep_table(transformer::Spec& spec);

// ViT's table under Hugging Face's names.
Family vit(std::string_view name);

// Learned positions of class tokens and patches, resampled for other grids.
void learned_grid(transformer::Spec& spec);

// ---- timm.cpp

// config.json's `architecture`, or "".
std::string architecture(const CheckpointFiles& checkpoint);

// Spec and bindings of everything but the position encoding. What `model_args` omits comes from the architecture's name
// and the shapes of the tensors.
Result<Plan> read_timm(const CheckpointFiles& checkpoint);

// ---- qwen_vl.cpp

// Patches in cells, rotary rows and columns, one matrix for q, k and v; norms with fixed epsilons.
Family qwen_tower(std::string_view name);

// The rotation of rows and columns that they share.
transformer::EncodingSpec qwen_rotation();

// M-RoPE of the text: refused without sections.
Status check_sections(const CheckpointFiles& checkpoint, const Plan& text);

}  // namespace locus::families
