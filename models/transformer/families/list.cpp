#include "models/transformer/families/list.h"

namespace locus::families {

const std::vector<Family>& families() {
  static const std::vector<Family> list{kLocus,   kSeqpeGpt2, kSeqpeVit, kTape, kGpt2,    kLlama,   kMistral, kQwen2,
                                        kGptNeox, kBloom,     kBert,     kVit,  kRopeVit, kVitTimm, kCope};
  return list;
}

}  // namespace locus::families
