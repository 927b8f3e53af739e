// All families, and the tables that several of them start from. A family that extends another comes before it in
// families(), which is the order of recognition.
#pragma once

#include "models/families/engine/family.h"
#include "models/families/engine/rope.h"
#include "models/families/engine/vision.h"

namespace locus::families {

extern const Family kAimv2;
extern const Family kAimv2Vision;
extern const Family kAyaVision;
extern const Family kBailingHybrid;
extern const Family kBamba;
extern const Family kBart;
extern const Family kBeam;
extern const Family kBeit;
extern const Family kBert;
extern const Family kBigBirdPegasus;
extern const Family kBlenderbot;
extern const Family kBlenderbotSmall;
extern const Family kBloom;
extern const Family kChineseClip;
extern const Family kChineseClipVision;
extern const Family kClip;
extern const Family kClipText;
extern const Family kClipVision;
extern const Family kCohere2;
extern const Family kCohere2Moe;
extern const Family kCohere2Vision;
extern const Family kCohere;
extern const Family kComposite;
extern const Family kCope;
extern const Family kData2vecVision;
extern const Family kDeberta;
extern const Family kDebertaV2;
extern const Family kDeepseekV2;
extern const Family kDeepseekV3;
extern const Family kDeepseekV32;
extern const Family kDeepseekVl;
extern const Family kDeit;
extern const Family kDiffLlama;
extern const Family kDinov2;
extern const Family kDinov2WithRegisters;
extern const Family kDinov3;
extern const Family kDistilbert;
extern const Family kDoge;
extern const Family kDpt;
extern const Family kElectra;
extern const Family kEmbeddingGemma2;
extern const Family kErnie45;
extern const Family kErnie45Moe;
extern const Family kExaone4;
extern const Family kFalcon;
extern const Family kFalconH1;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGemma3Vision;
extern const Family kGemma4;
extern const Family kGemma4Unified;
extern const Family kGemma4Vision;
extern const Family kGlm46v;
extern const Family kGlm4v;
extern const Family kGlm4vMoe;
extern const Family kGlmMoeDsa;
extern const Family kGpt2;
extern const Family kGptj;
extern const Family kGptNeo;
extern const Family kGptNeox;
extern const Family kGptOss;
extern const Family kGranite;
extern const Family kGraniteHybrid;
extern const Family kGrape;
extern const Family kHiera;
extern const Family kHrmText;
extern const Family kHunyuan;
extern const Family kHunyuanMoe;
extern const Family kIdefics2Vision;
extern const Family kIdefics3;
extern const Family kIdefics3Vision;
extern const Family kIjepa;
extern const Family kInkling;
extern const Family kInternvl;
extern const Family kInternvlVision;
extern const Family kJamba;
extern const Family kKimiLinear;
extern const Family kLaraMini;
extern const Family kLayoutLm;
extern const Family kLfm2;
extern const Family kLfm2Moe;
extern const Family kLfm2Vl;
extern const Family kLfm3;
extern const Family kLlama4;
extern const Family kLlamaDrope;
extern const Family kLlama;
extern const Family kLlava;
extern const Family kLlavaNext;
extern const Family kLlavaOnevision;
extern const Family kLocus;
extern const Family kM2m100;
extern const Family kMarian;
extern const Family kMarkupLm;
extern const Family kMbart;
extern const Family kMetaClip2;
extern const Family kMetaClip2Vision;
extern const Family kMiniMax;
extern const Family kMiniMaxM3;
extern const Family kMistral3;
extern const Family kMistral4;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kModernbert;
extern const Family kMlcd;
extern const Family kMlcdVision;
extern const Family kMolmo2;
extern const Family kMoshi;
extern const Family kMpt;
extern const Family kMuseGlimmer;
extern const Family kMvp;
extern const Family kNemotronH;
extern const Family kNomicBert;
extern const Family kOlmo2;
extern const Family kOlmoHybrid;
extern const Family kOpt;
extern const Family kPaligemma;
extern const Family kPegasus;
extern const Family kPhi3;
extern const Family kPhi;
extern const Family kPhimoe;
extern const Family kPixio;
extern const Family kPixtral;
extern const Family kPlbart;
extern const Family kQwen25Vl;
extern const Family kQwen2;
extern const Family kQwen2Drope;
extern const Family kQwen2Moe;
extern const Family kQwen2Vl;
extern const Family kQwen35;
extern const Family kQwen35Moe;
extern const Family kQwen35MoeVl;
extern const Family kQwen35Vl;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kQwen3Next;
extern const Family kQwen3Vl;
extern const Family kQwen3VlMoe;
extern const Family kRecurrentGemma;
extern const Family kRoberta;
extern const Family kRoformer;
extern const Family kRopeVit;
extern const Family kSeamless2;
extern const Family kSeamless;
extern const Family kSeqpeGpt2;
extern const Family kSeqpeVit;
extern const Family kSiglip;
extern const Family kSiglip2;
extern const Family kSiglip2Vision;
extern const Family kSiglipText;
extern const Family kSiglipVision;
extern const Family kSmolLm3;
extern const Family kSmolVlm;
extern const Family kSmolVlmVision;
extern const Family kSqueezebert;
extern const Family kStablelm;
extern const Family kStarcoder2;
extern const Family kSwin;
extern const Family kSwin2;
extern const Family kT5;
extern const Family kTapas;
extern const Family kTape;
extern const Family kTrocr;
extern const Family kVipLlava;
extern const Family kVit;
extern const Family kVitMae;
extern const Family kVitMsn;
extern const Family kVitTimm;
extern const Family kWhisper;
extern const Family kXlmRoberta;
extern const Family kYolos;
extern const Family kYoutu;

// ---- llama.cpp

// The table of Llama's fields, names and half-rotate RoPE, with another model_type.
Family llama(std::string_view name);

// finish() of Llama: sets RoPE in every layer, as the config specifies it. Errors: rope_options().
Status finish_llama(const CheckpointFiles& checkpoint, Plan& plan);

// ---- deepseek.cpp

// llama() with latent attention: its widths, ranks and projections.
Family latent_llama(std::string_view name);
// Makes kv_b_proj of the layers where a file holds it as k_b_proj and v_b_proj. Errors: compute_latent().
Status join_latent(const CheckpointFiles& checkpoint, Plan& plan);

// Makes the rows of attention's one matrix q, k and v, not head by head, where the configuration has fused_qkv, as that
// of a GGUF file does.
Status set_fused_rows(const Config& config, Plan& plan);

// Names the matrices of experts that a file stacks in two tensors, gate_up_proj and down_proj.
void name_stacked_experts(Family& family);
// The table of Qwen3-VL-MoE's text, with the layout that this file's experts have. Errors: kBadInput for a config
// without hidden_size or moe_intermediate_size.
Result<Family> qwen3_vl_moe_text(const CheckpointFiles& checkpoint, const Config& text);

// ---- gpt2.cpp

Family gpt2(std::string_view name);

// ---- gemma.cpp

Family gemma_text();

// ---- bert.cpp

// The table of BERT's fields, names and post-norm layers, with another model_type; finish() sets learned positions.
Family bert(std::string_view name);

// ---- roberta.cpp

// Sets learned positions of which token t reads row t + padding + 1; `usual` is the padding's id where the config has
// none. Errors: kBadInput where no rows are left.
Status count_from_padding(const Config& config, std::int64_t usual, Plan& plan);

// ---- vision towers: vit.cpp, clip.cpp, pixtral.cpp

// Sets the values that all ViTs share.
void fix_vit(Draft& draft);
// Sets the patch grid from the config's image_size or from this one. Errors: kBadInput for an image smaller than a
// patch.
Status shape_grid(transformer::Spec& spec, const Config& config);
Status shape_grid(transformer::Spec& spec, std::int64_t image_size, const Config& config);

// Sets the number of classes: num_labels, the head's rows, or id2label. Without the tensor `head` the model has no
// head; "" means that a head is required.
Status read_classes(const CheckpointFiles& checkpoint, const std::string& head, transformer::Spec& spec);

// The image tower of a file with both towers, whose sizes are under vision_config. Errors: those of the table.
Result<Plan> read_picture_half(const Family& tower, const CheckpointFiles& checkpoint);
// The table of CLIP's image tower, with another model_type.
Family clip_vision(std::string_view name);
// Makes the states before CLIP's last norm, which normalises the pooled class token alone, the outcome.
void leave_out_last_norm(Plan& plan);

// Whether a checkpoint holds a picture tower and a text tower that are compared (CLIP, SigLIP and their successors); its
// usual family reads the picture's. The family that reads the text's instead. Errors: kUnsupported for other checkpoints.
bool has_two_halves(const CheckpointFiles& checkpoint);
Result<const Family*> text_half_of(const CheckpointFiles& checkpoint);
// The towers of CLIP and SigLIP within a larger file; their names follow "vision_model.".
Family clip_tower();
Family siglip_tower();
// This tower, where a tower's configuration has that model_type. Errors: kUnsupported for another.
Result<Family> tower_of_type(const Config& vision, std::string_view type, Family (*tower)());
// The same of siglip_tower().
Result<Family> siglip_tower_of(const Config& vision);
// SigLIP's tower without that prefix (Idefics 3).
Family plain_siglip_tower();
// SigLIP 2's tower of any size within a larger file, behind one of these prefixes.
Family siglip2_tower(const std::vector<std::string_view>& prefixes);
// Pixtral's tower: rotary rows and columns, gated feed-forwards, pictures of any size.
Family pixtral_tower();
void end_rows(Placeholders& placeholders);  // sets the row ends that Pixtral's processor writes
// Fixes the picture size: positions beyond the learned table are not defined.
void keep_table(transformer::Spec& spec);

// The table of ViT under Hugging Face's names.
Family vit(std::string_view name);

// Sets learned positions of class tokens and patches, resampled for other grids.
void learned_grid(transformer::Spec& spec);

// ---- dinov2.cpp

// Inner width of the feed-forwards, the width times mlp_ratio, rounded down. Errors: kBadInput for less than 1.
Result<std::int64_t> inner_of_ratio(const transformer::Spec& spec, const Config& config);

// ---- timm.cpp

// config.json's `architecture`, or "".
std::string architecture(const CheckpointFiles& checkpoint);

// Spec and bindings of everything but the position encoding. Values missing from `model_args` come from the
// architecture's name and the shapes of the tensors.
Result<Plan> read_timm(const CheckpointFiles& checkpoint);

// ---- qwen_vl.cpp

// The tower of Qwen2-VL and its successors: patches in cells, rotary rows and columns, one matrix for q, k and v; norms
// with fixed epsilons.
Family qwen_tower(std::string_view name);

// Its rotary encoding of rows and columns, with the base of this vision_config. Errors: kUnsupported for a scaled one.
Result<transformer::EncodingSpec> qwen_rotation(const Config& vision);

// Makes the text's M-RoPE interleaved: pair m turns with component m mod 3 while its section lasts, else with the first.
// Sections that go beyond the rotated pairs end with them; without sections they are `usual`.
Status interleave_sections(Plan& text, const std::vector<double>& usual);

// Errors: kUnsupported where M-RoPE of the text has no sections.
Status check_sections(const CheckpointFiles& checkpoint, const Plan& text);

// ---- stages.cpp

// What the configurations of towers in stages (Swin, Hiera) have in common.
struct StageFields {
  std::size_t all = 0;    // stages
  std::size_t stage = 0;  // the wanted one, from 0 on
  std::vector<std::int64_t> depths, heads;
  std::int64_t width = 0;  // of the first stage
  double ratio = 4;
  transformer::Activation activation = transformer::Activation::kGelu;

  bool last() const { return stage + 1 == all; }
  std::int64_t width_of(std::size_t n) const { return width << n; }
  // "FILE: stage 2 of 3: ".
  std::string named(const Config& config) const;
};

inline constexpr std::int64_t kMaxStageHeads = 256;

// Reads all of them but the heads. Errors: kBadInput; kUsage for a stage that does not exist.
Result<StageFields> read_stage_fields(const CheckpointFiles& checkpoint);

// Reads a list of `count` whole numbers (0: of any length) from `least` to `most`. `what` stands behind the count in the
// error. Errors: kBadInput.
Result<std::vector<std::int64_t>> integers_within(const Config& config, const char* field, std::size_t count,
                                                  std::int64_t least, std::int64_t most, const std::string& what = "");

// A layer of stage n: heads and feed-forward. Errors: kBadInput for heads that do not divide the width.
Result<transformer::LayerSpec> stage_layer(const StageFields& stages, std::size_t n, const Config& config);

// Sets what does not depend on the layers of a stage: width, norms, pooling, channels, classes. Returns the prefix of the
// head's tensors.
Result<std::string> begin_stages(const StageFields& stages, const CheckpointFiles& checkpoint, transformer::Spec& spec);

// Leaves out what stands behind a stage that is not the last, with a warning: these tensors, and those whose names begin
// with `numbered` and the number of a later stage.
void end_at_stage(const StageFields& stages, const Config& config, const std::string& numbered,
                  const std::vector<std::string>& tensors, Plan& plan);

}  // namespace locus::families
