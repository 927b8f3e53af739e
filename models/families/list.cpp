#include "models/families/list.h"

namespace locus::families {

const std::vector<Family>& families() {
  static const std::vector<Family> list{
      kLocus,         kSeqpeGpt2,   kSeqpeVit,   kTape,         kGpt2,         kLlama,
      kMistral,       kQwen2,       kGptNeox,    kBloom,        kBert,         kVit,
      kRopeVit,       kVitTimm,     kCope,       kQwen3,        kGemma2,       kGemma3,
      kPhi3,          kPhi,         kOlmo2,      kSmolLm3,      kGptNeo,       kGptj,
      kOpt,           kFalcon,      kMpt,        kStablelm,     kStarcoder2,   kCohere,
      kCohere2,       kGranite,     kExaone4,    kMixtral,      kQwen2Moe,     kQwen3Moe,
      kGptOss,        kLlama4,      kDeepseekV2, kDeepseekV3,   kRoberta,      kXlmRoberta,
      kDistilbert,    kElectra,     kModernbert, kNomicBert,    kDinov2,       kDinov2WithRegisters,
      kDeit,          kClip,        kClipVision, kSiglip,       kSiglipVision, kDinov3,
      kBeit,          kDebertaV2,   kT5,         kErnie45,      kLlava,        kMistral3,
      kQwen2Vl,       kQwen25Vl,    kQwen3Vl,    kGemma3Vision, kPaligemma,    kIdefics3,
      kSmolVlm,       kInternvl,    kGlm4v,      kClipText,     kSiglipText,   kGemma4,
      kGemma4Unified, kErnie45Moe,  kPhimoe,     kCohere2Moe,   kMistral4,     kYoutu,
      kBeam,          kMuseGlimmer, kDeberta,    kComposite};
  return list;
}

}  // namespace locus::families
