#include "models/formats/trace/sides.h"

#include <string_view>

namespace locus::models {

namespace {

constexpr std::string_view kLayers = "layers.";

// "layers.3.attention" -> "layers.3.cross_attention".
std::string crossed(const std::string& name) {
  const std::size_t dot = name.find('.', kLayers.size());
  return dot == std::string::npos ? name : name.substr(0, dot + 1) + "cross_" + name.substr(dot + 1);
}

}  // namespace

std::string SideNames::tensor(const std::string& name) const {
  if (!side_) {
    return name;
  }
  if (*side_ != Side::kVision && (name == "input_ids" || name == "position_ids")) {
    return *side_ == Side::kEncoder ? name : "decoder_" + name;
  }
  if (crosses() && name == "token_bytes") {
    return "decoder." + name;
  }
  if (name == "logits" && *side_ == Side::kDecoder) {
    return name;
  }
  if (crosses() && name.starts_with(kLayers)) {
    return "decoder." + crossed(name);
  }
  return to_text(*side_) + "." + name;
}

std::string SideNames::metadata(const std::string& key) const {
  if (!side_ || key == "locus.format" || key == "model" || key == "family" || key == "speed") {
    return key;
  }
  if (*side_ != Side::kVision && key == "tokens") {
    return *side_ == Side::kEncoder ? key : "decoder_tokens";
  }
  return crosses() && key == "text" ? "decoder." + key : to_text(*side_) + "." + key;
}

}  // namespace locus::models
