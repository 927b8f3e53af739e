// Every family, in the order they are asked: those that extend another come before it.
#pragma once

#include "models/families/engine/family.h"

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

}  // namespace locus::families
