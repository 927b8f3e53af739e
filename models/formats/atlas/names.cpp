// Names of an atlas file's tensors.
#include "models/formats/atlas/contents.h"

namespace locus::models::atlas {

std::string samples_of(const std::string& statistic) {
  if (statistic == "heads.induction") {
    return "repeats";
  }
  return statistic.starts_with("retrieval.") || statistic.starts_with("spans.") ? "needles" : "windows";
}

std::string samples_name(const std::string& samples, AtlasNull null) {
  return (null == AtlasNull::kShuffled ? "null." : "") + samples;
}

std::string tensor_name(const TableName& name) {
  const std::string place = name.layer == kAtlasOfModel ? "model." : "layers." + std::to_string(name.layer) + ".";
  return (name.null == AtlasNull::kShuffled ? "null." : "") + place + name.statistic;
}

}  // namespace locus::models::atlas
