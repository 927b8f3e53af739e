// Every family, in the order they are asked: those that extend another come before it.
#pragma once

#include "models/transformer/families/family.h"

namespace locus::families {

extern const Family kBert;
extern const Family kBloom;
extern const Family kCope;
extern const Family kGpt2;
extern const Family kGptNeox;
extern const Family kLlama;
extern const Family kLocus;
extern const Family kMistral;
extern const Family kQwen2;
extern const Family kRopeVit;
extern const Family kSeqpeGpt2;
extern const Family kSeqpeVit;
extern const Family kTape;
extern const Family kVit;
extern const Family kVitTimm;

}  // namespace locus::families
